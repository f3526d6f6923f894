"""How urgent the tasks of the work list are: the smaller the number, the sooner."""

SUBMISSION_PRIORITY = 0
"""Somebody waits for the first score of a submission."""

RESCORING_PRIORITY = 100
"""This and all beyond it: scoring again, which workers do in what new submissions leave them of their time."""

WAITING_CONDITION = f"status = 'queued' AND priority < {RESCORING_PRIORITY}"
"""The condition, in SQL, of a task that waits for its turn; written out in statements and in indexes alike."""
