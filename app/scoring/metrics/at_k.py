"""Measures of the k labels ranked first."""
