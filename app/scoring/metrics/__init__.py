"""The families of metrics; importing this fills the catalogue, in the order in which it is shown."""

from app.scoring.metrics import base, ratios, f_of_averages, whole, sets, top_k  # isort: skip
from app.scoring.metrics import agreement, cost, confusion, caret  # isort: skip
from app.scoring.metrics import hierarchical, lca, folds  # isort: skip
from app.scoring.metrics import auc, precision_recall, multilabel_ranking  # isort: skip
from app.scoring.metrics import top_k_accuracy, at_k, precisions, gains, propensity  # isort: skip
from app.scoring.metrics import probability, calibration  # isort: skip

__all__ = [
    "agreement",
    "at_k",
    "auc",
    "base",
    "calibration",
    "caret",
    "confusion",
    "cost",
    "f_of_averages",
    "folds",
    "gains",
    "hierarchical",
    "lca",
    "multilabel_ranking",
    "precision_recall",
    "precisions",
    "probability",
    "propensity",
    "ratios",
    "sets",
    "top_k",
    "top_k_accuracy",
    "whole",
]
