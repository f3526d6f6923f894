"""Metrics of hard labels."""
