"""Measures at k that weigh rare labels more, by their propensity."""
