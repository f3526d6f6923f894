"""Validation: what a file says is checked against known ids, classes and weights, and becomes arrays."""
