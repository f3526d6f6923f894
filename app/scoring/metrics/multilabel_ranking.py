"""Measures of how the labels of each instance are ranked."""
