"""Declared hierarchies: valid ones, invalid ones and their error messages."""

import time
import unicodedata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidContent
from app.scoring.hierarchy.hierarchy import Hierarchy
from tests.each_case import for_each

DIAMOND = {"d": ["b", "c"], "b": ["a"], "c": ["a"]}


def refusal_of(parents: Any) -> InvalidContent:
    with pytest.raises(InvalidContent) as caught:
        Hierarchy.from_parents(parents)
    assert caught.value.status == 422
    assert caught.value.advice
    assert caught.value.extra["errors"]
    return caught.value


def test_nodes_come_in_order_of_declaration() -> None:
    hierarchy = Hierarchy.from_parents(DIAMOND)
    assert hierarchy.nodes == ("d", "b", "c", "a")
    assert hierarchy.parents == ((1, 2), (3,), (3,), ())
    assert hierarchy.parents_of("d") == ("b", "c")
    assert hierarchy.parents_of("a") == ()
    assert [hierarchy.nodes[node] for node in hierarchy.topological_order] == ["a", "b", "c", "d"]


def test_the_declaration_comes_back() -> None:
    for declared in (DIAMOND, {"a": ["b"], "c": ["d"], "b": ["e"]}, {"x": [], "y": ["x"], "z": []}):
        hierarchy = Hierarchy.from_parents(declared)
        assert hierarchy.to_json() == declared
        assert list(hierarchy.to_json()) == list(declared)
        assert Hierarchy.from_parents(hierarchy.to_json()) == hierarchy


def test_classes_that_are_no_nodes() -> None:
    assert Hierarchy.from_parents(DIAMOND).unknown(["z", "a", "d", "y"]) == ["z", "y"]


def test_names_are_compared_after_nfc() -> None:
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    hierarchy = Hierarchy.from_parents({decomposed: ["top"], "x": [composed]})
    assert hierarchy.nodes == (composed, "top", "x")
    assert "listed twice" in refusal_of({composed: ["top"], decomposed: ["top"]}).detail
    assert "twice" in refusal_of({"x": [composed, decomposed]}).detail


def test_a_cycle_is_told_with_its_path() -> None:
    problem = refusal_of({"x": ["a"], "a": ["b"], "b": ["a"]})
    assert "a -> b -> a" in problem.detail
    assert problem.extra["errors"] == [{"pointer": "/parents/a", "detail": "a cycle: a -> b -> a"}]
    assert "a -> a" in refusal_of({"a": ["a"]}).detail
    assert "c -> b -> a -> c" in refusal_of({"c": ["b"], "a": ["c", "top"], "b": ["top", "a"]}).detail


def test_nodes_below_a_cycle_are_not_part_of_its_path() -> None:
    assert refusal_of({"low": ["mid"], "mid": ["r", "s"], "s": ["t"], "t": ["s"]}).detail.endswith(
        "a cycle: s -> t -> s."
    )


def test_where_roots_are_listed_every_parent_has_to_be() -> None:
    problem = refusal_of({"A": [], "B": ["A", "Q"], "C": ["A"]})
    assert "B -> Q, and Q is not listed" in problem.detail
    assert problem.extra["errors"] == [{"pointer": "/parents/B/1", "detail": "B -> Q, and Q is not listed"}]
    assert "list every node" in problem.advice
    assert Hierarchy.from_parents({"B": ["A", "Q"]}).nodes == ("B", "A", "Q")


@for_each(
    "declared, pointer, says",
    [
        ({}, "/parents", "no nodes"),
        ({"": ["a"]}, "/parents/", "empty"),
        ({"a": [""]}, "/parents/a/0", "empty"),
        ({"a": ["b", "b"]}, "/parents/a/1", "twice"),
        ({"a": ["b", 7]}, "/parents/a/1", "not int"),
        ({7: ["b"]}, "/parents/7", "not int"),
        ({"a": "b"}, "/parents/a", "not a list"),
        ({"a": None}, "/parents/a", "not a list"),
        ({"a/b~c": [""]}, "/parents/a~1b~0c/0", "empty"),
    ],
)
def test_faults_are_pointed_to(declared: Any, pointer: str, says: str) -> None:
    (error,) = refusal_of(declared).extra["errors"]
    assert error["pointer"] == pointer
    assert says in error["detail"]


def test_all_faults_come_at_once_but_not_without_end() -> None:
    problem = refusal_of({str(number): [""] for number in range(500)})
    assert "and 499 more problems" in problem.detail
    assert len(problem.extra["errors"]) == 100


def test_a_deep_chain_is_read_in_linear_time() -> None:
    n = 30_000
    began = time.process_time()
    chain = Hierarchy.from_parents({str(number): [str(number + 1)] for number in range(n)})
    assert len(chain.topological_order) == n + 1
    assert time.process_time() - began < 10
    ring = refusal_of({str(number): [str((number + 1) % n)] for number in range(n)})
    assert ring.detail.endswith("8 -> … (29990 more) … -> 29999 -> 0.")


@given(st.dictionaries(st.integers(0, 12), st.lists(st.integers(0, 12), unique=True)))
def test_what_is_taken_has_no_cycle_and_what_is_refused_has_a_fault(drawn: dict[int, list[int]]) -> None:
    declared = {str(child): [str(parent) for parent in above] for child, above in drawn.items()}
    try:
        hierarchy = Hierarchy.from_parents(declared)
    except InvalidContent as problem:
        if "cycle" not in problem.detail:
            return
        steps = problem.detail.rstrip(".").split("a cycle: ")[1].split(" -> ")
        assert steps[0] == steps[-1]
        if "…" not in problem.detail:
            assert all(parent in declared[child] for child, parent in pairwise(steps))
        return
    rank = {node: number for number, node in enumerate(hierarchy.topological_order)}
    assert len(rank) == len(hierarchy.nodes)
    assert all(rank[parent] < rank[child] for child, above in enumerate(hierarchy.parents) for parent in above)
    assert Hierarchy.from_parents(hierarchy.to_json()) == hierarchy
