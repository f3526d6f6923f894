"""Hierarchies of labels: ancestors, distances, lowest common ancestors."""
