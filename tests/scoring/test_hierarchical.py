"""Hierarchical precision, recall and F against sets written out, their settings, and where they have no value."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.hierarchy.ancestor_paths import VIRTUAL_ROOT, Ancestry
from app.scoring.hierarchy.distances import HierarchyDistances
from app.scoring.hierarchy.hierarchy import Hierarchy
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results, value
from tests.scoring.hierarchy_oracle import HierarchyOracle, Labels, drawn_hierarchy, label_sets
from tests.scoring.test_hierarchy_distances import breadth_first_distances

MANY = settings(max_examples=80, deadline=None)
TREE = {"poodle": ["dog"], "beagle": ["dog"], "dog": ["animal"], "cat": ["animal"]}
CLASSES = ["poodle", "beagle", "cat"]


def tree_case(gold: Any, predicted: Any, **more: Any) -> Any:
    return case("multilabel", CLASSES, gold, predicted, hierarchy=TREE, **more)


def exact_measure(part: str, pairs: Sequence[tuple[Labels, Labels]], *, pooled: bool) -> Fraction:
    """The measure of augmented sets of gold and predictions that are not empty."""
    shared = [Fraction(len(gold & predicted)) for gold, predicted in pairs]
    sizes = {
        "precision": [Fraction(len(predicted)) for _, predicted in pairs],
        "recall": [Fraction(len(gold)) for gold, _ in pairs],
        "f1": [Fraction(len(gold) + len(predicted), 2) for gold, predicted in pairs],
    }[part]
    if pooled:
        return sum(shared, Fraction()) / sum(sizes, Fraction())
    return sum((a / b for a, b in zip(shared, sizes, strict=True)), Fraction()) / len(pairs)


@pytest.mark.parametrize("part", ["precision", "recall", "f1"])
@given(data=st.data())
@MANY
def test_values_are_those_of_sets_written_out(part: str, data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=data.draw(st.sampled_from([1, 3]))))
    rows = data.draw(st.lists(st.tuples(label_sets(classes), label_sets(classes)), min_size=1, max_size=5))
    joins, pooled, depth = (
        data.draw(st.booleans()),
        data.draw(st.booleans()),
        data.draw(st.sampled_from([None, 0, 1, 2])),
    )
    slow = HierarchyOracle(parents, classes, joined=joins)
    wanted = exact_measure(
        part, [(slow.with_ancestors(g, depth), slow.with_ancestors(p, depth)) for g, p in rows], pooled=pooled
    )
    of = case("multilabel", classes, [sorted(g) for g, _ in rows], [sorted(p) for _, p in rows], hierarchy=parents)
    text = f"hierarchical_{part}:pooled={str(pooled).lower()},count_root={str(joins).lower()}"
    found = value(of, text + ("" if depth is None else f",max_depth={depth}"))
    assert found == float(wanted)


@given(data=st.data())
@MANY
def test_precision_is_the_recall_of_the_other_side(data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=2))
    there, back = ([sorted(data.draw(label_sets(classes, smallest=0))) for _ in range(3)] for _ in range(2))
    of = case("multilabel", classes, there, back, hierarchy=parents)
    swapped = case("multilabel", classes, back, there, hierarchy=parents)
    for family in ("hierarchical", "lca"):
        assert value(of, f"{family}_precision") == value(swapped, f"{family}_recall")
        assert value(of, f"{family}_f1") == value(swapped, f"{family}_f1")
    assert value(of, "hierarchical_symmetric_difference") == value(swapped, "hierarchical_symmetric_difference")


@given(data=st.data())
@MANY
def test_without_ancestors_it_is_the_measure_of_the_sets_themselves(data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=2))
    there, back = ([sorted(data.draw(label_sets(classes, smallest=0))) for _ in range(3)] for _ in range(2))
    of = case("multilabel", classes, there, back, hierarchy=parents)
    for part in ("precision", "recall", "f1"):
        assert value(of, f"hierarchical_{part}:max_depth=0") == value(of, f"{part}_samples")
        assert value(of, f"hierarchical_{part}:max_depth=0,pooled=true") == value(of, f"{part}_micro")


@given(data=st.data())
@MANY
def test_distances_are_those_of_a_search_in_all_directions(data: st.DataObject) -> None:
    parents, classes = data.draw(drawn_hierarchy(most_parents=data.draw(st.sampled_from([1, 3]))))
    start = data.draw(st.sampled_from(classes))
    ancestry = Ancestry(Hierarchy.from_parents(parents), classes, joined=False)
    others = np.arange(1, len(classes) + 1)
    lengths = HierarchyDistances(ancestry).between(np.full_like(others, classes.index(start) + 1), others, 1)
    assert lengths.tolist() == breadth_first_distances(parents, classes, start)


def test_the_root_may_be_left_out_or_one_added() -> None:
    of = tree_case([["poodle"]], [["beagle"]])
    assert value(of, "hierarchical_f1") == 2 / 3
    assert value(of, "hierarchical_f1:count_root=true") == 3 / 4
    found = evaluate_metric(of, "hierarchical_f1:exclude_root=true")
    assert found.value == 1 / 2
    assert found.notes == ("left out because they are ancestors of every class: animal",)
    dogs = case("multiclass", ["poodle", "beagle", "dog"], ["poodle"], ["dog"], hierarchy=TREE)
    found = evaluate_metric(dogs, "hierarchical_recall:exclude_root=true")
    assert found.notes[0] == "left out because they are ancestors of every class: dog, animal"
    assert found.value == 0  # nothing is left of the prediction: one_empty decides
    alone = case("multiclass", ["poodle"], ["poodle"], ["poodle"], hierarchy=TREE)
    assert value(alone, "hierarchical_f1:exclude_root=true") == 1
    trees = case("multiclass", ["a", "b"], ["a"], ["b"], hierarchy={"a": [], "b": []})
    found = evaluate_metric(trees, "hierarchical_f1:exclude_root=true")
    assert found.notes[0] == "left out because they are ancestors of every class: none"


def test_the_virtual_root_is_within_the_depth_or_not() -> None:
    of = case("multiclass", ["poodle", "cat"], ["poodle"], ["cat"], hierarchy=TREE)
    found = [value(of, f"hierarchical_precision:count_root=true,max_depth={depth}") for depth in (1, 2, 3, 4)]
    assert found == [0, 1 / 3, 2 / 3, 2 / 3]  # cat has animal and the virtual root above it


def test_empty_sets_are_left_to_their_options() -> None:
    of = tree_case([["poodle"], [], ["cat"]], [["poodle"], [], []])
    for key in ("hierarchical_recall", "lca_recall", "mgia"):
        assert value(of, key) == 2 / 3
        assert value(of, key, both_empty="0") == 1 / 3
        assert value(of, key, one_empty="skip") == 1
        assert value(of, key, both_empty="skip") == 1 / 2
    assert value(of, "hierarchical_recall:pooled=true") == 3 / 5
    nothing = tree_case([[], []], [[], ["cat"]])
    found = results(nothing, ["hierarchical_recall:pooled=true,zero_division=skip"])
    assert "0/0" in (next(iter(found.values())).reason or "")
    assert value(nothing, "hierarchical_f1", both_empty="skip", one_empty="skip") is None


def test_labels_outside_the_vocabulary_stand_for_themselves() -> None:
    of = tree_case([["poodle"]], [["poodle", "unicorn"]])
    for family, shared in (("hierarchical", 3), ("lca", 1)):
        assert value(of, f"{family}_precision", unknown_label="count_as_fp") == shared / (shared + 1)
        assert value(of, f"{family}_precision", unknown_label="drop") == 1
    assert value(of, "mgia", unknown_label="count_as_fp") == 0
    lone = case("multiclass", CLASSES, ["cat", "cat"], ["unicorn", None], hierarchy=TREE)
    assert value(lone, "hierarchical_recall", unknown_label="count_as_fp") == 0
    assert value(lone, "tree_induced_error") is None


def test_a_repeated_label_counts_once_and_the_empty_set_may_be_a_class() -> None:
    assert (
        value(tree_case([["poodle"]], [["poodle", "poodle", "cat"]]), "hierarchical_precision", duplicates="multiset")
        == 3 / 4
    )
    of = tree_case([[], ["cat"]], [[], []])
    assert value(of, "hierarchical_recall", empty_label="as_class") == 1 / 2
    assert value(of, "hierarchical_recall:count_root=true", empty_label="as_class") == (1 + 1 / 3) / 2
    assert value(of, "lca_recall:count_root=true", empty_label="as_class") == (1 + 1 / 3) / 2


def test_distances_need_one_label_each_and_one_tree() -> None:
    trees = {"a": ["x"], "b": ["y"]}
    of = case("multiclass", ["a", "b"], ["a", "b"], ["b", "b"], hierarchy=trees)
    found = evaluate_metric(of, "tree_induced_error")
    assert found.reason == "some labels are in different trees; count_root=true joins all trees"
    assert value(of, "tree_induced_error:count_root=true") == 2
    lost = case("multiclass", ["a", "b"], ["a", "b"], [None, "b"], hierarchy=trees)
    found = evaluate_metric(lost, "tree_induced_error")
    assert "no prediction" in (found.reason or "")
    assert value(lost, "tree_induced_error", one_empty="skip") == 0


@for_each("text", ["hierarchical_f1", "lca_f1", "mgia", "tree_induced_error"])
def test_every_class_has_to_be_a_node(text: str) -> None:
    of = case("multiclass", [*CLASSES, "fish"], ["cat"], ["cat"], hierarchy=TREE)
    found = evaluate_metric(of, text)
    assert found.reason == 'class fish is not a node of the hierarchy; list it as a root: "fish": []'
    of = case("multiclass", [*CLASSES, "fish", "bird"], ["cat"], ["cat"], hierarchy=TREE)
    found = evaluate_metric(of, text)
    assert found.reason == "2 classes are not nodes of the hierarchy: fish, bird; list them as roots"
    assert value(case("multiclass", CLASSES, ["cat"], ["cat"]), text) is None


def test_extended_sets_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    gold, predicted = [["poodle"], ["cat", "beagle"], [], ["beagle"]] * 5, [["beagle"], [], ["cat"], ["beagle"]] * 5
    of = tree_case(gold, predicted)
    whole = value(of, "hierarchical_f1")
    monkeypatch.setattr("app.scoring.hierarchy.augmented_sets._BLOCK_NODES", 4)
    assert value(tree_case(gold, predicted), "hierarchical_f1") == whole


@for_each("build", [lambda at: [str(at + 1)], lambda at: [str(at + 1), str(at + 2)]])
def test_deep_hierarchies_are_walked_without_recursion(build: Callable[[int], list[str]]) -> None:
    n = 5_000
    parents = {str(at): build(at) for at in range(n)}
    of = case("multiclass", ["0", "1", "4000"], ["0", "1", "0"], ["1", "1", "4000"], hierarchy=parents)
    found = results(of, ["hierarchical_f1", "lca_f1", "tree_induced_error", "hierarchical_f1:exclude_root=true"])
    assert all(result.value is not None for result in found.values())


@for_each("parents", [1, 2])
def test_the_ancestors_of_every_class_are_found_in_one_pass(parents: int) -> None:
    size = 10_000
    chain = {f"n{at}": [f"n{at - up}" for up in range(1, parents + 1) if at >= up] for at in range(1, size)}
    classes = [f"n{at}" for at in range(size - 2000, size)]
    shared = Ancestry(Hierarchy.from_parents(chain), classes, joined=True).common()
    assert len(shared) == size - 2000 + 1


@given(data=st.data())
@MANY
def test_the_ancestors_of_every_class_are_those_of_each(data: st.DataObject) -> None:
    parents, nodes = data.draw(drawn_hierarchy(most_parents=3))
    classes = data.draw(st.lists(st.sampled_from(nodes), min_size=1, unique=True))
    tree = Ancestry(Hierarchy.from_parents(parents), classes, joined=data.draw(st.booleans()))
    each = set.intersection(*(set(tree.above(label)) for label in tree.classes))
    assert tree.common() == each - ({VIRTUAL_ROOT} if len(classes) > 1 else {VIRTUAL_ROOT, 1})


@pytest.mark.ci
def test_many_labels_deep_in_a_chain_are_refused_at_once() -> None:
    size = 40_000
    chain = {f"n{at}": [f"n{at - 1}"] for at in range(1, size)}
    classes = [f"n{at}" for at in range(size)]
    of = case("multilabel", classes, [classes[-2:]] * 1000, [[name] for name in classes[-2000::2]], hierarchy=chain)
    found = results(of, ["hierarchical_f1", "hierarchical_symmetric_difference"])
    assert {result.reason for result in found.values()} == {
        "the sets are so large, or so deep in the hierarchy, that adding all ancestors would take too long"
    }
    few = case("multilabel", classes, [classes[-2:]], [classes[-3:]], hierarchy=chain)
    assert value(few, "hierarchical_precision") == 1.0
