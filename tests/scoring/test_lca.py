"""Label sets joined at their lowest common ancestors: against an oracle, by hand, and properties."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.hierarchy.ancestor_paths import VIRTUAL_ROOT, Ancestry
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.scoring.hierarchy.lca_hemkit import augment_to_lcas, graph_induced_error, remove_ancestors
from app.scoring.metrics.hierarchies.hierarchy_inputs import TOO_LARGE_REASON
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results, value
from tests.scoring.hierarchy_oracle import HierarchyOracle, Labels, Parents, drawn_hierarchy, label_sets

MANY = settings(max_examples=120, deadline=None)
# 10 above 20 and 30, which stand above 1 and 2, 4 and 5
SMALL = {"1": ["20"], "2": ["20"], "4": ["30"], "5": ["30"], "20": ["10"], "30": ["10"]}
NODES = ["1", "2", "4", "5", "10", "20", "30"]


def ancestry_of(parents: Parents, classes: Sequence[str], *, joins: bool = True) -> Ancestry:
    return Ancestry(Hierarchy.from_parents(parents), classes, joined=joins)


def numbered(labels: Iterable[str], classes: Sequence[str]) -> frozenset[int]:
    return frozenset(classes.index(label) + 1 for label in labels)


def named(nodes: Iterable[int], classes: Sequence[str]) -> Labels:
    return frozenset("" if node == VIRTUAL_ROOT else classes[node - 1] for node in nodes)


def meet(parents: Parents, gold: str, predicted: str, *, joins: bool = False) -> tuple[str, str]:
    """Both joined sets, names in order."""
    sets = numbered(gold.split(), NODES), numbered(predicted.split(), NODES)
    found = [
        sorted(named(side, NODES), key=NODES.index)
        for side in augment_to_lcas(sets, ancestry_of(parents, NODES, joins=joins))
    ]
    return " ".join(found[0]), " ".join(found[1])


@pytest.mark.parametrize("most_parents", [1, 3])
@pytest.mark.parametrize("joins", [False, True])
@given(data=st.data())
@MANY
def test_it_is_the_same_as_with_all_ways_written_out(most_parents: int, joins: bool, data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=most_parents))
    gold, predicted = data.draw(label_sets(classes)), data.draw(label_sets(classes))
    found = augment_to_lcas(
        (numbered(gold, classes), numbered(predicted, classes)), ancestry_of(parents, classes, joins=joins)
    )
    slow = HierarchyOracle(parents, classes, joined=joins)
    assert tuple(named(side, classes) for side in found) == slow.joined(gold, predicted)


@given(data=st.data())
@MANY
def test_gold_and_prediction_may_change_places(data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=2))
    ancestry = ancestry_of(parents, classes)
    one, other = (numbered(data.draw(label_sets(classes)), classes) for _ in range(2))
    assert augment_to_lcas((one, other), ancestry) == augment_to_lcas((other, one), ancestry)[::-1]
    assert graph_induced_error((one, other), 5, ancestry) == graph_induced_error((other, one), 5, ancestry)
    assert augment_to_lcas((one, one), ancestry) == (set(one), set(one))
    assert graph_induced_error((one, one), 5, ancestry) == 0


@given(data=st.data())
@MANY
def test_one_label_each_meets_at_the_lowest_common_ancestor(data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=1))
    gold, predicted = data.draw(st.sampled_from(classes)), data.draw(st.sampled_from(classes))
    (mine,), (theirs,) = (HierarchyOracle(parents, classes, joined=True).ways(label) for label in (gold, predicted))
    up = next(at for at, node in enumerate(mine) if node in theirs)
    down = theirs.index(mine[up])
    of = case("multiclass", classes, [gold], [predicted], hierarchy=parents)
    assert value(of, "lca_precision", count_root="true") == 1 / (down + 1)
    assert value(of, "lca_recall", count_root="true") == 1 / (up + 1)
    assert value(of, "tree_induced_error", count_root="true") == up + down


@given(data=st.data())
@MANY
def test_ancestors_of_other_labels_are_redundant(data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=3))
    labels = data.draw(label_sets(classes))
    slow = HierarchyOracle(parents, classes, joined=False)
    proper = {node for label in labels for node in slow.with_ancestors(frozenset([label])) if node != label}
    found = remove_ancestors(numbered(labels, classes), ancestry_of(parents, classes))
    assert named(found, classes) == labels - proper


def test_sets_meet_where_they_are_nearest() -> None:
    assert meet(SMALL, "1 4 5", "2 4") == ("1 4 5 20 30", "2 4 20 30")
    assert meet(SMALL, "1", "4") == ("1 10 20", "4 10 30")
    assert meet(SMALL, "1 4", "1 4") == ("1 4", "1 4")
    assert meet(SMALL, "20", "1") == ("20", "1 20")


def test_labels_of_different_trees_are_left_alone_or_meet_in_the_root() -> None:
    trees = {"1": ["20"], "4": ["30"]}
    classes = ["1", "4", "20", "30"]
    sets = numbered("1", classes), numbered("4", classes)
    assert augment_to_lcas(sets, ancestry_of(trees, classes, joins=False)) == (set(sets[0]), set(sets[1]))
    apart = case("multiclass", classes, ["1"], ["4"], hierarchy=trees)
    assert value(apart, "lca_f1") == 0
    assert value(apart, "lca_f1:count_root=true") == float(Fraction(1, 3))


def test_of_equal_ancestors_the_one_declared_first_stays() -> None:
    both = {"1": ["20", "30"], "2": ["20", "30"]}
    assert meet(both, "1", "2") == ("1 20", "2 20")
    turned = ["1", "2", "30", "20"]
    found = augment_to_lcas((numbered("1", turned), numbered("2", turned)), ancestry_of(both, turned))
    assert named(found[0], turned) == {"1", "30"}


def test_of_equal_ways_the_one_over_nodes_declared_first_is_taken() -> None:
    ladder = {"1": ["20", "30"], "20": ["10"], "30": ["10"], "4": ["10"]}
    assert meet(ladder, "1", "4") == ("1 10 20", "4 10")
    assert meet({**ladder, "1": ["30", "20"]}, "1", "4") == ("1 10 20", "4 10")


def test_the_choice_of_ancestors_ends_early_as_in_hemkit() -> None:
    # the prediction 5 is itself the ancestor of 3: counted twice as served, it leaves 7 unlinked
    tree = {"1": ["6"], "7": ["1"], "5": ["1"], "2": ["5"], "4": ["6"], "3": ["5"], "6": []}
    classes = list("1234567")
    gold, predicted = augment_to_lcas((numbered("347", classes), numbered("5", classes)), ancestry_of(tree, classes))
    assert (named(gold, classes), named(predicted, classes)) == (frozenset("34567"), frozenset("156"))


def test_redundant_labels_are_kept_or_dropped_first() -> None:
    of = case("multilabel", NODES, [["1", "20", "10"]], [["1"]], hierarchy=SMALL)
    assert value(of, "lca_recall") == 1
    assert value(of, "lca_recall:redundant=remove") == 1
    apart = case("multilabel", NODES, [["1", "20"]], [["4"]], hierarchy=SMALL)
    kept, removed = results(apart, ["lca_recall", "lca_recall:redundant=remove"]).values()
    assert (kept.value, removed.value) == (1 / 3, 1 / 3)
    assert meet(SMALL, "1 20", "4") == ("1 10 20", "4 10 30")


def test_matches_by_hand() -> None:
    def error(gold: str, predicted: str, most: int = 5) -> int:
        sets = numbered(gold.split(), NODES), numbered(predicted.split(), NODES)
        return graph_induced_error(sets, most, ancestry_of(SMALL, NODES))

    assert error("1", "2") == 2
    assert error("1", "4") == 4
    assert error("1", "4", 4) == 8  # each label for itself: too far from the other
    assert error("1 5", "2 4") == 4  # two pairs, matched once each
    assert error("1", "") == 5
    assert error("1 2 4", "1") == 2 + 4  # matched with a label that is right already


def test_mgia_by_hand() -> None:
    of = case("multilabel", NODES, [["1"], ["1"], ["1"], []], [["2"], ["4"], [], []], hierarchy=SMALL)
    assert [value(of.take(np.array([row])), "mgia") for row in range(4)] == [0.8, 0.6, 0, 1]
    assert value(of, "mgia:max_error=3") == 5 / 12
    assert value(of, "mgia", one_empty="skip", both_empty="skip") == 0.7


def test_mgia_may_be_negative_as_in_hemkit() -> None:
    # 3 and 10 are too far from 4, but 4 not from 3 and 10, so that the two cost more than the largest error
    tree = {
        "9": ["8"],
        "5": ["8"],
        "3": ["9"],
        "7": ["9"],
        "10": ["9"],
        "2": ["10"],
        "4": ["7"],
        "1": ["4"],
        "6": ["4"],
    }
    of = case("multilabel", [str(at) for at in range(1, 11)], [["10", "3"]], [["8", "4"]], hierarchy=tree)
    assert value(of, "mgia:max_error=3") == -1 / 12


@for_each("key", ["lca_f1", "mgia"])
def test_what_would_take_too_long_is_refused_at_once(key: str) -> None:
    inner = [f"s{at}" for at in range(20_000)]
    leaves = [f"{side}{at}" for side in "gp" for at in range(3000)]
    comb = {leaf: [f"s{int(leaf[1:]) + 17_000}"] for leaf in leaves} | {
        f"s{at}": [f"s{at - 1}"] for at in range(1, 20_000)
    }
    of = case("multilabel", leaves + inner, [leaves[:3000]], [leaves[3000:]], hierarchy=comb)
    found = evaluate_metric(of, key)
    assert (found.value, found.reason) == (None, TOO_LARGE_REASON)


def test_matching_is_bounded_apart_from_linking() -> None:
    leaves = [f"c{at}" for at in range(6000)]
    of = case("multilabel", leaves, [leaves[:3000]], [leaves[3000:]], hierarchy={leaf: ["r"] for leaf in leaves})
    assert value(of, "lca_f1") is not None
    assert value(of, "mgia") is None


def test_searches_for_nearest_labels_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    of = case("multilabel", NODES, [["1", "4"]], [["2", "5"]], hierarchy=SMALL)
    assert value(of, "mgia") is not None
    monkeypatch.setattr("app.scoring.hierarchy.ancestor_paths._MAX_VISITED_NODES", 3)
    assert value(of, "mgia") is None
