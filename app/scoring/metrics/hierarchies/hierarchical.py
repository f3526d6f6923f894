"""Precision, recall and F of label sets extended by their ancestors, and distances in the hierarchy."""

import math

import numpy as np

from app.scoring.declaration.granularity import CONFUSION
from app.scoring.declaration.metric import (
    HIERARCHY,
    LABELS,
    Compute,
    Example,
    Metric,
    MetricCall,
    Param,
    Properties,
    Result,
    register,
)
from app.scoring.declaration.task import TASKS
from app.scoring.hierarchy.ancestry import TooFarError
from app.scoring.hierarchy.augmented_sets import Closures, Overlap, overlap
from app.scoring.hierarchy.distances import Distances
from app.scoring.metrics.hierarchies.label_overlap import (
    COUNT_ROOT,
    EMPTIES,
    READING,
    TOO_DEEP,
    TOO_FAR,
    Terms,
    ancestry,
    averaged,
    effort,
    f1,
    joins,
    label_sets,
    pooled,
    precision,
    reading,
    recall,
    weighed,
)
from app.scoring.metrics.labels.undefined_rules import UndefinedError, listed
from app.scoring.metrics.labels.whole_task import SINGLE, UNIT
from app.scoring.tally import Workspace


def _extended(ws: Workspace, call: MetricCall) -> Overlap:
    """The extended sets of all instances, made once for precision, recall and F."""
    depth = call.params["max_depth"]
    exclude = call.params.get("exclude_root") == "true"

    def make() -> Overlap:
        tree = ancestry(ws, joined=joins(call))
        gold, predicted = label_sets(ws, call)
        try:
            effort(ws, call).check_extended(gold, predicted)
        except TooFarError:
            raise UndefinedError(TOO_DEEP) from None
        left_out = tree.common() if exclude else set()
        levels = None if depth == "unlimited" else int(depth)
        closures = Closures.of(np.concatenate([gold.nodes, predicted.nodes]), tree, levels, left_out)
        found = overlap(gold, predicted, closures)
        names = listed(tree.names[node] for node in sorted(left_out)) or "no node"
        notes = (f"left out as ancestor of every class: {names}",) if exclude else ()
        return Overlap(found.gold, found.predicted, found.shared, notes)

    return ws.shared(("extended", joins(call), exclude, depth, *reading(call)), make)


def _share(ws: Workspace, call: MetricCall, terms: Terms) -> Result:
    mean = pooled if call.params["pooled"] == "true" else averaged
    return mean(ws, call, _extended(ws, call), terms)


def hierarchical_precision(ws: Workspace, call: MetricCall) -> Result:
    """The share of the predicted labels and ancestors that gold has too."""
    return _share(ws, call, precision)


def hierarchical_recall(ws: Workspace, call: MetricCall) -> Result:
    """The share of the gold labels and ancestors that were predicted."""
    return _share(ws, call, recall)


def hierarchical_f1(ws: Workspace, call: MetricCall) -> Result:
    """The F1 of the extended sets."""
    return _share(ws, call, f1)


def symmetric_difference(ws: Workspace, call: MetricCall) -> Result:
    """The mean number of nodes that only one of the two extended sets has."""
    found = _extended(ws, call)
    return Result(weighed(ws, found.gold + found.predicted - 2 * found.shared) / ws.total, None, found.notes)


def tree_induced_error(ws: Workspace, call: MetricCall) -> Result:
    """The mean length of the shortest way between the gold and the predicted label."""
    tree = ancestry(ws, joined=joins(call))
    gold, predicted = label_sets(ws, call)
    if predicted.outside.any() or gold.outside.any():
        raise UndefinedError("a label outside the vocabulary has no place in the hierarchy")
    given = np.zeros(len(gold.outside), dtype=bool)
    given[predicted.rows] = True
    lost = int((~given).sum())
    if lost and call.options["one_empty"] != "skip":
        raise UndefinedError("some instances have no prediction; one_empty=skip leaves them out")
    if lost == len(given):
        raise UndefinedError("no instance is left to average over")
    ways = ws.common(("distances", joins(call)), lambda: Distances(tree))
    lengths = np.zeros(len(given), dtype=np.int64)
    try:
        lengths[given] = ways.between(
            predicted.nodes, gold.nodes[given], len(given)
        )  # from what the file's sender knows
    except TooFarError:
        raise UndefinedError(TOO_FAR) from None
    if lengths.min() < 0:
        raise UndefinedError("some labels are in different trees; count_root=true joins all trees")
    notes = (f"instances without a prediction, left out (one_empty=skip): {lost}",) if lost else ()
    return Result(weighed(ws, lengths) / weighed(ws, given.astype(np.int64)), None, notes)


