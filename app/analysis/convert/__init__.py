"""Counts from published figures: all that fit them, or the proof that none do."""
