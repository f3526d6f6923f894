"""Tiled transparency logs: Merkle trees (RFC 6962), tiles, checkpoints, signed notes and proofs (C2SP); pure."""
