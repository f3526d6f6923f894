"""Measures of label sets: α-evaluation, status of instances, cardinality."""
