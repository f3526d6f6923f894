"""Precision, recall and F of label sets joined at their lowest common ancestors, and the accuracy of their matches."""

from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np

from app.scoring.declaration.granularity import CONFUSION
from app.scoring.declaration.metric import (
    HIERARCHY,
    LABELS,
    Compute,
    Metric,
    MetricCall,
    Param,
    Properties,
    Result,
    register,
)
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.hierarchy.ancestry import Ancestry, HierarchyCostLimitError
from app.scoring.hierarchy.augmented_sets import AugmentedOverlap, Int
from app.scoring.hierarchy.cost_limit import max_visited_nodes
from app.scoring.hierarchy.lca import LabelSetPair, augment_to_lcas, graph_induced_error, remove_ancestors
from app.scoring.hierarchy.lca_minimal import MinimalGraphFinder
from app.scoring.metrics.hierarchies.hierarchical import hierarchy_example
from app.scoring.metrics.hierarchies.label_overlap import (
    COUNT_ROOT_PARAM,
    EMPTY_SET_OPTIONS,
    LABEL_SET_OPTIONS,
    TOO_LARGE_REASON,
    ancestry,
    average_share,
    effort,
    empty_set_instances,
    has_virtual_root,
    label_set_key,
    label_sets,
    precision_terms,
    recall_terms,
)
from app.scoring.metrics.labels.averages import average_instances
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.labels.whole_task import UNIT_RANGE
from app.scoring.tally import EvaluationContext


