"""Precision, recall and F of label sets joined at their lowest common ancestors, and the accuracy of their matches."""

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np

from app.scoring.declaration.metric import Compute, ComputeDraws, MetricCall, Param, Properties, Result
from app.scoring.draw_context import DrawContext, Floats
from app.scoring.hierarchy.ancestor_paths import Ancestry, HierarchyCostLimitError
from app.scoring.hierarchy.augmented_sets import AugmentedOverlap, Int
from app.scoring.hierarchy.cost_limit import max_visited_nodes
from app.scoring.hierarchy.lca_hemkit import LabelSetPair, augment_to_lcas, graph_induced_error, remove_ancestors
from app.scoring.hierarchy.lca_minimal import MinimalGraphFinder
from app.scoring.metrics.hierarchies.hierarchical import hierarchy_example
from app.scoring.metrics.hierarchies.hierarchy_inputs import (
    COUNT_ROOT_PARAM,
    TOO_LARGE_REASON,
    OverlapTerms,
    ancestry,
    average_share,
    average_share_draws,
    declare_hierarchy_metric,
    effort,
    empty_set_instances,
    has_virtual_root,
    label_set_key,
    label_sets,
    precision_terms,
    recall_terms,
)
from app.scoring.metrics.labels.averages import FixedInstances, average_instances, instance_values
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.shared_declarations import SIGNED_RANGE, choice_param
from app.scoring.tally import EvaluationContext


