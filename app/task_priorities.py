"""Priorities of score tasks: a smaller number goes first."""

SUBMISSION_PRIORITY = 0
"""The first scoring of a submission, which its sender waits for."""

RESCORING_PRIORITY = 100
"""Rescoring, from this number up: workers do it in the time that new submissions leave free."""

WAITING_CONDITION = f"status = 'queued' AND priority < {RESCORING_PRIORITY}"
"""The SQL condition of a task that waits in the fair order.

Statements and partial indexes contain this same text, because a database uses a partial index only if the statement
implies the condition of the index.
"""
