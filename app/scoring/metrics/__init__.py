"""The families of metrics: importing this package fills the catalogue, in the order in which it is shown."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from app.scoring.declaration.metric import CATALOGUE

_FAMILY_MODULES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("one_class", "One class against the rest", ("labels.base_measures",)),
    ("ratios", "More measures of one class against the rest", ("labels.more_base_measures",)),
    ("f_of_averages", "F of averaged precision and recall", ("labels.f_of_averages",)),
    ("whole", "The whole task", ("labels.whole_task",)),
    ("sets", "Label sets", ("labels.boutell_alpha", "labels.label_set_measures")),
    ("top_k", "Hard labels of the k best scores", ("scores.label_measures_at_k",)),
    ("agreement", "Agreement beyond chance", ("labels.agreement",)),
    ("cost", "Costs and distances of errors", ("labels.cost",)),
    ("confusion", "Confusion matrices", ("labels.confusion_matrix",)),
    ("caret", "The lists of caret", ("labels.caret",)),
    ("hierarchical", "Hierarchies: ancestors", ("hierarchies.hierarchical",)),
    ("lca", "Hierarchies: lowest common ancestors", ("hierarchies.lca",)),
    ("folds", "Cross-validation", ("folds.fold_averages",)),
    ("groups", "Groups of instances", ("labels.group_association",)),
    ("auc", "The area under the ROC curve", ("scores.auc", "scores.hand_till", "scores.roc")),
    ("precision_recall", "Precision-recall curves", ("scores.precision_recall_areas", "scores.curves")),
    ("ranking", "Ranked labels of an instance", ("rankings.multilabel_ranking",)),
    (
        "at_k",
        "The k labels ranked first",
        (
            "scores.top_k_accuracy",
            "rankings.precision_recall_at_k",
            "rankings.map_and_mrr",
            "rankings.discounted_gain",
            "rankings.propensity",
        ),
    ),
    ("probability", "Probabilities", ("scores.log_losses", "scores.brier")),
    ("calibration", "Calibration", ("scores.calibration",)),
)
"""Name and title of each family, and the modules that register its metrics, in the order of the catalogue.

A module must not be imported before its family is reached: the metrics that its import adds to the catalogue are
assigned to the family that imports it first. Helper modules that register nothing may be imported at any time.
"""


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """The metrics that a group of modules registers; `meaning` joins the first sentences of their docstrings."""

    name: str
    title: str
    meaning: str
    keys: tuple[str, ...]


def _import_families() -> Iterator[MetricFamily]:
    """Import the modules in order; the metrics that an import adds to the catalogue belong to its family."""
    for name, title, modules in _FAMILY_MODULES:
        before = len(CATALOGUE)
        meaning = " ".join(_import_summary(f"{__name__}.{module}") for module in modules)
        yield MetricFamily(name, title, meaning, tuple(CATALOGUE)[before:])


def _import_summary(path: str) -> str:
    """Import a module for the first time and return the first sentence of its docstring."""
    if path in sys.modules:
        raise ImportError(f"{path} was imported by a family listed before it; list it first")
    return " ".join((import_module(path).__doc__ or "").partition("\n\n")[0].split())


FAMILIES: tuple[MetricFamily, ...] = tuple(family for family in _import_families() if family.keys)
FAMILY_BY_KEY: dict[str, MetricFamily] = {key: family for family in FAMILIES for key in family.keys}
"""The family of each key."""
