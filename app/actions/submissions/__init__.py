"""Submissions: send, read, cancel; their reports, quotas and leaderboards."""
