"""The package `assay` gives the numbers of the command line, takes what people have, and says what is wrong."""

import doctest
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import assay
from tests.cli.run_command import run_assay

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
METRICS = ["accuracy", "f1_macro", "f1_of_averages_macro", "log_loss", "auc_ovr_macro"]


def digits(name: str) -> list[dict[str, Any]]:
    text = gzip.decompress((DIGITS / name).read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def test_the_examples_of_the_page_hold() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 10
    assert found.failed == 0


def test_the_numbers_are_those_of_the_command_line() -> None:
    gold = {row["id"]: row["label"] for row in digits("gold.jsonl.gz")}
    scores = {row["id"]: row["scores"] for row in digits("random_forest.jsonl.gz")}
    classes = json.loads((DIGITS / "classes.json").read_text())
    as_mappings = {
        name: row if isinstance(row, dict) else dict(zip(classes, row, strict=True)) for name, row in scores.items()
    }
    files = DIGITS / "gold.jsonl.gz", DIGITS / "random_forest.jsonl.gz"
    told = run_assay(
        *("score", "--gold", files[0], "--predictions", files[1], "--json", "--ci"),
        *("--classes", DIGITS / "classes.json"),
        *(part for metric in METRICS for part in ("--metric", metric)),
    ).value()
    found = assay.score(gold, as_mappings, metrics=METRICS, classes=classes, ci=True)
    assert dict(found) == told["metrics"]
    assert found.intervals["f1_macro"].to_dict() == told["intervals"]["f1_macro"]


def test_lists_arrays_mappings_and_frames_mean_the_same() -> None:
    gold, predicted = ["a", "b", "b", "a"], ["a", "b", "a", "a"]
    expected = dict(assay.score(gold, predicted, metrics=["f1_macro"]))
    ids = ["w", "x", "y", "z"]
    for one, other in (
        (np.array(gold), np.array(predicted)),
        (dict(zip(ids, gold, strict=True)), dict(zip(ids[::-1], predicted[::-1], strict=True))),
        (pa.table({"id": ids, "label": gold}), pa.table({"id": ids[::-1], "label": predicted[::-1]})),
        (pa.table({"label": gold}), predicted),
    ):
        assert dict(assay.score(one, other, metrics=["f1_macro"])) == expected
    whole = {"a": 0, "b": 1}
    numbers = [np.array([whole[name] for name in side]) for side in (gold, predicted)]
    assert dict(assay.score(*numbers, metrics=["f1_macro"])) == expected


def test_a_matrix_of_scores_needs_the_names_of_its_columns() -> None:
    scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert assay.score(["n", "y"], scores, metrics=["accuracy"], classes=["n", "y"])["accuracy"] == 1
    frame = pa.table({"n": [0.9, 0.2], "y": [0.1, 0.8]})
    assert assay.score(["n", "y"], frame, metrics=["brier_multiclass_sum"])["brier_multiclass_sum"] == pytest.approx(
        0.05
    )
    with pytest.raises(ValueError, match="names of its columns"):
        assay.score(["n", "y"], scores, metrics=["accuracy"])


def test_groups_and_folds_by_position_or_id() -> None:
    gold, predicted = list("abab"), list("abaa")
    by_position = assay.score(gold, predicted, metrics=["f1_cv_mean_macro"], folds=[1, 1, 2, 2])
    by_id = assay.score(gold, predicted, metrics=["f1_cv_mean_macro"], folds={"0": 1, "1": 1, "2": 2, "3": 2})
    assert by_position["f1_cv_mean_macro"] == by_id["f1_cv_mean_macro"] is not None


@pytest.mark.parametrize(
    ("gold", "predicted", "words"),
    [
        (["a"], ["a", "b"], "predictions"),
        (["a", None], ["a", "b"], "gold"),
        ([1.5], [1.5], "gold"),
        (["a", "b"], ["a"], "predictions"),
        ([], [], "gold"),
    ],
)
def test_what_cannot_be_read_is_named(gold: list[object], predicted: list[object], words: str) -> None:
    with pytest.raises(assay.InvalidInput, match=words) as raised:
        assay.score(gold, predicted, metrics=["accuracy"])
    assert raised.value.problems


def test_an_order_draws_itself() -> None:
    gold = ["a", "b"] * 30
    order = assay.order(gold, {"<one>": gold, "two": ["a"] * 60}, metric="accuracy")
    assert order.rows[0]["system"] == "<one>"
    assert "<svg" in order.svg()
    assert order._repr_html_().startswith("<svg")
    assert "&lt;one&gt;" in order.html()
    with pytest.raises(ValueError, match="no systems"):
        assay.order(gold, {})
    assert order.rankings is None


def test_an_order_by_several_metrics_has_their_rankings() -> None:
    gold = ["a"] * 80 + ["b"] * 20
    systems = {"rare": ["a"] * 60 + ["b"] * 40, "common": ["a"] * 90 + ["b"] * 10}
    order = assay.order(gold, systems, metric=["recall_macro", "accuracy"])
    assert [row["system"] for row in order.rows] == ["rare", "common"]
    assert order.rankings is not None
    assert [row["ranks"]["accuracy"] for row in order.rankings["rows"]] == [2, 1]
    assert "Rankings by other metrics" in order.html()