def _counts_per_instance(
    ws: EvaluationContext,
    call: MetricCall,
    count: Callable[[LabelSetPair, Ancestry], tuple[int, ...]],
    key: tuple[str, ...],
    *,
    matched: bool = False,
) -> Int:
    """The counts of each instance, one row per instance; equal pairs of sets are counted once, shared by all splits.

    `key` identifies the counts in the cache. Raises UndefinedError where linking the labels (with `matched`: matching
    them) would take too long. Each split has its own budget, spent as if nothing had been cached for another split:
    whether a public value exists must not depend on private labels.
    """
    gold, predicted = label_sets(ws, call)
    budget = max_visited_nodes(len(gold.outside))
    try:
        # before building sets that would be too expensive
        effort(ws, call).check_linked_labels(gold, predicted, matched=matched)
        pairs = ws.shared(
            ("pairs", *label_set_key(call)), lambda: list(zip(gold.sets(), predicted.sets(), strict=True))
        )
        counts_by_pair: dict[LabelSetPair, _PairCounts] = ws.common(
            ("counts", call.params["count_root"], *key, *label_set_key(call)), dict
        )
        tree = ancestry(ws, joined=has_virtual_root(call))
        for sets in dict.fromkeys(pairs):
            if sets not in counts_by_pair:
                tree.reset_visited()
                counts = count(sets, tree)
                counts_by_pair[sets] = _PairCounts(counts, tree.visited)
            budget -= counts_by_pair[sets].visited
            if budget < 0:
                raise HierarchyCostLimitError  # noqa: TRY301 - handled like a single instance over the limit
    except HierarchyCostLimitError:
        raise UndefinedError(TOO_LARGE_REASON) from None
    return np.array([counts_by_pair[sets].counts for sets in pairs], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _PairCounts:
    """The counts of a pair of sets, and how many nodes were visited to compute them."""

    counts: tuple[int, ...]
    visited: int


def _joined_overlap(ws: EvaluationContext, call: MetricCall) -> tuple[AugmentedOverlap, Int]:
    """The sizes of the joined sets of all instances, and of both together; labels outside the vocabulary join nothing.

    Cached for precision, recall and F.
    """
    remove, links = call.params["redundant"] == "remove", call.params["links"]

    def compute() -> tuple[AugmentedOverlap, Int]:
        gold, predicted = label_sets(ws, call)
        finder = MinimalGraphFinder(ancestry(ws, joined=has_virtual_root(call)))

        def count(sets: LabelSetPair, tree: Ancestry) -> tuple[int, ...]:
            if remove:
                sets = remove_ancestors(sets[0], tree), remove_ancestors(sets[1], tree)
            return _hemkit_sizes(sets, tree) if links == "hemkit" else astuple(finder.sizes(sets))

        counts = _counts_per_instance(ws, call, count, (links, call.params["redundant"]))
        nodes = counts[:, 3] + gold.outside + predicted.outside
        return AugmentedOverlap(counts[:, 0] + gold.outside, counts[:, 1] + predicted.outside, counts[:, 2]), nodes

    return ws.shared(("joined", has_virtual_root(call), remove, links, *label_set_key(call)), compute)


def _hemkit_sizes(sets: LabelSetPair, tree: Ancestry) -> tuple[int, int, int, int]:
    gold, predicted = augment_to_lcas(sets, tree)
    return len(gold), len(predicted), len(gold & predicted), len(gold) + len(predicted)


def _average_of_draws(terms: OverlapTerms) -> ComputeDraws:
    """The mean share of joined nodes for many draws at once."""
    return lambda draws, call: average_share_draws(draws, call, lambda: _joined_overlap(draws.rows, call)[0], terms)


def lca_f1_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`lca_f1` for many draws at once."""
    sizes, nodes = _joined_overlap(draws.rows, call)
    return average_share_draws(draws, call, lambda: sizes, lambda overlap: (2 * overlap.shared, nodes))


def lca_precision(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean share of the nodes of the joined predicted set that the joined gold set has too."""
    return average_share(ws, call, _joined_overlap(ws, call)[0], precision_terms)


def lca_recall(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean share of the nodes of the joined gold set that the joined predicted set has too."""
    return average_share(ws, call, _joined_overlap(ws, call)[0], recall_terms)


def lca_f1(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean F1 of the joined sets."""
    sizes, nodes = _joined_overlap(ws, call)
    return average_share(ws, call, sizes, lambda overlap: (2 * overlap.shared, nodes))


def mgia(ws: EvaluationContext, call: MetricCall) -> Result:
    """1 - (error of the matches between the sets) / (largest possible error); 1 for equal sets."""
    return average_instances(*_mgia_terms(ws, call), ws.case.weights)


def mgia_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`mgia` for many draws at once."""
    return draws.mean_of_call(call.cache_key, lambda: instance_values(*_mgia_terms(draws.rows, call)))


def _mgia_terms(ws: EvaluationContext, call: MetricCall) -> tuple[Int, Int, list[FixedInstances]]:
    """Numerator and denominator of each instance, and the instances whose value the options fix."""
    max_error = int(call.params["max_error"])

    def count(sets: LabelSetPair, tree: Ancestry) -> tuple[int, ...]:
        return len(sets[0]), len(sets[1]), len(sets[0] ^ sets[1]), graph_induced_error(sets, max_error, tree)

    gold, predicted = label_sets(ws, call)
    in_gold, in_predicted, differing, error = _counts_per_instance(
        ws, call, count, ("mgia", str(max_error)), matched=True
    ).T
    sizes = AugmentedOverlap(in_gold + gold.outside, in_predicted + predicted.outside, differing)
    # labels outside have no match: they must not raise a negative value by enlarging the divisor
    outside = gold.outside + predicted.outside
    equal = differing + outside == 0
    numerator = np.where(equal, 1, differing * max_error - error)
    largest = np.where(numerator < 0, differing, differing + outside) * max_error
    fixed = empty_set_instances(ws, call, sizes)
    return numerator, np.where(equal, 1, largest), fixed


_SHARED_LATEX = r"|\tilde{P}_{i}\cap\tilde{Y}_{i}|"
_LINKED_MEANING = (
    "and the nodes that links to the other set add: each label that the other set lacks is linked to one of its nearest "
    "counterparts there, by a shortest path up to a common ancestor and down again, if there is a common ancestor"
)
_MINIMAL_MEANING = (
    "every label that the other set lacks is linked to one of its nearest counterparts. Of all such graphs, the one with "
    "the fewest nodes in both sets together counts, and among equals the one with the most shared nodes. If several "
    "remain, they have the same F; precision uses the one with the most predicted nodes, recall the one with the most "
    "gold nodes. The order of declaration does not matter. If there are too many choices to try, the value is null"
)
_HEMKIT_MEANING = (
    "as in HEMKit: the search stops at the first ancestor on each path up that has labels of the other set below it; an "
    "ancestor that is itself a label of the other set counts as linked, which may leave that label without a link; of "
    "equally near ancestors and equally short paths those declared first are used, so the order of classes, of the keys "
    "of the hierarchy and of the parents of a node can change the value"
)
_MGIA_EQUATION = r"\frac{1}{n}\sum_{i=1}^{n} \left(1-\frac{e_{i}}{E\,|P_{i}\,\triangle\,Y_{i}|}\right)"
_SOURCE = (
    "Kosmopoulos, Partalas, Gaussier, Paliouras and Androutsopoulos 2015, Evaluation measures for hierarchical "
    "classification: a unified view and novel approaches; as HEMKit computes it"
)
_HEMKIT_NOTE = (
    "the same with count_root=true,redundant=remove,one_empty=skip, provided that its maximum distance is never reached "
    "and its node numbers, which decide ties, follow the order of the classes. Of equally short paths up it prefers one "
    "through other labels, this metric the one declared first; they differ only if nodes have several parents"
)
_REDUNDANT_PARAM = choice_param(
    "redundant",
    "how labels that are ancestors of another label of the same set count",
    keep="labels that are ancestors of another label of the same set stay",
    remove="labels that are ancestors of another label of the same set are dropped first",
)
_LINKS_PARAM = choice_param(
    "links",
    "which links connect the two label sets",
    minimal=_MINIMAL_MEANING,
    hemkit=_HEMKIT_MEANING,
)


_declare = partial(declare_hierarchy_metric, source=_SOURCE)


def _register_lca(
    key: str, short: str, computes: tuple[Compute, ComputeDraws], terms: tuple[str, str], value: str
) -> None:
    """Register one of the three measures; `terms` are numerator and denominator for one instance."""
    _declare(
        key=key,
        name=f"lowest common ancestor {key.removeprefix('lca_')}",
        names=(short,),
        equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{terms[0]}}}{{{terms[1]}}}",
        params=(COUNT_ROOT_PARAM, _LINKS_PARAM, _REDUNDANT_PARAM),
        properties=Properties(symmetric=key == "lca_f1", prevalence_sensitive=True),
        example=hierarchy_example(value),
        compute=computes[0],
        compute_draws=computes[1],
        symbols={
            "P\u0303_i": f"predicted labels of instance i {_LINKED_MEANING}",
            "Y\u0303_i": f"gold labels of instance i {_LINKED_MEANING}",
        },
        peers={"HEMKit": _HEMKIT_NOTE},
    )


_register_lca(
    "lca_precision",
    "LCA-P",
    (lca_precision, _average_of_draws(precision_terms)),
    (_SHARED_LATEX, r"|\tilde{P}_{i}|"),
    "2/3",
)
_register_lca(
    "lca_recall", "LCA-R", (lca_recall, _average_of_draws(recall_terms)), (_SHARED_LATEX, r"|\tilde{Y}_{i}|"), "5/6"
)
_register_lca(
    "lca_f1", "LCA-F", (lca_f1, lca_f1_draws), (rf"2\,{_SHARED_LATEX}", r"|\tilde{P}_{i}|+|\tilde{Y}_{i}|"), "13/18"
)
_declare(
    key="mgia",
    name="multi-label graph-induced accuracy",
    names=("MGIA",),
    equation=_MGIA_EQUATION,
    range=SIGNED_RANGE,
    params=(
        COUNT_ROOT_PARAM,
        Param(
            name="max_error",
            kind="whole",
            meaning="the error of a label that has no nearer counterpart",
            default="5",
            bounds=(1, 1_000_000),
        ),
    ),
    properties=Properties(symmetric=True, prevalence_sensitive=True, ordinal=True),
    example=hierarchy_example("11/15"),
    compute=mgia,
    compute_draws=mgia_draws,
    symbols={
        "e_i": "steps between the matched labels of instance i, with E for each label without a match",
        "E": "the largest error of a label, max_error",
    },
    peers={
        "HEMKit": "the same with count_root=true and max_error as its last argument, provided that its node numbers follow "
        "the order of the classes; of equally long matches it drops the one with the larger predicted label, here the one "
        "with the larger label on either side, so that gold and predictions may be swapped",
    },
    equation_of_call=lambda call: _MGIA_EQUATION.replace("E", call.params["max_error"]),
)
