"""The scores of an archive computed again, and the checks of its files and receipts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.archives.open_archive import open_archive
from app.archives.rescoring import rescore_archive
from app.archives.verification import verify_archive
from app.scoring import SCORER_VERSION
from tests.archives.building import (
    ACCURACIES,
    PREDICTIONS,
    SUBMISSIONS,
    Members,
    file_fields,
    good_members,
    json_lines,
    pack,
    save,
)
from tests.cli.run_command import run_assay


def edited(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """An archive with other rows in one table, whose manifest fits: made by somebody who wants it to be believed."""
    members = good_members()
    rows = [json.loads(line) for line in members[name].splitlines()]
    return pack(members | {name: json_lines([change(row) for row in rows])})


def test_every_score_is_computed_again_to_the_same_digits(tmp_path: Path) -> None:
    with open_archive(save(tmp_path, pack(good_members()))) as archive:
        found = [(each.submission, each.split, each.outcome, each.values) for each in rescore_archive(archive)]
    assert found == [
        (name, split, "same", {"accuracy": value})
        for name, values in zip(SUBMISSIONS, ACCURACIES, strict=True)
        for split, value in values.items()
    ]


def test_a_forged_score_is_found_and_named(tmp_path: Path) -> None:
    def forge(row: dict[str, Any]) -> dict[str, Any]:
        if (row["submission"], row["split"]) == (SUBMISSIONS[0], "private"):
            row["metrics"]["accuracy"]["value"] = 0.5000000000000001
        return row

    path = save(tmp_path, edited("scores.jsonl", forge))
    assert run_assay("archive", "verify", path).status == 0  # hashes alone cannot tell
    result = run_assay("score", "--archive", path, "--json")
    report = json.loads(result.out)
    assert (result.status, report["outcomes"]) == (1, {"same": 5, "different": 1})
    (score,) = (each for each in report["scores"] if each["outcome"] == "different")
    assert score["differences"] == {"accuracy": {"archived": 0.5000000000000001, "computed": 0.5}}
    shown = run_assay("score", "--archive", path)
    assert "archived 0.5000000000000001, computed 0.5" in shown.out
    assert run_assay("score", "--archive", path, "--submission", SUBMISSIONS[1]).status == 0


def with_instances(**changes: Any) -> Members:
    """The members of an archive that holds the classes of its first submission; `changes` are those of an instance."""
    actual = {"t1": "a", "t2": "b", "t3": "a", "t4": "b"}
    instances = [
        {
            "id": name,
            "split": "public" if name < "t3" else "private",
            "predicted": [predicted],
            "actual": [actual[name]],
        }
        for name, predicted in json.loads(PREDICTIONS[0]).items()
    ]
    instances[2] |= changes
    head = {"format": "assay-instances", "version": 1, "submission": SUBMISSIONS[0], "gold_version": 1}
    head |= {"recipe_version": 1, "scorer_version": SCORER_VERSION, "task": "multiclass", "positive_label": None}
    name = f"instances/{SUBMISSIONS[0]}.json"
    members = good_members()
    rows = [json.loads(line) for line in members["submissions.jsonl"].splitlines()]
    rows[0]["instances"] = name
    content = json.dumps(head | {"classes": ["a", "b"], "instances": instances}).encode()
    return members | {name: content, "submissions.jsonl": json_lines(rows)}


def test_the_classes_of_instances_are_made_again_and_compared(tmp_path: Path) -> None:
    path = save(tmp_path, pack(with_instances()))
    report = json.loads(run_assay("score", "--archive", path, "--json").out)
    assert (report["outcomes"], report["instances"]) == ({"same": 6}, {"same": 1})
    assert "1 file of instances: 1 the same digits" in run_assay("score", "--archive", path).out
    for changes in ({"predicted": ["b"]}, {"actual": ["b"]}, {"split": "public"}, {"id": "t9"}, {"weight": 2.0}):
        path = save(tmp_path, pack(with_instances(**changes)))
        assert run_assay("archive", "verify", path).status == 0  # nobody signs them
        result = run_assay("score", "--archive", path)
        assert result.status == 1
        assert f"{SUBMISSIONS[0]} instances: other classes than gold and predictions give" in result.out
        assert "6 scores: 6 the same digits" in result.out


def test_scores_that_no_metric_needs_are_among_the_instances(tmp_path: Path) -> None:
    """The recipe has hard-label metrics alone, and the file gives labels and scores."""
    members = with_instances()
    name = f"instances/{SUBMISSIONS[0]}.json"
    document, rows = json.loads(members[name]), [json.loads(row) for row in members["submissions.jsonl"].splitlines()]
    sent = []
    for place, each in enumerate(document["instances"]):
        each["scores"] = [place / 4, 1 - place / 4]
        scores = dict(zip("ab", each["scores"], strict=True))
        sent.append({"id": each["id"], "label": each["predicted"][0], "scores": scores})
    content = json.dumps(sent).encode()
    rows[0] |= file_fields(content, "json")
    members |= {name: json.dumps(document).encode(), "submissions.jsonl": json_lines(rows)}
    path = save(tmp_path, pack(members | {f"predictions/{SUBMISSIONS[0]}.json": content}))
    report = json.loads(run_assay("score", "--archive", path, "--json").out)
    assert (report["outcomes"], report["instances"]) == ({"same": 6}, {"same": 1})


def test_a_submission_that_names_instances_which_are_not_there_is_an_error(tmp_path: Path) -> None:
    members = with_instances()
    del members[f"instances/{SUBMISSIONS[0]}.json"]
    problem = json.loads(run_assay("score", "--archive", save(tmp_path, pack(members)), "--json").out)
    assert problem["code"] == "invalid_archive"
    assert "no member 'instances/" in problem["detail"]


@pytest.mark.parametrize("name", ["metrics", "extra"])
def test_a_metric_too_few_or_too_many_is_a_difference(tmp_path: Path, name: str) -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"metrics": {} if name == "metrics" else row["metrics"] | {"f1_macro": {"value": 1.0}}}

    with open_archive(save(tmp_path, edited("scores.jsonl", change))) as archive:
        assert {score.outcome for score in rescore_archive(archive)} == {"different"}


def test_scores_of_another_scorer_version_may_differ_and_say_so(tmp_path: Path) -> None:
    def older(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"scorer_version": 1, "metrics": {"accuracy": {"value": 0.25}}}

    path = save(tmp_path, edited("scores.jsonl", older))
    result = run_assay("score", "--archive", path, "--json")
    assert (result.status, json.loads(result.out)["outcomes"]) == (0, {"other_scorer": 6})


BROKEN: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "an unknown gold version": ("scores.jsonl", lambda row: row | {"gold_version": 7}, "no gold version 7"),
    "an unknown recipe": ("scores.jsonl", lambda row: row | {"recipe_version": 7}, "no recipe version 7"),
    "an unknown submission": ("scores.jsonl", lambda row: row | {"submission": "f" * 32}, "is no submission of it"),
    "a text for a number": ("scores.jsonl", lambda row: row | {"gold_version": "1"}, "must be a whole number"),
    "no metrics": ("scores.jsonl", lambda row: row | {"metrics": 1}, "is not a score"),
    "a metric that does not exist": ("recipes.jsonl", lambda row: row | {"body": {"primary": "x"}}, "Recipe version 1"),
    "a recipe that is a list": ("recipes.jsonl", lambda row: row | {"body": []}, "no recipe version 1"),
    "an unknown format": ("gold.jsonl", lambda row: row | {"format": "pickle"}, "unknown format"),
    "an unknown task": ("gold.jsonl", lambda row: row | {"task": "regression"}, "Gold version 1"),
    "metadata that is a text": ("gold.jsonl", lambda row: row | {"metadata": {"folds": "x"}}, "Gold version 1"),
    "a class twice": ("gold.jsonl", lambda row: row | {"classes": ["a", "a"]}, "Gold version 1"),
    "classes without a label": ("gold.jsonl", lambda row: row | {"classes": ["a"]}, "has problems"),
    "a gold file that is not there": ("gold.jsonl", lambda row: row | {"file": "gold/2.csv"}, "no member 'gold/2.csv'"),
    "a path as a file": ("submissions.jsonl", lambda row: row | {"file": "../../x"}, "no member '../../x'"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_rows_that_do_not_fit_are_an_error_that_names_them(tmp_path: Path, what: str) -> None:
    name, change, reason = BROKEN[what]
    result = run_assay("score", "--archive", save(tmp_path, edited(name, change)), "--json")
    problem = json.loads(result.out)
    assert (result.status, problem["code"]) == (1, "invalid_archive")
    assert reason in problem["detail"]


def test_files_are_compared_with_what_was_recorded_when_they_were_uploaded(tmp_path: Path) -> None:
    members = good_members()
    name = f"predictions/{SUBMISSIONS[0]}.json"
    with open_archive(save(tmp_path, pack(members | {name: PREDICTIONS[1]}))) as archive:
        faults = verify_archive(archive).faults
    assert faults == [f"The file of submission {SUBMISSIONS[0]} is not the one that was uploaded: its SHA-256 differs."]


def test_an_order_that_is_not_that_of_acceptance_is_a_fault(tmp_path: Path) -> None:
    path = save(tmp_path, edited("submissions.jsonl", lambda row: row | {"order": 3 - row["order"]}))
    result = run_assay("archive", "verify", path)
    assert result.status == 1
    assert f"Submission {SUBMISSIONS[0]} is not in the order of acceptance." in result.out


def test_gold_and_predictions_are_not_given_beside_an_archive(tmp_path: Path) -> None:
    path = save(tmp_path, pack(good_members()))
    assert run_assay("score", "--archive", path, "--gold", path).status == 2
    assert run_assay("score", "--gold", path, "--submission", SUBMISSIONS[0]).status == 2
    unknown = run_assay("score", "--archive", path, "--submission", "f" * 32, "--json")
    assert (unknown.status, json.loads(unknown.out)["code"]) == (1, "not_found")
