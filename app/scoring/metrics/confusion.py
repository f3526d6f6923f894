"""Confusion matrices as data: of single labels, and of label sets with split counts."""
