"""Precision, recall and F of label sets joined at their lowest common ancestors."""
