"""Metrics, recipes and standings as pure functions: labels in, numbers out; no database, web, clock or randomness."""

from app.scoring import metrics

SCORER_VERSION: int = 2

__all__ = ["SCORER_VERSION", "metrics"]
