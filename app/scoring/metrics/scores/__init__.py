"""Metrics of scores and probabilities."""
