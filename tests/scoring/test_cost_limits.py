"""The cost limit depends on the gold: with many more predicted labels there is no value, in each split by itself."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from app.pipeline import Gold, score_labels
from app.scoring.declaration.metric import Result
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput, IdIndex
from app.scoring.hierarchy.lca_minimal import GraphSizes, LabelSetPair, MinimalGraphFinder
from app.scoring.metrics.hierarchies.hierarchy_inputs import TOO_DEEP_REASON, TOO_LARGE_REASON
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results

CLASSES = [f"c{at}" for at in range(500)]
TREE = {name: [CLASSES[(at - 1) // 3]] for at, name in enumerate(CLASSES) if at}
LINKED = ("lca_f1", "lca_f1:links=hemkit", "lca_f1:redundant=remove", "mgia")


def sets(n: int, size: int, seed: int, classes: Sequence[str] = CLASSES) -> list[list[str]]:
    random = Random(seed)
    return [random.sample(classes, size) for _ in range(n)]


@for_each("key", LINKED)
def test_many_more_labels_than_gold_has_are_not_linked(key: str) -> None:
    of = case("multilabel", CLASSES, sets(1000, 1, 1), sets(1000, 80, 2), hierarchy=TREE)
    found = evaluate_metric(of, key)
    assert (found.value, found.reason) == (None, TOO_LARGE_REASON)


@pytest.mark.parametrize("key", [*LINKED, "hierarchical_f1", "levenshtein"])
def test_as_many_labels_as_gold_has_are_always_enough(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for spare in (
        "hierarchy.cost_limit.FREE_SECONDS",
        "hierarchy.cost_limit.FREE_STEPS",
        "hierarchy.cost_limit.FREE_SORTED_NODES",
        "label_set_edit_distance._FREE_SECONDS",
    ):
        monkeypatch.setattr(f"app.scoring.{spare}", 0.0)
    gold, predicted = sets(30, 5, 1, CLASSES[:250]), sets(30, 8, 2, CLASSES[250:])
    found = evaluate_metric(case("multilabel", CLASSES, gold, predicted, hierarchy=TREE), key)
    assert found.value is not None
    predicted = sets(30, 80, 2, CLASSES[250:])
    found = evaluate_metric(case("multilabel", CLASSES, gold, predicted, hierarchy=TREE), key)
    assert found.value is None


@for_each("key", LINKED)
def test_nor_is_one_instance_with_very_many_labels(key: str) -> None:
    """Otherwise the time that a file takes would reveal the label of a private instance."""
    classes = [f"c{at}" for at in range(4000)]
    tree = {name: [classes[(at - 1) // 3]] for at, name in enumerate(classes) if at}
    gold, predicted = sets(300, 2, 1, classes), sets(300, 2, 2, classes)
    of = case("multilabel", classes, gold, predicted, hierarchy=tree)
    assert evaluate_metric(of, key).value is not None
    predicted[7] = classes
    of = case("multilabel", classes, gold, predicted, hierarchy=tree)
    found = evaluate_metric(of, key)
    assert (found.value, found.reason) == (None, TOO_LARGE_REASON)


def test_extended_sets_are_bounded_by_those_of_gold() -> None:
    chain = {f"n{at}": [f"n{at - 1}"] for at in range(1, 2000)}
    deep = [f"n{at}" for at in range(2000)]
    of = case("multilabel", deep, [["n1"]] * 300, sets(300, 40, 3, deep[1000:]), hierarchy=chain)
    found = evaluate_metric(of, "hierarchical_f1")
    assert (found.value, found.reason) == (None, TOO_DEEP_REASON)


Scored = dict[str, dict[str, Result]]


def by_split(of: EvaluationInput, keys: Sequence[str]) -> Scored:
    """What each split scores; every second instance is private."""
    n = of.gold.n
    gold = Gold(IdIndex([str(at) for at in range(n)]), of.spec, of.gold, (np.arange(n) % 2).astype(np.int8))
    return score_labels(gold, of.predicted, [parse_metric(key, task="multilabel") for key in keys])


def test_what_is_counted_for_splits_serves_all_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    linked, sizes = [], MinimalGraphFinder.sizes

    def counted(self: MinimalGraphFinder, of: LabelSetPair) -> GraphSizes:
        linked.append(of)
        return sizes(self, of)

    monkeypatch.setattr(MinimalGraphFinder, "sizes", counted)
    keys = ["lca_f1", "lca_recall", "mgia", "lca_f1:links=hemkit"]
    of = case("multilabel", CLASSES, sets(40, 2, 4), sets(40, 3, 5), hierarchy=TREE)
    found = by_split(of, keys)
    assert len([pair for pair in linked if pair[0] != pair[1]]) == 40  # equal ones are those of the best values
    for name, rows in (("all", range(40)), ("public", range(0, 40, 2)), ("private", range(1, 40, 2))):
        alone = results(of.take(np.array(rows)), keys)
        assert [result.value for result in found[name].values()] == [result.value for result in alone.values()]


def test_whether_a_public_value_exists_is_decided_by_public_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a file just below the limit would reveal private labels one by one."""
    monkeypatch.setattr("app.scoring.hierarchy.cost_limit.FREE_SECONDS", 0.01)
    gold, keys = sets(200, 2, 4), [*LINKED, "hierarchical_f1"]
    predicted = sets(200, 80, 6)
    predicted[::2] = sets(100, 2, 5)
    of = case("multilabel", CLASSES, gold, predicted, hierarchy=TREE)
    found = by_split(of, keys)
    assert [result.value is None for result in found["public"].values()] == [False] * 5
    for key in LINKED:
        assert (found["private"][key].reason, found["all"][key].reason) == (TOO_LARGE_REASON, TOO_LARGE_REASON)


@pytest.mark.parametrize(
    "spare",
    [
        "hierarchy.cost_limit.FREE_SECONDS",
        "hierarchy.cost_limit._MAX_COUNTED_STEPS",
        "hierarchy.cost_limit.FREE_STEPS",
        "label_set_edit_distance._FREE_SECONDS",
    ],
)
def test_what_a_split_may_cost_is_what_it_may_cost_alone(spare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = {name: sorted({CLASSES[(at - 1) // 3], CLASSES[(at - 1) // 4]}) for at, name in enumerate(CLASSES) if at}
    keys = [*LINKED, "hierarchical_f1", "levenshtein"]
    monkeypatch.setattr("app.scoring.hierarchy.cost_limit.GOLD_COST_FACTOR", 0.0)
    monkeypatch.setattr("app.scoring.label_set_edit_distance._GOLD_COST_FACTOR", 0.0)
    seen = set()
    for at in (1, 5, 11):
        most = {
            "hierarchy.cost_limit.FREE_SECONDS": at / 600,
            "hierarchy.cost_limit._MAX_COUNTED_STEPS": at * 250,
            "hierarchy.cost_limit.FREE_STEPS": at * 1000,
        }
        monkeypatch.setattr(f"app.scoring.{spare}", most.get(spare, at / 2e4))
        of = case("multilabel", CLASSES, sets(20, 3, 4), sets(20, 12, 5), hierarchy=graph)
        found = by_split(of, keys)
        for name, rows in (("public", range(0, 20, 2)), ("private", range(1, 20, 2))):
            alone = results(of.take(np.array(rows)), keys)
            assert [one.value for one in found[name].values()] == [one.value for one in alone.values()]
        seen.add(tuple(result.value is None for split in found.values() for result in split.values()))
    assert len(seen) > 1 or spare == "hierarchy.cost_limit._MAX_COUNTED_STEPS"
