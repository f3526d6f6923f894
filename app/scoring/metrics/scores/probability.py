"""Measures of predicted probabilities: log losses, then Brier scores."""

from app.scoring.metrics.scores import log_losses, brier  # isort: skip

__all__ = ["brier", "log_losses"]
