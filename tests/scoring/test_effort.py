"""What a file may cost in scoring goes by its gold: many more predicted labels have no value, in every split alike."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from app.pipeline import Gold, score_labels
from app.scoring.align import Case, IdIndex
from app.scoring.asked import parse_metric
from app.scoring.lca_minimal import Linking, Sets, Sizes
from app.scoring.metric import Result
from app.scoring.metrics.label_trees import TOO_DEEP, TOO_LARGE
from tests.scoring.build import case, results

CLASSES = [f"c{at}" for at in range(500)]
TREE = {name: [CLASSES[(at - 1) // 3]] for at, name in enumerate(CLASSES) if at}
LINKED = ("lca_f1", "lca_f1:links=hemkit", "lca_f1:redundant=remove", "mgia")


def sets(n: int, size: int, seed: int, classes: Sequence[str] = CLASSES) -> list[list[str]]:
    random = Random(seed)
    return [random.sample(classes, size) for _ in range(n)]


@pytest.mark.parametrize("key", LINKED)
def test_many_more_labels_than_gold_has_are_not_linked(key: str) -> None:
    of = case("multilabel", CLASSES, sets(1000, 1, 1), sets(1000, 80, 2), hierarchy=TREE)
    (found,) = results(of, [key]).values()
    assert (found.value, found.reason) == (None, TOO_LARGE)


@pytest.mark.parametrize("key", [*LINKED, "hierarchical_f1", "levenshtein"])
def test_as_many_labels_as_gold_has_are_always_enough(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for spare in ("effort.SPARE", "effort.SPARE_STEPS", "effort.SPARE_SORTED", "edit_distance._SPARE"):
        monkeypatch.setattr(f"app.scoring.{spare}", 0.0)
    gold, predicted = sets(30, 5, 1, CLASSES[:250]), sets(30, 8, 2, CLASSES[250:])
    (found,) = results(case("multilabel", CLASSES, gold, predicted, hierarchy=TREE), [key]).values()
    assert found.value is not None
    predicted = sets(30, 80, 2, CLASSES[250:])
    (found,) = results(case("multilabel", CLASSES, gold, predicted, hierarchy=TREE), [key]).values()
    assert found.value is None


def test_extended_sets_are_bounded_by_those_of_gold() -> None:
    chain = {f"n{at}": [f"n{at - 1}"] for at in range(1, 2000)}
    deep = [f"n{at}" for at in range(2000)]
    of = case("multilabel", deep, [["n1"]] * 300, sets(300, 40, 3, deep[1000:]), hierarchy=chain)
    (found,) = results(of, ["hierarchical_f1"]).values()
    assert (found.value, found.reason) == (None, TOO_DEEP)


Scored = dict[str, dict[str, Result]]


def scored(n: int, size: int, keys: Sequence[str]) -> tuple[Case, Scored]:
    """The case of all instances, and what each split scores; every second instance is private."""
    of = case("multilabel", CLASSES, sets(n, 2, 4), sets(n, size, 5), hierarchy=TREE)
    splits = (np.arange(n) % 2).astype(np.int8)
    gold = Gold(IdIndex([str(at) for at in range(n)]), of.spec, of.gold, splits)
    return of, score_labels(gold, of.predicted, [parse_metric(key, task="multilabel") for key in keys])


def test_splits_take_the_counts_of_all_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    linked, sizes = [], Linking.sizes

    def counted(self: Linking, of: Sets) -> Sizes:
        linked.append(of)
        return sizes(self, of)

    monkeypatch.setattr(Linking, "sizes", counted)
    keys = ["lca_f1", "lca_recall", "mgia", "lca_f1:links=hemkit"]
    of, found = scored(40, 3, keys)
    assert len([pair for pair in linked if pair[0] != pair[1]]) == 40  # equal ones are those of the best values
    for name, rows in (("all", range(40)), ("public", range(0, 40, 2)), ("private", range(1, 40, 2))):
        alone = results(of.take(np.array(rows)), keys)
        assert [result.value for result in found[name].values()] == [result.value for result in alone.values()]


def test_what_is_too_much_for_all_instances_has_no_value_in_a_split() -> None:
    """Else the half with fewer labels would be computed after all."""
    _, found = scored(900, 80, ["lca_f1", "mgia"])
    assert [[result.value for result in split.values()] for split in found.values()] == [[None, None]] * 3
