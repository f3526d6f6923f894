"""Receipts of scores: signing keys, commitments to gold, issuing, and reading."""
