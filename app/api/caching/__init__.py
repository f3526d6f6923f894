"""Replies that are kept: leaderboards in memory, generated files on disk."""
