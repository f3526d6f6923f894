"""Precision, recall and F of label sets extended by their ancestors."""
