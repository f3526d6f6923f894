"""Metrics of ranked labels."""
