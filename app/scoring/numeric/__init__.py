"""Arithmetic that returns the same bits on every machine."""
