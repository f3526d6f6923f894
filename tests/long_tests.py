"""Tests that need more than two seconds of a worker, by node id without parameters, each with the reason why it is worth
them. `tests/conftest.py` reports all others that need as much."""

LIMIT_SECONDS = 2.0
LONG_TESTS: dict[str, str] = {}
