"""Precision, recall and F of label sets extended by their ancestors, and distances in the hierarchy."""

import numpy as np

from app.scoring.declaration.metric import Compute, ComputeDraws, Example, MetricCall, Param, Properties, Result
from app.scoring.draw_context import DrawContext, Floats, NoDrawForm, divide_draws
from app.scoring.hierarchy.ancestor_paths import HierarchyCostLimitError
from app.scoring.hierarchy.augmented_sets import AncestorClosures, AugmentedOverlap, LabelSets, count_overlap
from app.scoring.hierarchy.distances import HierarchyDistances
from app.scoring.metrics.hierarchies.hierarchy_inputs import (
    COUNT_ROOT_PARAM,
    EMPTY_SET_OPTIONS,
    TOO_DEEP_REASON,
    TOO_FAR_REASON,
    OverlapTerms,
    ancestry,
    average_share,
    average_share_draws,
    declare_hierarchy_metric,
    effort,
    f1_terms,
    has_virtual_root,
    label_set_key,
    label_sets,
    pooled_share,
    pooled_share_draws,
    precision_terms,
    recall_terms,
    weighted_total,
)
from app.scoring.metrics.labels.undefined_rules import Mask, UndefinedError, join_names
from app.scoring.metrics.shared_declarations import (
    LABEL_SET_OPTIONS,
    SINGLE_LABEL_TASKS,
    UNBOUNDED_RANGE,
    choice_param,
)
from app.scoring.numeric.exact import Integers
from app.scoring.tally import EvaluationContext


def _augmented_overlap(ws: EvaluationContext, call: MetricCall) -> AugmentedOverlap:
    """The extended sets of all instances, cached for precision, recall and F."""
    max_depth = call.params["max_depth"]
    exclude_root = call.params.get("exclude_root") == "true"

    def count() -> AugmentedOverlap:
        hierarchy = ancestry(ws, joined=has_virtual_root(call))
        gold, predicted = label_sets(ws, call)
        try:
            effort(ws, call).check_augmented_sets(gold, predicted)
        except HierarchyCostLimitError:
            raise UndefinedError(TOO_DEEP_REASON) from None
        left_out = hierarchy.common() if exclude_root else set()
        levels = None if max_depth == "unlimited" else int(max_depth)
        closures = AncestorClosures.of_labels(
            np.concatenate([gold.nodes, predicted.nodes]), hierarchy, levels, left_out
        )
        overlap = count_overlap(gold, predicted, closures)
        names = join_names(hierarchy.names[node] for node in sorted(left_out)) or "none"
        notes = (f"left out because they are ancestors of every class: {names}",) if exclude_root else ()
        return AugmentedOverlap(overlap.gold, overlap.predicted, overlap.shared, notes)

    return ws.shared(("extended", has_virtual_root(call), exclude_root, max_depth, *label_set_key(call)), count)


def _share_of(terms: OverlapTerms) -> Compute:
    """A share of the nodes of the extended sets: averaged over instances, or of the summed counts."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        mean = pooled_share if call.params["pooled"] == "true" else average_share
        return mean(ws, call, _augmented_overlap(ws, call), terms)

    return compute


def _share_of_draws(terms: OverlapTerms) -> ComputeDraws:
    """`_share_of` for many draws at once."""

    def values(draws: DrawContext, call: MetricCall) -> Floats:
        if call.params["pooled"] == "true":
            return pooled_share_draws(draws, call, _augmented_overlap(draws.rows, call), terms)
        return average_share_draws(draws, call, lambda: _augmented_overlap(draws.rows, call), terms)

    return values


def symmetric_difference(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean number of nodes that only one of the two extended sets has."""
    overlap = _augmented_overlap(ws, call)
    return Result(weighted_total(ws, _unshared_nodes(overlap)) / ws.total, None, overlap.notes)