def _counts_per_instance(
    ws: EvaluationContext,
    call: MetricCall,
    count: Callable[[LabelSetPair, Ancestry], tuple[int, ...]],
    key: tuple[str, ...],
    *,
    matched: bool = False,
) -> Int:
    """Counts of each instance, one row for each; equal pairs of sets are counted once, also for all splits together.

    `key` says which counts they are. Raises UndefinedError where linking, or with `matched` matching, the labels would
    take too long. That is decided for a split by its own instances alone, as if nothing had been counted for another:
    whether a public value exists must tell nothing of private labels.
    """
    gold, predicted = label_sets(ws, call)
    left = max_visited_nodes(len(gold.outside))
    try:
        effort(ws, call).check_linked_labels(
            gold, predicted, matched=matched
        )  # what is too much is not even made into sets
        pairs = ws.shared(
            ("pairs", *label_set_key(call)), lambda: list(zip(gold.sets(), predicted.sets(), strict=True))
        )
        known: dict[LabelSetPair, _PairCounts] = ws.common(
            ("counts", call.params["count_root"], *key, *label_set_key(call)), dict
        )
        tree = ancestry(ws, joined=has_virtual_root(call))
        for sets in dict.fromkeys(pairs):
            if sets not in known:
                tree.reset_visited()
                counts = count(sets, tree)
                known[sets] = _PairCounts(counts, tree.visited)
            left -= known[sets].passed
            if left < 0:
                raise HierarchyCostLimitError  # noqa: TRY301 - as where one instance is too much
    except HierarchyCostLimitError:
        raise UndefinedError(TOO_LARGE_REASON) from None
    return np.array([known[sets].counts for sets in pairs], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _PairCounts:
    """The counts of a pair of sets, and how many nodes were passed to find them."""

    counts: tuple[int, ...]
    passed: int


def _joined_overlap(ws: EvaluationContext, call: MetricCall) -> tuple[AugmentedOverlap, Int]:
    """The sizes of the joined sets of all instances, and of both together; labels outside stay alone.

    Made once for precision, recall and F.
    """
    remove, links = call.params["redundant"] == "remove", call.params["links"]

    def make() -> tuple[AugmentedOverlap, Int]:
        gold, predicted = label_sets(ws, call)
        linking = MinimalGraphFinder(ancestry(ws, joined=has_virtual_root(call)))

        def count(sets: LabelSetPair, tree: Ancestry) -> tuple[int, ...]:
            if remove:
                sets = remove_ancestors(sets[0], tree), remove_ancestors(sets[1], tree)
            return _hemkit_sizes(sets, tree) if links == "hemkit" else astuple(linking.sizes(sets))

        counts = _counts_per_instance(ws, call, count, (links, call.params["redundant"]))
        nodes = counts[:, 3] + gold.outside + predicted.outside
        return AugmentedOverlap(counts[:, 0] + gold.outside, counts[:, 1] + predicted.outside, counts[:, 2]), nodes

    return ws.shared(("joined", has_virtual_root(call), remove, links, *label_set_key(call)), make)


def _hemkit_sizes(sets: LabelSetPair, tree: Ancestry) -> tuple[int, int, int, int]:
    gold, predicted = augment_to_lcas(sets, tree)
    return len(gold), len(predicted), len(gold & predicted), len(gold) + len(predicted)


def lca_precision(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean share of the nodes of the predicted set, so joined, that the gold set has too."""
    return average_share(ws, call, _joined_overlap(ws, call)[0], precision_terms)


def lca_recall(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean share of the nodes of the gold set, so joined, that the predicted set has too."""
    return average_share(ws, call, _joined_overlap(ws, call)[0], recall_terms)


def lca_f1(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean F1 of the joined sets."""
    sizes, nodes = _joined_overlap(ws, call)
    return average_share(ws, call, sizes, lambda found: (2 * found.shared, nodes))


def mgia(ws: EvaluationContext, call: MetricCall) -> Result:
    """One less the error of the matches between the sets, relative to the largest; equal sets have 1."""
    most = int(call.params["max_error"])

    def count(sets: LabelSetPair, tree: Ancestry) -> tuple[int, ...]:
        return len(sets[0]), len(sets[1]), len(sets[0] ^ sets[1]), graph_induced_error(sets, most, tree)

    gold, predicted = label_sets(ws, call)
    in_gold, in_predicted, lone, error = _counts_per_instance(ws, call, count, ("mgia", str(most)), matched=True).T
    sizes = AugmentedOverlap(in_gold + gold.outside, in_predicted + predicted.outside, lone)
    outside = gold.outside + predicted.outside  # they have no match, and lift no value that is below 0
    equal = lone + outside == 0
    numerator = np.where(equal, 1, lone * most - error)
    largest = np.where(numerator < 0, lone, lone + outside) * most
    return average_instances(
        numerator, np.where(equal, 1, largest), empty_set_instances(ws, call, sizes), ws.case.weights
    )


_SHARED_LATEX = r"|\tilde{P}_{i}\cap\tilde{Y}_{i}|"
_LINKED_MEANING = (
    "with the nodes that links to the other set add: a label that the other set lacks is linked to one of its nearest "
    "counterparts there, up to a common ancestor and down again by a shortest way, if it has a common ancestor with any"
)
_MINIMAL_MEANING = (
    "every label that the other set lacks is linked to one of its nearest counterparts. Of all such graphs the one with "
    "the fewest nodes in both sets together counts, then with the most that both sets have; where several are left, "
    "which then have the same F, precision takes the one with the most predicted nodes and recall the one with the most "
    "gold nodes. No order of declaration matters. Where the choices are too many to try, the value is null"
)
_HEMKIT_MEANING = (
    "as HEMKit walks: it looks no further than the first ancestor on each way up that has labels of the other set "
    "below it; an ancestor that is itself a label of the other set counts as served, which may leave that label "
    "unlinked; of equally near ancestors and equally short ways those declared first are taken, so the order of "
    "classes, of the keys of the hierarchy and of the parents of a node can move the value"
)
_MGIA_EQUATION = r"\frac{1}{n}\sum_{i=1}^{n} \left(1-\frac{e_{i}}{E\,|P_{i}\,\triangle\,Y_{i}|}\right)"
_SOURCE = (
    "Kosmopoulos, Partalas, Gaussier, Paliouras and Androutsopoulos 2015, Evaluation measures for hierarchical "
    "classification: a unified view and novel approaches; as HEMKit computes it"
)
_HEMKIT_NOTE = (
    "the same with count_root=true,redundant=remove,one_empty=skip, given its maximum distance is out of reach and "
    "its node numbers follow the order of the classes: its ties depend on the numbers. Of equally short ways up it "
    "takes one that passes other labels, here the one declared first is taken: this differs only where nodes have "
    "several parents"
)
_REDUNDANT_PARAM = Param(
    name="redundant",
    kind="choice",
    meaning="what labels do that are ancestors of another label of the same set",
    default="keep",
    values=("keep", "remove"),
    value_meanings=(
        "labels that are ancestors of another label of the same set stay",
        "labels that are ancestors of another label of the same set are dropped first",
    ),
)
_LINKS_PARAM = Param(
    name="links",
    kind="choice",
    meaning="which links join the two sets",
    default="minimal",
    values=("minimal", "hemkit"),
    value_meanings=(_MINIMAL_MEANING, _HEMKIT_MEANING),
)


def _register_lca(key: str, short: str, compute: Compute, terms: tuple[str, str], value: str) -> None:
    """One of the three measures; `terms` are numerator and denominator for one instance."""
    register(
        Metric(
            key=key,
            name=f"lowest common ancestor {key.removeprefix('lca_')}",
            names=(short,),
            equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \frac{{{terms[0]}}}{{{terms[1]}}}",
            tasks=TASK_KINDS,
            needs=(LABELS, HIERARCHY),
            direction="higher",
            granularity=CONFUSION,
            range=UNIT_RANGE,
            params=(COUNT_ROOT_PARAM, _LINKS_PARAM, _REDUNDANT_PARAM),
            options=(*EMPTY_SET_OPTIONS, *LABEL_SET_OPTIONS),
            properties=Properties(symmetric=key == "lca_f1", prevalence_sensitive=True),
            source=_SOURCE,
            example=hierarchy_example(value),
            compute=compute,
            symbols={
                "P\u0303_i": f"predicted labels of instance i {_LINKED_MEANING}",
                "Y\u0303_i": f"gold labels of instance i {_LINKED_MEANING}",
            },
            peers={"HEMKit": _HEMKIT_NOTE},
        )
    )


_register_lca("lca_precision", "LCA-P", lca_precision, (_SHARED_LATEX, r"|\tilde{P}_{i}|"), "2/3")
_register_lca("lca_recall", "LCA-R", lca_recall, (_SHARED_LATEX, r"|\tilde{Y}_{i}|"), "5/6")
_register_lca("lca_f1", "LCA-F", lca_f1, (rf"2\,{_SHARED_LATEX}", r"|\tilde{P}_{i}|+|\tilde{Y}_{i}|"), "13/18")
register(
    Metric(
        key="mgia",
        name="multi-label graph-induced accuracy",
        names=("MGIA",),
        equation=_MGIA_EQUATION,
        tasks=TASK_KINDS,
        needs=(LABELS, HIERARCHY),
        direction="higher",
        granularity=CONFUSION,
        range=(-1.0, 1.0),
        params=(
            COUNT_ROOT_PARAM,
            Param(
                name="max_error",
                kind="whole",
                meaning="the error of a label without a counterpart that is nearer",
                default="5",
                bounds=(1, 1_000_000),
            ),
        ),
        options=(*EMPTY_SET_OPTIONS, *LABEL_SET_OPTIONS),
        properties=Properties(symmetric=True, prevalence_sensitive=True, ordinal=True),
        source=_SOURCE,
        example=hierarchy_example("11/15"),
        compute=mgia,
        symbols={
            "e_i": "steps between the matched labels of instance i, with E for each label without a match",
            "E": "the largest error of a label, max_error",
        },
        peers={
            "HEMKit": "the same with count_root=true and max_error as its last argument, given its node numbers follow "
            "the order of the classes; of equally long matches it drops the one with the larger predicted label, here "
            "it is the one with the larger label on either side, so that gold and predictions may change places"
        },
        equation_of_call=lambda call: _MGIA_EQUATION.replace("E", call.params["max_error"]),
    )
)
