"""How urgent the tasks of the work list are: the smaller the number, the sooner."""

SUBMITTED = 0
"""Somebody waits for the first score of a submission."""

RESCORING = 100
"""This and all beyond it: scoring again, which workers do in what new submissions leave them of their time."""

WAITING = f"status = 'queued' AND priority < {RESCORING}"
"""The condition, in SQL, of a task that waits for its turn; written out in statements and in indexes alike."""
