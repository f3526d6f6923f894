"""Queries, one module per topic; they run in the caller's session and never commit."""
