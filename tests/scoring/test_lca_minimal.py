"""The smallest graphs of linked label sets: against every choice tried, by hand, and in every order."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.scoring.hierarchy.ancestor_paths import Ancestry
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.scoring.hierarchy.lca_minimal import GraphSizes, MinimalGraphFinder
from app.scoring.metrics.hierarchies.hierarchy_inputs import TOO_LARGE_REASON
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, value
from tests.scoring.hierarchy_oracle import drawn_hierarchy, label_sets
from tests.scoring.lca_oracle import LcaOracle, SmallestGraphs

MANY = settings(max_examples=60, deadline=None)
MOST_TRIALS = 3000
Parents = Mapping[str, Sequence[str]]
Labels = frozenset[str]
FAULT = {"n1": ["n0"], "n2": ["n1"], "n3": ["n0"], "n4": ["n1"], "n5": ["n1"]}


def graph_sizes(
    parents: Parents, classes: Sequence[str], gold: Labels, predicted: Labels, *, joins: bool
) -> GraphSizes:
    sets = (frozenset(classes.index(label) + 1 for label in side) for side in (gold, predicted))
    return MinimalGraphFinder(Ancestry(Hierarchy.from_parents(parents), classes, joined=joins)).sizes(
        (next(sets), next(sets))
    )


def agrees(sizes: GraphSizes, graphs: SmallestGraphs) -> bool:
    """Whether both say the same; precision and recall take the graph that is worst for them."""
    worst = max(gold for gold, _ in graphs.sizes), max(predicted for _, predicted in graphs.sizes)
    return (sizes.nodes, sizes.shared, (sizes.gold, sizes.predicted)) == (graphs.nodes, graphs.shared, worst)


@pytest.mark.parametrize("most_parents", [1, 3])
@pytest.mark.parametrize("joins", [False, True])
@given(data=st.data())
@MANY
def test_it_is_the_best_of_all_choices(most_parents: int, joins: bool, data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=most_parents))
    gold, predicted = data.draw(label_sets(classes)), data.draw(label_sets(classes))
    definition = LcaOracle(parents, joined=joins)
    assume(definition.count_graphs(gold, predicted) <= MOST_TRIALS)
    graphs = definition.graphs(gold, predicted)
    assert agrees(graph_sizes(parents, classes, gold, predicted, joins=joins), graphs)


@for_each("most_parents", [1, 2])
def test_it_is_the_best_of_all_choices_where_they_depend_on_each_other(most_parents: int) -> None:
    random, tried, several = Random(most_parents), 0, 0
    for _ in range(400):
        names = [f"n{at}" for at in range(random.randint(12, 22))]
        above = [
            random.sample(names[max(0, at - 9) : at], min(at, random.randint(1, most_parents)))
            for at in range(len(names))
        ]
        parents = dict(zip(names, above, strict=True))
        gold, predicted = (frozenset(random.sample(names[6:], random.randint(2, 5))) for _ in range(2))
        definition = LcaOracle(parents, joined=False)
        if 8 <= definition.count_graphs(gold, predicted) <= MOST_TRIALS:
            graphs = definition.graphs(gold, predicted)
            assert agrees(graph_sizes(parents, names, gold, predicted, joins=False), graphs), (parents, gold, predicted)
            tried += 1
            several += len(graphs.sizes) > 1
    assert tried >= 25
    assert several


def test_an_ancestor_that_is_a_label_does_not_leave_a_label_unlinked() -> None:
    for classes in permutations(["n0", "n1", "n2", "n3", "n4", "n5"]):
        of = case("multilabel", classes, [["n0", "n4", "n5"]], [["n3", "n1"]], hierarchy=FAULT)
        assert value(of, "lca_f1", count_root="true", redundant="remove") == float(Fraction(4, 7))


def test_the_walk_of_hemkit_depends_on_the_order_of_the_classes() -> None:
    orders = list(permutations(["n0", "n1", "n3", "n4", "n5", "n2"]))[::7]
    options = {"count_root": "true", "redundant": "remove", "links": "hemkit"}
    cases = [case("multilabel", order, [["n0", "n4", "n5"]], [["n3", "n1"]], hierarchy=FAULT) for order in orders]
    assert {value(of, "lca_f1", **options) for of in cases} != {float(Fraction(4, 7))}
    assert {value(of, "lca_f1", preset="hemkit") for of in cases} == {value(of, "lca_f1", **options) for of in cases}


def test_the_nearest_counterpart_may_be_over_a_higher_ancestor() -> None:
    # q is four steps below s, which is on the way up from y; p is one step below r, which is above s
    tree = {"y": ["s"], "s": ["r"], "p": ["r"], "a": ["s"], "b": ["a"], "c": ["b"], "q": ["c"]}
    classes = ["y", "p", "q", "s", "r", "a", "b", "c"]
    gold, predicted = frozenset("y"), frozenset("pq")
    # y - s - r - p is linked, and q - c - b - a - s - y: gold y s r, predicted p r q c b a s
    assert graph_sizes(tree, classes, gold, predicted, joins=False) == GraphSizes(3, 7, 2, 10)


def test_precision_and_recall_each_take_the_worst_of_equally_good_graphs() -> None:
    # of y, p is over s (one step up, three down), q over r (two up, two down)
    tree = {"y": ["s"], "s": ["r"], "a": ["s"], "b": ["a"], "p": ["b"], "c": ["r"], "q": ["c"], "z": ["q"], "w": ["p"]}
    classes = sorted({*tree, "r"})
    definition = LcaOracle(tree, joined=False)
    of = case("multilabel", classes, [["y", "p", "q"]], [["p", "q"]], hierarchy=tree)
    graphs = definition.graphs(frozenset("ypq"), frozenset("pq"))
    assert graphs.sizes == frozenset({(4, 5), (5, 4)})
    assert (value(of, "lca_precision"), value(of, "lca_recall"), value(of, "lca_f1")) == (3 / 5, 3 / 5, 2 / 3)


@for_each("count_root", ["false", "true"])
def test_labels_without_a_common_ancestor(count_root: str) -> None:
    of = case("multilabel", ["a", "b", "c"], [["a"], ["a", "c"]], [["b"], ["c"]], hierarchy={"a": [], "b": [], "c": []})
    expected = {"false": (0 + 2 / 3) / 2, "true": (2 / 4 + 4 / 5) / 2}
    assert value(of, "lca_f1", count_root=count_root) == expected[count_root]


def ladder(steps: int) -> tuple[dict[str, list[str]], list[str]]:
    """A graph with 2^steps shortest ways between its two ends."""
    parents = {"bottom": ["l0", "r0"], "other": ["top"]}
    for at in range(steps - 1):
        parents |= {f"{side}{at}": [f"l{at + 1}", f"r{at + 1}"] for side in "lr"}
    parents |= {f"{side}{steps - 1}": ["top"] for side in "lr"}
    return parents, ["bottom", "other", "top", *(f"{side}{at}" for at in range(steps) for side in "lr")]


def test_too_many_choices_are_refused_in_every_order() -> None:
    parents, classes = ladder(24)
    turned = {child: above[::-1] for child, above in reversed(parents.items())}
    for declared, order in ((parents, classes), (turned, classes[::-1])):
        of = case("multilabel", order, [["bottom"]], [["other"]], hierarchy=declared)
        result = evaluate_metric(of, "lca_f1")
        assert (result.value, result.reason) == (None, TOO_LARGE_REASON)
    few, names = ladder(6)
    assert value(case("multilabel", names, [["bottom"]], [["other"]], hierarchy=few), "lca_f1") == 2 / 10


def test_the_bound_is_met_in_all_orders_or_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(5)
    names = [f"n{at}" for at in range(40)]
    parents = {name: random.sample(names[max(0, at - 12) : at], min(at, 2)) for at, name in enumerate(names)}
    sets = [[random.sample(names[10:], 6) for _ in range(6)] for _ in range(2)]

    def has_value(bound: int, seed: int) -> bool:
        monkeypatch.setattr("app.scoring.hierarchy.ancestor_paths._MAX_VISITED_NODES", bound)
        shuffle = Random(seed)
        order = shuffle.sample(names, len(names))
        declared = {name: shuffle.sample(parents[name], len(parents[name])) for name in order}
        rows = shuffle.sample(range(6), 6)
        gold, predicted = ([side[row] for row in rows] for side in sets)
        return value(case("multilabel", order, gold, predicted, hierarchy=declared), "lca_f1") is not None

    low, high = 1, 100_000
    assert has_value(high, 0)
    while high - low > 1:  # the least bound under which there is a value in one order
        middle = (low + high) // 2
        low, high = (low, middle) if has_value(middle, 0) else (middle, high)
    for seed in range(1, 6):
        assert (has_value(high - 1, seed), has_value(high, seed)) == (False, True)
