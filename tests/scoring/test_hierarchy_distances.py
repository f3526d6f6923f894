"""Shortest ways in a hierarchy: right lengths by either search, in steps that no gold label can move, or no value at all."""

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest

from app.scoring.hierarchy import distances
from app.scoring.hierarchy.ancestor_paths import Ancestry, HierarchyCostLimitError
from app.scoring.hierarchy.distances import HierarchyDistances
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.scoring.metrics.hierarchies.hierarchy_inputs import TOO_FAR_REASON
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results

Parents = dict[str, list[str]]


def ladder(size: int) -> Parents:
    return {f"n{at}": [f"n{at - up}" for up in (1, 2) if at >= up] for at in range(1, size)}


def chain(size: int) -> Parents:
    return {f"n{at}": [f"n{at - 1}"] for at in range(1, size)}


def ring(size: int) -> Parents:
    return chain(size) | {f"n{size - 1}": [f"n{size - 2}", "n0"]}


def bushy(size: int, seed: int, most_depth: int = 18) -> Parents:
    """A third of the nodes have two parents, some nodes very many children."""
    random, depth, parents = Random(seed), [0], {}
    for at in range(1, size):
        above = int(at * random.random() ** 3)
        while depth[above] == most_depth:
            above = random.randrange(at)
        depth.append(depth[above] + 1)
        parents[f"n{at}"] = [f"n{one}" for one in dict.fromkeys([above, random.randrange(at)][: 1 + (at % 3 == 0)])]
    return parents


def nodes(size: int) -> list[str]:
    return [f"n{at}" for at in range(size)]


def distances_in(parents: Parents, classes: list[str]) -> HierarchyDistances:
    return HierarchyDistances(Ancestry(Hierarchy.from_parents(parents), classes, joined=False))


def breadth_first_distances(parents: Parents, classes: list[str], start: str) -> list[int]:
    """The steps to all classes by a search in all directions."""
    near: dict[str, list[str]] = {name: [] for name in classes}
    for child, above in parents.items():
        for parent in above:
            near[child].append(parent)
            near[parent].append(child)
    found, row = {start: 0}, [start]
    for node in row:  # grows while it is read
        fresh = [other for other in near[node] if other not in found]
        found.update(dict.fromkeys(fresh, found[node] + 1))
        row += fresh
    return [found.get(name, -1) for name in classes]


@pytest.mark.parametrize("cost", ["_SECONDS_PER_LEVEL", "_SECONDS_PER_STEP"])
@pytest.mark.parametrize(
    "parents", [bushy(150, 1), bushy(150, 2), ladder(150), ring(150), chain(150), bushy(75, 3) | {"n149": ["n148"]}]
)
def test_either_search_finds_the_shortest_ways(parents: Parents, cost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, cost, 1.0)  # so that the other search is taken
    monkeypatch.setattr(distances, "_MAX_SECONDS", np.inf)
    classes = nodes(150)
    parents = {name: [] for name in classes} | parents
    starts, ends = (grid.ravel() for grid in np.meshgrid(np.arange(150), np.arange(150), indexing="ij"))
    found = distances_in(parents, classes).between(starts + 1, ends + 1, len(starts))
    assert found.reshape(150, 150).tolist() == [breadth_first_distances(parents, classes, start) for start in classes]


def count_lines_run(work: Callable[[], object]) -> int:
    """How many lines of the search and of the walks up are run."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith(("scoring/distances.py", "scoring/ancestry.py")):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@for_each("parents", [chain(300), ring(300), ladder(300), bushy(300, 1)])
@for_each("rows", [1, 40])
def test_what_an_instance_costs_tells_nothing_of_its_gold_label(parents: Parents, rows: int) -> None:
    classes = nodes(300)
    fixed = [f"n{7 * at}" for at in range(rows)]

    def cost(label: str) -> int:
        of = case("multiclass", classes, [label, *fixed[1:]], ["n299", *fixed[1:]], hierarchy=parents)
        return count_lines_run(lambda: results(of, ["tree_induced_error"]))

    assert len({cost(label) for label in ("n0", "n3", "n150", "n298", "n299")}) == 1


def test_where_some_files_would_take_too_long_none_has_a_value() -> None:
    classes, n = nodes(4000), 10_000
    gold = [classes[at % 4000] for at in range(n)]
    for predicted in (gold, ["n0"] * n):
        found = evaluate_metric(
            case("multiclass", classes, gold, predicted, hierarchy=ladder(4000)), "tree_induced_error"
        )
        assert (found.value, found.reason) == (None, TOO_FAR_REASON)
    of = case("multiclass", classes, gold[:100], ["n0"] * 100, hierarchy=ladder(4000))
    found = evaluate_metric(of, "tree_induced_error")
    assert found.value == sum((at + 1) // 2 for at in range(100)) / 100


def test_no_order_of_declaration_decides_whether_there_is_a_value() -> None:
    parents, classes = (
        bushy(400, 5) | {f"m{at}": [f"m{at - 1}", f"m{max(0, at - 2)}"][: min(at, 2)] for at in range(1, 60)},
        nodes(400),
    )
    random, seen = Random(1), set()
    for _ in range(5):
        keys, own = list(parents), classes.copy()
        random.shuffle(keys)
        random.shuffle(own)
        again = distances_in({key: random.sample(parents[key], len(parents[key])) for key in keys}, own)
        seen.add(tuple(again.seconds(n) for n in (1, 10, 100, 1000, 100_000)))
    assert len(seen) == 1


@pytest.mark.ci
def test_large_flat_hierarchies_have_values() -> None:
    of = distances_in(bushy(40_000, 4), nodes(40_000))
    assert of.between(np.array([40_000]), np.array([40_000]), 10_000).tolist() == [0]
    deep = distances_in(ladder(40_000), nodes(40_000))
    with pytest.raises(HierarchyCostLimitError):
        deep.between(np.array([1]), np.array([1]), 10_000)
    forest = distances_in(chain(40_000), nodes(40_000))
    assert forest.between(np.array([1, 40_000]), np.array([40_000, 20_000]), 10_000_000).tolist() == [39_999, 20_000]