def symmetric_difference_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`symmetric_difference` for many draws at once."""
    return divide_draws(draws.sum_of(_unshared_nodes(_augmented_overlap(draws.rows, call))), draws.total)


def _unshared_nodes(overlap: AugmentedOverlap) -> Integers:
    """How many nodes only one of the two extended sets of each instance has."""
    unshared: Integers = overlap.gold + overlap.predicted - 2 * overlap.shared
    return unshared


def tree_induced_error(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean length of the shortest path between the gold and the predicted label."""
    gold, predicted = label_sets(ws, call)
    if predicted.outside.any() or gold.outside.any():
        raise UndefinedError("a label outside the vocabulary is not in the hierarchy")
    has_prediction = _has_prediction(predicted)
    missing = int((~has_prediction).sum())
    if missing and call.options["one_empty"] != "skip":
        raise UndefinedError("some instances have no prediction; one_empty=skip leaves them out")
    if missing == len(has_prediction):
        raise UndefinedError("no instance is left to average over")
    lengths = _path_lengths(ws, call)
    if lengths.min() < 0:
        raise UndefinedError("some labels are in different trees; count_root=true joins all trees")
    notes = (f"instances without a prediction, left out (one_empty=skip): {missing}",) if missing else ()
    return Result(weighted_total(ws, lengths) / weighted_total(ws, has_prediction.astype(np.int64)), None, notes)


def _has_prediction(predicted: LabelSets) -> Mask:
    has_prediction = np.zeros(len(predicted.outside), dtype=bool)
    has_prediction[predicted.rows] = True
    return has_prediction


def _path_lengths(ws: EvaluationContext, call: MetricCall) -> Integers:
    """The length of the path of each instance: 0 without a prediction, negative for labels of different trees."""
    tree = ancestry(ws, joined=has_virtual_root(call))
    gold, predicted = label_sets(ws, call)
    has_prediction = _has_prediction(predicted)
    distances = ws.common(("distances", has_virtual_root(call)), lambda: HierarchyDistances(tree))
    lengths = np.zeros(len(has_prediction), dtype=np.int64)
    try:
        # searches start from the predicted labels, which the sender knows: their cost must not depend on gold
        lengths[has_prediction] = distances.between(predicted.nodes, gold.nodes[has_prediction], len(has_prediction))
    except HierarchyCostLimitError:
        raise UndefinedError(TOO_FAR_REASON) from None
    return lengths


