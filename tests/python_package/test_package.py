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
    with pytest.raises(assay.InvalidInput, match=r"has no better direction.*Choose another metric"):
        assay.order(gold, {"one": gold}, metric="confusion_matrix")
    with pytest.raises(assay.InvalidInput, match="must map names"):
        assay.order(gold, [gold])  # type: ignore[arg-type]


def test_an_order_by_several_metrics_has_their_rankings() -> None:
    gold = ["a"] * 80 + ["b"] * 20
    systems = {"rare": ["a"] * 60 + ["b"] * 40, "common": ["a"] * 90 + ["b"] * 10}
    order = assay.order(gold, systems, metric=["recall_macro", "accuracy"])
    assert [row["system"] for row in order.rows] == ["rare", "common"]
    assert order.rankings is not None
    assert [row["ranks"]["accuracy"] for row in order.rankings["rows"]] == [2, 1]
    assert "Rankings by other metrics" in order.html()


def test_results_are_a_mapping_or_a_frame_of_columns() -> None:
    values = {"one": [1, 1, 0, 1], "two": [1, 0, 0, 1]}
    expected = assay.order_table(values).rows
    assert assay.order_table(pa.table(values)).rows == expected
    by_id = {name: dict(zip("wxyz", row, strict=True)) for name, row in values.items()}
    assert assay.order_table(pa.table({"id": list("wxyz"), **values})).rows == assay.order_table(by_id).rows
    groups = ["g", "g", "h", "h"]
    by_position = assay.order_table(by_id, groups=groups)
    assert by_position.rows == assay.order_table(by_id, groups=dict(zip("wxyz", groups, strict=True))).rows
    assert by_position.report["groups"] == 2
    assert repr(by_position) == f"Order({by_position.conclusion})"


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({}, "no systems"),
        (np.zeros((2, 3)), "no names of systems"),
        ({"one": 0.5, "two": 0.6}, "'one' are float: '0.5'.*not their mean"),
        ({"one": "101"}, "'one' are str"),
        ({"one": [1, 0], "two": [1]}, "'two' has 1 value, the first system 2"),
        ({"one": [1, 0], "two": [1, "x"]}, "system 'two', instance '1' is 'x'"),
        ({"one": [1, 0], "two": [1, None]}, "empty cells.*system 'two', instance '1'"),
        ({"one": {"p": 1}, "two": {"q": 1}}, "'two' has a value for instance 'q'"),
        (pa.table({"id": ["p", "p"], "one": [1, 0]}), "ids are repeated"),
    ],
)
def test_results_that_cannot_be_ordered_are_named(results: Any, words: str) -> None:
    with pytest.raises(assay.InvalidInput, match=words):
        assay.order_table(results)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_group_is_no_group(missing: Any) -> None:
    with pytest.raises(assay.InvalidInput, match="groups are not valid: /1"):
        assay.order_table({"one": [1, 0], "two": [0, 1]}, groups=["g", missing])
    with pytest.raises(assay.InvalidInput, match="groups are not valid: /1"):
        assay.score(["a", "b"], ["a", "b"], metrics=["accuracy"], groups=["g", missing])


def test_names_of_systems_are_text_and_metrics_count_once() -> None:
    order = assay.order(["a", "b"] * 9, {1: ["a"] * 18, 2: ["a", "b"] * 9}, metric=["accuracy", "accuracy"])
    assert [row["system"] for row in order.rows] == ["2", "1"]
    assert order.rankings is None
    assert "<svg" in order.svg()
    with pytest.raises(assay.InvalidInput, match="the name '1'"):
        assay.order(["a"], {1: ["a"], "1": ["a"]})
    with pytest.raises(assay.InvalidInput, match="no metric"):
        assay.order(["a"], {"one": ["a"]}, metric=[])


def test_groups_need_one_for_each_instance() -> None:
    with pytest.raises(assay.InvalidInput, match="`groups` has 1 value for 2 instances"):
        assay.order_table({"one": [1, 0]}, groups=["g"])
    with pytest.raises(assay.InvalidInput, match="`groups` has 3 values for 2 instances"):
        assay.score(["a", "b"], ["a", "b"], metrics=["accuracy"], groups=[1, 2, 3])


@pytest.mark.parametrize("table", ["gold.csv", None, Path("gold.csv"), iter("ab")])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(assay.InvalidInput, match="Give a list"):
        assay.score(["a", "b"], table, metrics=["accuracy"])


class Series:
    """What this package uses of a pandas series."""

    def __init__(self, values: list[str], index: list[int]) -> None:
        self.values, self.index = values, np.array(index)

    def __len__(self) -> int:
        return len(self.values)

    def tolist(self) -> list[str]:
        return self.values


def test_a_series_in_another_order_is_not_matched_by_position() -> None:
    shuffled = Series(["b", "a"], [1, 0])
    with pytest.raises(assay.InvalidInput, match="same index in another order"):
        assay.score(Series(["a", "b"], [0, 1]), shuffled, metrics=["accuracy"])
    assert assay.score(["a", "b"], shuffled, metrics=["accuracy"])["accuracy"] == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metrics": "acc"}, "There is no metric 'acc'"),
        ({"options": {"zero": 1}}, "There is no option 'zero'"),
        ({"class_weights": {"a": "x"}}, "class weights are not valid: /a"),
        ({"cost_matrix": {"a": 1}}, "costs are not valid: /a"),
        ({"groups": ["g", None]}, "groups are not valid: /1"),
    ],
)
def test_settings_that_cannot_be_used_are_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(assay.InvalidInput, match=words):
        assay.score(["a", "b"], ["a", "b"], **given)


def test_a_missing_value_that_json_does_not_know_is_refused() -> None:
    with pytest.raises(assay.InvalidInput, match="object is neither text nor a number"):
        assay.score(["a", object()], ["a", "b"], metrics=["accuracy"])


def test_a_seed_may_be_a_number_and_only_numbers_have_a_difference() -> None:
    labels = ["a", "b"] * 9
    found = [
        assay.score(labels, labels[::-1], metrics=["f1_macro"], ci=True, draw_seed=seed).intervals for seed in (7, "7")
    ]
    assert found[0] == found[1]
    with pytest.raises(assay.InvalidInput, match="'confusion_matrix' is not a single number"):
        assay.compare(labels, labels, labels, metrics=["confusion_matrix"])


def test_an_unknown_argument_is_not_ignored() -> None:
    with pytest.raises(TypeError, match="no argument 'grups'"):
        assay.score(["a", "b"], ["a", "b"], metrics=["accuracy"], grups=[1, 2])


def test_faults_have_their_place_and_number() -> None:
    with pytest.raises(assay.InvalidInput, match=r"\(4 faults\).*at instance '0', instance '1', instance '2', …"):
        assay.score([True] * 4, ["a"] * 4, metrics=["accuracy"])
    with pytest.raises(assay.InvalidInput, match="0 random rounds"):
        assay.compare(["a"], ["a"], ["b"], metrics=["accuracy"], rounds=0)
