"""Corrections of the gold of real challenges: what changed, and the scores before and after, as accepted files."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from app.formats import FileKind, ReadingRules
from app.gold import Gold, load_gold
from app.gold_difference import compare_gold, new_ids, refusal_to_follow
from app.pipeline import SourceFile, score_predictions
from app.scoring.declaration.metric_parser import parse_metric
from tests.each_case import for_each
from tests.golden.reference_data import ORACLE, challenge_folder, expected_by_system, read_json
from tests.reference_material import needs_shared

pytestmark = needs_shared
CORRECTIONS = {"cifar10-label-errors": "gold_corrections.json", "imagenet-real": "gold_corrections.json.gz"}
METRICS: tuple[str, ...] = (
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "mcc",
    "precision_macro",
    "recall_macro",
    "f1_macro",
)
METRICS += ("precision_weighted", "f1_weighted", "f1_micro")


@cache
def gold_of(name: str, version: str, earlier: str | None = None) -> Gold:
    """A version of the gold, read as one that follows an earlier version."""
    folder = challenge_folder(name)
    known = () if earlier is None else gold_of(name, earlier).template_ids
    source = SourceFile(folder / f"{version}.jsonl.gz", FileKind("jsonl", "gzip"))
    gold, problems = load_gold(source, task="multiclass", classes=read_json(folder / "classes.json"), earlier_ids=known)
    assert gold is not None, problems.to_dict()
    return gold


def prediction_files(name: str) -> list[Path]:
    return sorted((challenge_folder(name) / "predictions").iterdir())


@for_each("name", CORRECTIONS)
def test_the_difference_is_that_of_the_list_of_corrections(name: str) -> None:
    rows = read_json(challenge_folder(name) / CORRECTIONS[name])
    before, after = gold_of(name, "gold"), gold_of(name, "gold_corrected", "gold")
    assert new_ids(after, before) == []
    assert refusal_to_follow(after, before) is None
    found = compare_gold(before, after)
    kinds = Counter("voided" if row["new"] is None else "relabelled" for row in rows)
    assert {"voided": found.voided, "relabelled": found.relabelled} == kinds
    assert (found.restored, found.moved, found.reweighted) == (0, 0, 0)
    listed = {
        change["id"]: (change["before"]["label"], (change["after"] or {}).get("label")) for change in found.changes
    }
    assert listed == {row["id"]: (row["old"], row["new"]) for row in rows}
    assert sum(found.before["all"]) - sum(found.after["all"]) == found.voided
    assert list(after.template_ids) == list(before.template_ids)
    back = compare_gold(after, before)
    assert (back.restored, back.relabelled, back.voided) == (found.voided, found.relabelled, 0)


@for_each("name", CORRECTIONS)
def test_the_scores_before_and_after_are_those_of_the_oracle(name: str) -> None:
    expected = expected_by_system(name)
    calls = {key: parse_metric(key, options=ORACLE, task="multiclass") for key in METRICS}
    for path in prediction_files(name):
        system = path.name.partition(".")[0]
        for version, earlier in (("gold", None), ("gold_corrected", "gold")):
            gold = gold_of(name, version, earlier)
            rules = ReadingRules.strictest(calls.values()).of_accepted_file()
            file = SourceFile(path, FileKind("json", "gzip"))
            outcome = score_predictions(gold, file, list(calls.values()), rules=rules)
            assert not outcome.problems
            assert outcome.empty_predictions == {}
            for key, call in calls.items():
                wanted = expected[system][version][key]
                assert outcome.scores["all"][call.text].value == pytest.approx(wanted, abs=1e-11, rel=0), (system, key)


def test_the_acceptable_answers_of_imagenet_give_the_published_accuracy() -> None:
    gold = gold_of("imagenet-real", "gold_real")
    call = parse_metric("accuracy", task="multiclass")
    for path in prediction_files("imagenet-real"):
        wanted = expected_by_system("imagenet-real")[path.name.partition(".")[0]]["gold_real"]
        rules = ReadingRules.strictest([call]).of_accepted_file()
        outcome = score_predictions(gold, SourceFile(path, FileKind("json", "gzip")), [call], rules=rules)
        assert outcome.scores["all"]["accuracy"].value == pytest.approx(wanted["real_accuracy"], abs=1e-12, rel=0)
        assert (len(gold.ids), len(gold.void)) == (wanted["n"], wanted["n_void"])
