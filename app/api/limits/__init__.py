"""Limits of what one user or address may use: rates, queues, memory for request bodies."""