_MAX_DEPTH = Param(
    name="max_depth",
    kind="whole",
    meaning="how many levels of ancestors are added to a label",
    default="unlimited",
    bounds=(0, 1_000_000),
    values=("unlimited",),
    value_meanings=("all ancestors are added to a label",),
)
_SETTINGS = (
    Param(
        name="pooled",
        kind="choice",
        meaning="whether the instances are averaged or their nodes summed first",
        default="false",
        values=("false", "true"),
        value_meanings=("the mean of the values of the instances", "sums over all instances first, then one division"),
    ),
    COUNT_ROOT,
    Param(
        name="exclude_root",
        kind="choice",
        meaning="whether nodes that are ancestors of every class are left out",
        default="false",
        values=("false", "true"),
        value_meanings=("all nodes of the hierarchy count", "nodes that are ancestors of every class are left out"),
    ),
    _MAX_DEPTH,
)
_SYMBOLS = {
    "P\u0302_i": "predicted labels of instance i with all their ancestors",
    "\u0176_i": "gold labels of instance i with all their ancestors",
}
_TREE = {"poodle": ("dog",), "beagle": ("dog",), "dog": ("animal",), "cat": ("animal",)}
_SOURCE = (
    "Kiritchenko, Matwin and Famili 2005, Functional annotation of genes using hierarchical text categorization "
    "(pooled); Kosmopoulos et al. 2015, sec 3.2.2 (per instance)"
)
_HEMKIT = (
    "counts a virtual root above all roots (count_root=true); an empty prediction makes its means nan, so such instances "
    "are left out before (one_empty=skip); it adds one level of ancestors more than its argument: 4 there is max_depth=5"
)
_PEERS = {"HEMKit": _HEMKIT, "HiClass": "sums over all instances first (pooled=true)"}


def example(value: str) -> Example:
    """Three instances over a tree of three classes with the value that a metric has on them."""
    return Example(
        task="multilabel",
        classes=("poodle", "beagle", "cat"),
        gold=(("poodle",), ("cat",), ("beagle",)),
        predicted=(("beagle",), ("cat", "poodle"), ("beagle",)),
        value=value,
        hierarchy=_TREE,
    )


_SHARED = r"|\hat{P}_{i}\cap\hat{Y}_{i}|"
_BOTH = r"|\hat{P}_{i}|+|\hat{Y}_{i}|"


def _declare(key: str, short: str, compute: Compute, ways: tuple[str, str], value: str) -> None:
    """One of the three measures; `ways` are its equation as a mean over instances and pooled."""

    def shown(call: MetricCall) -> str:
        return ways[call.params["pooled"] == "true"]

    register(
        Metric(
            key=key,
            name=key.replace("_", " "),
            names=(short,),
            equation=ways[0],
            tasks=TASKS,
            needs=(LABELS, HIERARCHY),
            direction="higher",
            granularity=CONFUSION,
            range=UNIT,
            params=_SETTINGS,
            options=("zero_division", *EMPTIES, *READING),
            properties=Properties(symmetric=key == "hierarchical_f1", prevalence_sensitive=True),
            source=_SOURCE,
            example=example(value),
            compute=compute,
            symbols=_SYMBOLS,
            peers=_PEERS,
            shown=shown,
        )
    )


_declare(
    "hierarchical_precision",
    "hP",
    hierarchical_precision,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_SHARED}}}{{|\hat{{P}}_{{i}}|}}",
        rf"\frac{{\sum_{{i}} {_SHARED}}}{{\sum_{{i}} |\hat{{P}}_{{i}}|}}",
    ),
    "13/18",
)
_declare(
    "hierarchical_recall",
    "hR",
    hierarchical_recall,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_SHARED}}}{{|\hat{{Y}}_{{i}}|}}",
        rf"\frac{{\sum_{{i}} {_SHARED}}}{{\sum_{{i}} |\hat{{Y}}_{{i}}|}}",
    ),
    "8/9",
)
_declare(
    "hierarchical_f1",
    "hF",
    hierarchical_f1,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{2\,{_SHARED}}}{{{_BOTH}}}",
        rf"\frac{{2\sum_{{i}} {_SHARED}}}{{\sum_{{i}} ({_BOTH})}}",
    ),
    "7/9",
)
register(
    Metric(
        key="hierarchical_symmetric_difference",
        name="hierarchical symmetric difference",
        names=("symmetric difference loss", "SDL"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} |\hat{P}_{i}\,\triangle\,\hat{Y}_{i}|",
        tasks=TASKS,
        needs=(LABELS, HIERARCHY),
        direction="lower",
        granularity=CONFUSION,
        range=(0.0, math.inf),
        params=(COUNT_ROOT, _MAX_DEPTH),
        options=READING,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="Kosmopoulos et al. 2015, Evaluation measures for hierarchical classification, sec 3.2.2",
        example=example("4/3"),
        compute=symmetric_difference,
        symbols=_SYMBOLS,
        peers={"HEMKit": f"SDL with all ancestors: {_HEMKIT}"},
    )
)
register(
    Metric(
        key="tree_induced_error",
        name="tree-induced error",
        names=("graph-induced error", "mean distance in the hierarchy", "hierarchical distance"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \gamma(\hat{y}_{i},y_{i})",
        tasks=SINGLE,
        needs=(LABELS, HIERARCHY),
        direction="lower",
        granularity=CONFUSION,
        range=(0.0, math.inf),
        params=(COUNT_ROOT,),
        options=("one_empty", "unknown_label", "missing"),
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="Dekel, Keshet and Singer 2004, Large margin hierarchical classification, sec 2",
        example=Example(
            task="multiclass",
            classes=("poodle", "beagle", "cat"),
            gold=("poodle", "cat", "cat"),
            predicted=("beagle", "poodle", "cat"),
            value="5/3",
            hierarchy=_TREE,
        ),
        compute=tree_induced_error,
        hints={"multilabel": "for label sets mgia and hierarchical_symmetric_difference measure distances"},
        symbols={
            "\u03b3": "number of steps of the shortest way between two labels, up and down the hierarchy; where several "
            "parents make cycles, and these are so long, so many and the instances so many that searching all of them would "
            "take some seconds, the value is null, whatever the labels (a ladder of 60,000 nodes from some 180 instances on)",
            "y_i": "gold label of instance i",
            "y\u0302_i": "predicted label of instance i",
        },
    )
)
