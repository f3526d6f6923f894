"""Metrics over the folds of a cross-validation."""
