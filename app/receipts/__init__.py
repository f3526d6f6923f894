"""Receipts: signed statements of scores that strangers verify, as in-toto statements in DSSE envelopes; pure."""
