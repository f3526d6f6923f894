"""Queries, one module per noun; they run in a session of the caller and never commit."""
