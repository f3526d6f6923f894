"""Assay for scripts and notebooks: score, compare and order systems without a server, and the client of a service.

    >>> import assay
    >>> found = assay.score(["cat", "dog", "dog"], ["cat", "dog", "cat"], metrics=["accuracy", "f1_macro"])
    >>> found["accuracy"]
    0.6666666666666666

The numbers are those of `assay score`, `assay compare` and `assay order`: the same readers, the same scorer.
"""

from app.client import ApiError, Client
from app.scoring import SCORER_VERSION
from assay.comparing import Comparison, compare
from assay.inputs import InvalidInput
from assay.ordering import Order, order, order_table
from assay.scoring import Scores, score

__all__ = [
    "SCORER_VERSION",
    "ApiError",
    "Client",
    "Comparison",
    "InvalidInput",
    "Order",
    "Scores",
    "compare",
    "order",
    "order_table",
    "score",
]
