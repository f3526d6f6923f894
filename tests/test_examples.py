"""The digits example is whole, comes from where it says, and holds systems of believable quality."""

import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score

DIGITS = Path(__file__).resolve().parents[1] / "examples" / "digits"
CLASSES = json.loads((DIGITS / "classes.json").read_text(encoding="utf-8"))
CHALLENGE: dict[str, Any] = yaml.safe_load((DIGITS / "challenge.yaml").read_text(encoding="utf-8"))
SYSTEMS: list[dict[str, Any]] = yaml.safe_load((DIGITS / "systems.yaml").read_text(encoding="utf-8"))
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system["team"])


def text(name: str) -> str:
    return gzip.decompress((DIGITS / name).read_bytes()).decode()


def gold() -> dict[str, str]:
    records = [json.loads(line) for line in text("gold.jsonl.gz").splitlines()]
    assert all(record.keys() == {"id", "label"} for record in records)
    assert len({record["id"] for record in records}) == len(records)
    return {record["id"]: record["label"] for record in records}


def read(system: dict[str, Any]) -> tuple[list[str], list[str], list[list[float]] | None]:
    """Ids, labels and probabilities by class, read with nothing but the standard library."""
    content = text(system["file"])
    match system["format"]:
        case "CSV":
            rows = list(csv.DictReader(io.StringIO(content), strict=True))
            return [row["id"] for row in rows], [row["label"] for row in rows], None
        case "JSON map":
            pairs: list[tuple[str, str]] = json.loads(content, object_pairs_hook=list)
            return [i for i, _ in pairs], [y for _, y in pairs], None
        case "JSON columns":
            columns = json.loads(content)
            assert columns["classes"] == CLASSES
            return columns["ids"], columns["labels"], columns["scores"]
        case "JSON Lines":
            lines = [json.loads(line) for line in content.splitlines()]
            return [r["id"] for r in lines], [r["label"] for r in lines], [r["scores"] for r in lines]
        case "JSON records":
            records = json.loads(content)["predictions"]
            scores = [[r["scores"][label] for label in CLASSES] for r in records]
            assert all(len(r["scores"]) == len(CLASSES) for r in records)
            return [r["id"] for r in records], [r["label"] for r in records], scores
    raise AssertionError(system["format"])


def test_five_systems_in_five_formats_and_at_least_three_with_probabilities() -> None:
    assert len(SYSTEMS) == 5
    for field in ("file", "format", "team", "method", "description"):
        assert len({system[field] for system in SYSTEMS}) == 5
    assert sum(system["probabilities"] for system in SYSTEMS) >= 3
    assert {system["media_type"] for system in SYSTEMS} == {"application/json", "application/x-ndjson", "text/csv"}


def test_the_gold_is_half_of_scikit_learns_digits_under_the_labels_that_they_have_there() -> None:
    _, digits = load_digits(return_X_y=True)
    labels = gold()
    assert len(labels) == 899
    assert list(labels) == sorted(labels)
    for identifier, label in labels.items():
        row = int(identifier.removeprefix("digit-"))
        assert identifier == f"digit-{row:04d}"
        assert label == str(digits[row])


def test_training_frequencies_count_exactly_the_images_that_are_not_in_the_gold() -> None:
    _, digits = load_digits(return_X_y=True)
    left = Counter(str(digit) for digit in digits) - Counter(gold().values())
    assert json.loads((DIGITS / "train_frequencies.json").read_text(encoding="utf-8")) == dict(left)


@each_system
def test_a_system_predicts_every_gold_instance_once_within_the_classes(system: dict[str, Any]) -> None:
    ids, labels, _ = read(system)
    assert ids == list(gold())
    assert set(labels) <= set(CLASSES)


@each_system
def test_probabilities_are_distributions_and_the_label_is_their_first_maximum(system: dict[str, Any]) -> None:
    _, labels, scores = read(system)
    assert (scores is not None) is system["probabilities"]
    for label, row in zip(labels, scores or (), strict=scores is not None):
        assert len(row) == len(CLASSES)
        assert all(0 <= p <= 1 and round(p, 6) == p for p in row)
        assert abs(sum(row) - 1) <= len(CLASSES) * 1e-6
        assert label == CLASSES[row.index(max(row))]


@each_system
def test_macro_f1_of_a_system_by_scikit_learn_is_far_above_chance_and_below_perfect(system: dict[str, Any]) -> None:
    truth = gold()
    ids, labels, _ = read(system)
    value = f1_score([truth[i] for i in ids], labels, labels=CLASSES, average="macro")
    assert 0.7 < value < 0.99


def test_the_systems_are_different_from_one_another() -> None:
    assert len({tuple(read(system)[1]) for system in SYSTEMS}) == 5


def test_the_challenge_asks_for_both_macro_f1s_and_accuracy_over_the_ten_classes() -> None:
    recipe = CHALLENGE["recipe"]
    assert CHALLENGE["slug"] == "digits"
    assert CHALLENGE["task"] == "multiclass"
    assert CHALLENGE["classes"] == CLASSES == sorted(set(gold().values()))
    assert recipe["primary"] == "f1_macro"
    assert {"f1_macro", "f1_of_averages_macro", "accuracy"} <= set(recipe["metrics"])
    assert [phase["name"] for phase in CHALLENGE["phases"]] == ["main"]


def test_licence_and_source_are_named_where_the_data_is_and_where_it_is_shown() -> None:
    notices = (DIGITS / "README.md", DIGITS / "challenge.yaml", DIGITS.parents[1] / "NOTICE")
    for notice in notices:
        words = " ".join(notice.read_text(encoding="utf-8").split())
        assert "CC BY 4.0" in words
        assert "10.24432/C50P49" in words
        assert "Alpaydin" in words


def test_the_readme_names_every_file_of_the_example() -> None:
    readme = (DIGITS / "README.md").read_text(encoding="utf-8")
    for path in DIGITS.iterdir():
        assert path.name in ("README.md", "__pycache__") or f"`{path.name}`" in readme


def test_the_example_stays_small_and_its_gzip_headers_carry_neither_name_nor_time() -> None:
    files = [path for path in DIGITS.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 400_000
    for path in files:
        if path.suffix == ".gz":
            header = path.read_bytes()[:10]
            assert header[3] == 0  # no flags: no file name, no comment
            assert header[4:8] == bytes(4)  # no time
