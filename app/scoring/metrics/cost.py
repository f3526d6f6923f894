"""Measures that weigh errors: expected cost by a matrix, distance between classes on a scale."""
