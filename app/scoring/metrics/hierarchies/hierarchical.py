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
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.hierarchy.ancestry import HierarchyCostLimitError
from app.scoring.hierarchy.augmented_sets import AncestorClosures, AugmentedOverlap, count_overlap
from app.scoring.hierarchy.distances import HierarchyDistances
from app.scoring.metrics.hierarchies.label_overlap import (
    COUNT_ROOT_PARAM,
    EMPTY_SET_OPTIONS,
    LABEL_SET_OPTIONS,
    TOO_DEEP_REASON,
    TOO_FAR_REASON,
    OverlapTerms,
    ancestry,
    average_share,
    effort,
    f1_terms,
    has_virtual_root,
    label_set_key,
    label_sets,
    pooled_share,
    precision_terms,
    recall_terms,
    weighted_total,
)
from app.scoring.metrics.labels.undefined_rules import UndefinedError, join_names
from app.scoring.metrics.labels.whole_task import SINGLE_LABEL_TASKS, UNIT_RANGE
from app.scoring.tally import EvaluationContext


def _augmented_overlap(ws: EvaluationContext, call: MetricCall) -> AugmentedOverlap:
    """The extended sets of all instances, made once for precision, recall and F."""
    depth = call.params["max_depth"]
    exclude = call.params.get("exclude_root") == "true"

    def make() -> AugmentedOverlap:
        tree = ancestry(ws, joined=has_virtual_root(call))
        gold, predicted = label_sets(ws, call)
        try:
            effort(ws, call).check_augmented_sets(gold, predicted)
        except HierarchyCostLimitError:
            raise UndefinedError(TOO_DEEP_REASON) from None
        left_out = tree.common() if exclude else set()
        levels = None if depth == "unlimited" else int(depth)
        closures = AncestorClosures.of_labels(np.concatenate([gold.nodes, predicted.nodes]), tree, levels, left_out)
        found = count_overlap(gold, predicted, closures)
        names = join_names(tree.names[node] for node in sorted(left_out)) or "no node"
        notes = (f"left out as ancestor of every class: {names}",) if exclude else ()
        return AugmentedOverlap(found.gold, found.predicted, found.shared, notes)

    return ws.shared(("extended", has_virtual_root(call), exclude, depth, *label_set_key(call)), make)


def _share_result(ws: EvaluationContext, call: MetricCall, terms: OverlapTerms) -> Result:
    mean = pooled_share if call.params["pooled"] == "true" else average_share
    return mean(ws, call, _augmented_overlap(ws, call), terms)


