"""Readers, one module per format: text or bytes to columns, every fault with its place."""
