"""Metrics of labels in a hierarchy."""