def hierarchical_precision(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of the predicted labels and ancestors that gold has too."""
    return _share_result(ws, call, precision_terms)


def hierarchical_recall(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of the gold labels and ancestors that were predicted."""
    return _share_result(ws, call, recall_terms)


def hierarchical_f1(ws: EvaluationContext, call: MetricCall) -> Result:
    """The F1 of the extended sets."""
    return _share_result(ws, call, f1_terms)


def symmetric_difference(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean number of nodes that only one of the two extended sets has."""
    found = _augmented_overlap(ws, call)
    return Result(weighted_total(ws, found.gold + found.predicted - 2 * found.shared) / ws.total, None, found.notes)


def tree_induced_error(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean length of the shortest way between the gold and the predicted label."""
    tree = ancestry(ws, joined=has_virtual_root(call))
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
    ways = ws.common(("distances", has_virtual_root(call)), lambda: HierarchyDistances(tree))
    lengths = np.zeros(len(given), dtype=np.int64)
    try:
        lengths[given] = ways.between(
            predicted.nodes, gold.nodes[given], len(given)
        )  # from what the file's sender knows
    except HierarchyCostLimitError:
        raise UndefinedError(TOO_FAR_REASON) from None
    if lengths.min() < 0:
        raise UndefinedError("some labels are in different trees; count_root=true joins all trees")
    notes = (f"instances without a prediction, left out (one_empty=skip): {lost}",) if lost else ()
    return Result(weighted_total(ws, lengths) / weighted_total(ws, given.astype(np.int64)), None, notes)


_MAX_DEPTH_PARAM = Param(
    name="max_depth",
    kind="whole",
    meaning="how many levels of ancestors are added to a label",
    default="unlimited",
    bounds=(0, 1_000_000),
    values=("unlimited",),
    value_meanings=("all ancestors are added to a label",),
)
_HIERARCHICAL_PARAMS = (
    Param(
        name="pooled",
        kind="choice",
        meaning="whether the instances are averaged or their nodes summed first",
        default="false",
        values=("false", "true"),
        value_meanings=("the mean of the values of the instances", "sums over all instances first, then one division"),
    ),
    COUNT_ROOT_PARAM,
    Param(
        name="exclude_root",
        kind="choice",
        meaning="whether nodes that are ancestors of every class are left out",
        default="false",
        values=("false", "true"),
        value_meanings=("all nodes of the hierarchy count", "nodes that are ancestors of every class are left out"),
    ),
    _MAX_DEPTH_PARAM,
)
_SYMBOLS = {
    "P\u0302_i": "predicted labels of instance i with all their ancestors",
    "\u0176_i": "gold labels of instance i with all their ancestors",
}
_EXAMPLE_HIERARCHY = {"poodle": ("dog",), "beagle": ("dog",), "dog": ("animal",), "cat": ("animal",)}
_SOURCE = (
    "Kiritchenko, Matwin and Famili 2005, Functional annotation of genes using hierarchical text categorization "
    "(pooled); Kosmopoulos et al. 2015, sec 3.2.2 (per instance)"
)
_HEMKIT_NOTE = (
    "counts a virtual root above all roots (count_root=true); an empty prediction makes its means nan, so such instances "
    "are left out before (one_empty=skip); it adds one level of ancestors more than its argument: 4 there is max_depth=5"
)
_PEERS = {"HEMKit": _HEMKIT_NOTE, "HiClass": "sums over all instances first (pooled=true)"}


def hierarchy_example(value: str) -> Example:
    """Three instances over a tree of three classes with the value that a metric has on them."""
    return Example(
        task="multilabel",
        classes=("poodle", "beagle", "cat"),
        gold=(("poodle",), ("cat",), ("beagle",)),
        predicted=(("beagle",), ("cat", "poodle"), ("beagle",)),
        value=value,
        hierarchy=_EXAMPLE_HIERARCHY,
    )


_SHARED_LATEX = r"|\hat{P}_{i}\cap\hat{Y}_{i}|"
_BOTH_LATEX = r"|\hat{P}_{i}|+|\hat{Y}_{i}|"


def _register_hierarchical(key: str, short: str, compute: Compute, ways: tuple[str, str], value: str) -> None:
    """One of the three measures; `ways` are its equation as a mean over instances and pooled."""

    def shown(call: MetricCall) -> str:
        return ways[call.params["pooled"] == "true"]

    register(
        Metric(
            key=key,
            name=key.replace("_", " "),
            names=(short,),
            equation=ways[0],
            tasks=TASK_KINDS,
            needs=(LABELS, HIERARCHY),
            direction="higher",
            granularity=CONFUSION,
            range=UNIT_RANGE,
            params=_HIERARCHICAL_PARAMS,
            options=("zero_division", *EMPTY_SET_OPTIONS, *LABEL_SET_OPTIONS),
            properties=Properties(symmetric=key == "hierarchical_f1", prevalence_sensitive=True),
            source=_SOURCE,
            example=hierarchy_example(value),
            compute=compute,
            symbols=_SYMBOLS,
            peers=_PEERS,
            equation_of_call=shown,
        )
    )


_register_hierarchical(
    "hierarchical_precision",
    "hP",
    hierarchical_precision,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_SHARED_LATEX}}}{{|\hat{{P}}_{{i}}|}}",
        rf"\frac{{\sum_{{i}} {_SHARED_LATEX}}}{{\sum_{{i}} |\hat{{P}}_{{i}}|}}",
    ),
    "13/18",
)
_register_hierarchical(
    "hierarchical_recall",
    "hR",
    hierarchical_recall,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_SHARED_LATEX}}}{{|\hat{{Y}}_{{i}}|}}",
        rf"\frac{{\sum_{{i}} {_SHARED_LATEX}}}{{\sum_{{i}} |\hat{{Y}}_{{i}}|}}",
    ),
    "8/9",
)
_register_hierarchical(
    "hierarchical_f1",
    "hF",
    hierarchical_f1,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{2\,{_SHARED_LATEX}}}{{{_BOTH_LATEX}}}",
        rf"\frac{{2\sum_{{i}} {_SHARED_LATEX}}}{{\sum_{{i}} ({_BOTH_LATEX})}}",
    ),
    "7/9",
)
register(
    Metric(
        key="hierarchical_symmetric_difference",
        name="hierarchical symmetric difference",
        names=("symmetric difference loss", "SDL"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} |\hat{P}_{i}\,\triangle\,\hat{Y}_{i}|",
        tasks=TASK_KINDS,
        needs=(LABELS, HIERARCHY),
        direction="lower",
        granularity=CONFUSION,
        range=(0.0, math.inf),
        params=(COUNT_ROOT_PARAM, _MAX_DEPTH_PARAM),
        options=LABEL_SET_OPTIONS,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="Kosmopoulos et al. 2015, Evaluation measures for hierarchical classification, sec 3.2.2",
        example=hierarchy_example("4/3"),
        compute=symmetric_difference,
        symbols=_SYMBOLS,
        peers={"HEMKit": f"SDL with all ancestors: {_HEMKIT_NOTE}"},
    )
)
register(
    Metric(
        key="tree_induced_error",
        name="tree-induced error",
        names=("graph-induced error", "mean distance in the hierarchy", "hierarchical distance"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \gamma(\hat{y}_{i},y_{i})",
        tasks=SINGLE_LABEL_TASKS,
        needs=(LABELS, HIERARCHY),
        direction="lower",
        granularity=CONFUSION,
        range=(0.0, math.inf),
        params=(COUNT_ROOT_PARAM,),
        options=("one_empty", "unknown_label", "missing"),
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="Dekel, Keshet and Singer 2004, Large margin hierarchical classification, sec 2",
        example=Example(
            task="multiclass",
            classes=("poodle", "beagle", "cat"),
            gold=("poodle", "cat", "cat"),
            predicted=("beagle", "poodle", "cat"),
            value="5/3",
            hierarchy=_EXAMPLE_HIERARCHY,
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
