"""Labels in, numbers out: metrics, recipes and standings as pure functions, without database, web, clock or chance."""

from app.scoring import metrics

SCORER_VERSION: int = 2

__all__ = ["SCORER_VERSION", "metrics"]
