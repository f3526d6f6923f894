"""Submissions: submit, read and cancel them; their reports, quotas and leaderboards."""