def tree_induced_error_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`tree_induced_error` for many draws at once."""
    gold, predicted = label_sets(draws.rows, call)
    if gold.outside.any():
        raise NoDrawForm
    has_prediction = _has_prediction(predicted)
    if not has_prediction.any():
        return np.full(draws.draws, np.nan)
    key = ("path lengths", has_virtual_root(call), *label_set_key(call))
    lengths = draws.rows.shared(key, lambda: _path_lengths(draws.rows, call))
    undefined = (predicted.outside > 0) | (lengths < 0)
    if call.options["one_empty"] != "skip":
        undefined = undefined | ~has_prediction
    values = divide_draws(draws.sum_of(lengths), draws.sum_rows(has_prediction))
    return np.where(draws.sum_rows(undefined) > 0, np.nan, values)


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
    choice_param(
        "pooled",
        "whether the measure is averaged over instances or computed from the summed counts",
        false="the mean of the values of the instances",
        true="counts are summed over all instances, then divided once",
    ),
    COUNT_ROOT_PARAM,
    choice_param(
        "exclude_root",
        "whether nodes that are ancestors of every class are left out",
        false="all nodes of the hierarchy count",
        true="nodes that are ancestors of every class are left out",
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
    "counts a virtual root above all roots (count_root=true); an empty prediction makes its means nan, so leave such "
    "instances out (one_empty=skip); it adds one more level of ancestors than its argument: for 4 use max_depth=5"
)
_PEERS = {"HEMKit": _HEMKIT_NOTE, "HiClass": "sums over all instances first (pooled=true)"}


def hierarchy_example(value: str) -> Example:
    """Three instances over a tree of three classes, with the value of a metric."""
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


def _register_hierarchical(key: str, short: str, terms: OverlapTerms, equations: tuple[str, str], value: str) -> None:
    """Register one of the three measures; `equations` are its equation as a mean over instances and pooled."""

    def shown(call: MetricCall) -> str:
        return equations[call.params["pooled"] == "true"]

    declare_hierarchy_metric(
        key=key,
        name=key.replace("_", " "),
        names=(short,),
        equation=equations[0],
        params=_HIERARCHICAL_PARAMS,
        options=("zero_division", *EMPTY_SET_OPTIONS, *LABEL_SET_OPTIONS),
        properties=Properties(symmetric=key == "hierarchical_f1", prevalence_sensitive=True),
        source=_SOURCE,
        example=hierarchy_example(value),
        compute=_share_of(terms),
        compute_draws=_share_of_draws(terms),
        symbols=_SYMBOLS,
        peers=_PEERS,
        equation_of_call=shown,
    )


_register_hierarchical(
    "hierarchical_precision",
    "hP",
    precision_terms,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_SHARED_LATEX}}}{{|\hat{{P}}_{{i}}|}}",
        rf"\frac{{\sum_{{i}} {_SHARED_LATEX}}}{{\sum_{{i}} |\hat{{P}}_{{i}}|}}",
    ),
    "13/18",
)
_register_hierarchical(
    "hierarchical_recall",
    "hR",
    recall_terms,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{_SHARED_LATEX}}}{{|\hat{{Y}}_{{i}}|}}",
        rf"\frac{{\sum_{{i}} {_SHARED_LATEX}}}{{\sum_{{i}} |\hat{{Y}}_{{i}}|}}",
    ),
    "8/9",
)
_register_hierarchical(
    "hierarchical_f1",
    "hF",
    f1_terms,
    (
        rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{2\,{_SHARED_LATEX}}}{{{_BOTH_LATEX}}}",
        rf"\frac{{2\sum_{{i}} {_SHARED_LATEX}}}{{\sum_{{i}} ({_BOTH_LATEX})}}",
    ),
    "7/9",
)
declare_hierarchy_metric(
    key="hierarchical_symmetric_difference",
    name="hierarchical symmetric difference",
    names=("symmetric difference loss", "SDL"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} |\hat{P}_{i}\,\triangle\,\hat{Y}_{i}|",
    direction="lower",
    range=UNBOUNDED_RANGE,
    params=(COUNT_ROOT_PARAM, _MAX_DEPTH_PARAM),
    options=LABEL_SET_OPTIONS,
    source="Kosmopoulos et al. 2015, Evaluation measures for hierarchical classification, sec 3.2.2",
    example=hierarchy_example("4/3"),
    compute=symmetric_difference,
    compute_draws=symmetric_difference_draws,
    symbols=_SYMBOLS,
    peers={"HEMKit": f"SDL with all ancestors: {_HEMKIT_NOTE}"},
)
declare_hierarchy_metric(
    key="tree_induced_error",
    name="tree-induced error",
    names=("graph-induced error", "mean distance in the hierarchy", "hierarchical distance"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} \gamma(\hat{y}_{i},y_{i})",
    tasks=SINGLE_LABEL_TASKS,
    direction="lower",
    range=UNBOUNDED_RANGE,
    params=(COUNT_ROOT_PARAM,),
    options=("one_empty", "unknown_label", "missing"),
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
    compute_draws=tree_induced_error_draws,
    hints={"multilabel": "for label sets use mgia or hierarchical_symmetric_difference"},
    symbols={
        "\u03b3": "number of steps of the shortest path between two labels, up and down the hierarchy; if "
        "nodes with several parents form so many long cycles that searching them for all instances would take "
        "several seconds, the value is null whatever the labels are (for a ladder of 60,000 nodes, from about 180 "
        "instances)",
        "y_i": "gold label of instance i",
        "y\u0302_i": "predicted label of instance i",
    },
)
