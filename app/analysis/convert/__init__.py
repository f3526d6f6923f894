"""Counts from published figures: all counts that fit them, or a proof that none do."""
