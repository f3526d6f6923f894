"""The families of metrics; importing this fills the catalogue, in the order in which it is shown."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from app.scoring.metric import CATALOGUE

_DECLARED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("one_class", "One class against the rest", ("base",)),
    ("ratios", "More measures of one class against the rest", ("ratios",)),
    ("f_of_averages", "F of averaged precision and recall", ("f_of_averages",)),
    ("whole", "The whole task", ("whole",)),
    ("sets", "Label sets", ("alpha", "sets")),
    ("top_k", "Hard labels of the k best scores", ("top_k",)),
    ("agreement", "Agreement beyond chance", ("agreement",)),
    ("cost", "Costs and distances of errors", ("cost",)),
    ("confusion", "Confusion matrices", ("confusion",)),
    ("caret", "The lists of caret", ("caret",)),
    ("hierarchical", "Hierarchies: ancestors", ("hierarchical",)),
    ("lca", "Hierarchies: lowest common ancestors", ("lca",)),
    ("folds", "Cross-validation", ("folds",)),
    ("groups", "Groups of instances", ("groups",)),
    ("auc", "The area under the ROC curve", ("auc", "hand_till", "roc")),
    ("precision_recall", "Precision-recall curves", ("precision_recall", "curves")),
    ("ranking", "Ranked labels of an instance", ("multilabel_ranking",)),
    ("at_k", "The k labels ranked first", ("top_k_accuracy", "at_k", "precisions", "gains", "propensity")),
    ("probability", "Probabilities", ("probability",)),
    ("calibration", "Calibration", ("calibration",)),
)
"""Name and title of each family, and the modules that register its metrics, in the order of the catalogue."""


@dataclass(frozen=True, slots=True)
class Family:
    """The metrics that some modules register; `meaning` are the sentences with which these open."""

    name: str
    title: str
    meaning: str
    keys: tuple[str, ...]


def _families() -> Iterator[Family]:
    """Import one module after the other: what the catalogue holds afterwards and not before is of its family."""
    for name, title, modules in _DECLARED:
        before = len(CATALOGUE)
        meaning = " ".join(_opened(f"{__name__}.{module}") for module in modules)
        yield Family(name, title, meaning, tuple(CATALOGUE)[before:])


def _opened(path: str) -> str:
    """Import a module for the first time; the sentence with which it opens."""
    if path in sys.modules:
        raise ImportError(f"{path} was imported by a family listed before it; list it first")
    return " ".join((import_module(path).__doc__ or "").partition("\n\n")[0].split())


FAMILIES: tuple[Family, ...] = tuple(family for family in _families() if family.keys)
FAMILY_OF: dict[str, Family] = {key: family for family in FAMILIES for key in family.keys}
"""The family of each key."""
