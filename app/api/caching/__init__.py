"""Cached replies: leaderboards in memory, generated files on disk."""
