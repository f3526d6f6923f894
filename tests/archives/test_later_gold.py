"""Scores under later gold: the files are read as the service reads files that it accepted before."""

import json
from pathlib import Path
from typing import Any

from app.archives.open_archive import open_archive
from app.archives.rescoring import rescore_archive
from app.scoring import SCORER_VERSION
from tests.archives.building import GOLD, SUBMISSIONS, Members, file_fields, good_members, json_lines, pack, save

LATER = b"id,label\nt1,a\nt2,a\n"


def with_later_gold(received: int) -> Members:
    """The archive with a second gold version, of which the files were received under this one."""
    members = good_members()
    row: dict[str, Any] = json.loads(members["gold.jsonl"])
    later = row | {"version": 2, "file": "gold/2.csv", "void_ids": ["t3", "t4"]} | file_fields(LATER, "csv")
    submissions = [json.loads(line) for line in members["submissions.jsonl"].splitlines()]
    for each in submissions:
        each["received_under"] = {"gold_version": received, "recipe_version": 1, "scorer_version": SCORER_VERSION}
    score = {"submission": SUBMISSIONS[0], "gold_version": 2, "recipe_version": 1, "scorer_version": SCORER_VERSION}
    score |= {"split": "all", "metrics": {"accuracy": {"value": 0.5, "reason": None, "notes": []}}}
    return members | {
        "gold/2.csv": LATER,
        "gold.jsonl": json_lines([row, later]),
        "submissions.jsonl": json_lines(submissions),
        "scores.jsonl": members["scores.jsonl"] + json_lines([score]),
    }


def outcomes(path: Path) -> list[tuple[int, str]]:
    with open_archive(path) as archive:
        return [(each.gold_version, each.outcome) for each in rescore_archive(archive)]


def test_ids_that_became_void_are_left_out_of_later_scores(tmp_path: Path) -> None:
    found = outcomes(save(tmp_path, pack(with_later_gold(1))))
    assert found == [*[(1, "same")] * 6, (2, "same")]


def test_a_file_without_an_id_that_was_void_counts_as_empty_there_and_is_not_refused(tmp_path: Path) -> None:
    members = with_later_gold(2)
    shorter = b'{"t1": "a", "t2": "b"}'
    rows = [json.loads(line) for line in members["submissions.jsonl"].splitlines()]
    rows[0] |= file_fields(shorter, "json")
    members[rows[0]["file"]] = shorter
    scores = [json.loads(line) for line in members["scores.jsonl"].splitlines()]
    halves = {"all": 0.5, "public": 1.0, "private": 0.0}  # t1 and t2 are right, t3 and t4 count as wrong
    for each in scores:
        if each["submission"] == SUBMISSIONS[0] and each["gold_version"] == 1:
            each["metrics"]["accuracy"]["value"] = halves[each["split"]]
    members |= {"submissions.jsonl": json_lines(rows), "scores.jsonl": json_lines(scores)}
    assert set(outcomes(save(tmp_path, pack(members)))) == {(1, "same"), (2, "same")}
    assert GOLD.count(b"\n") == 5
