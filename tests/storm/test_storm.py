"""A short storm on each database loses nothing, doubles nothing and gets nothing wrong; and the verdict can tell."""

import math
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.live_service import ROOT
from tests.postgres import OwnPostgresServer
from tests.storm.consistency import ConsistencyReport, check_consistency
from tests.storm.deployments import SHORT_LEASES, deploy_on_postgresql, deploy_on_sqlite
from tests.storm.fault_injection import ACTIONS_BY_DATABASE, SHORT_SCHEDULE
from tests.storm.stored_rows import Row, StoredRows
from tests.storm.storm import CAPS, StormResult, report, run_storm

pytestmark = pytest.mark.ci

POSTS = 80
SEED = 7


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StormResult]:
    """What a storm on SQLite left."""
    with deploy_on_sqlite(tmp_path_factory.mktemp("storm"), SHORT_LEASES) as site:
        yield run_storm(site, SEED, POSTS, SHORT_SCHEDULE)


def assert_harmless(outcome: StormResult) -> None:
    """The storm did happen, and did no harm."""
    assert outcome.verdict.clean, report(outcome)
    line = outcome.line
    assert line["acknowledged"] == POSTS
    assert line["repeated"] > 0
    assert set(line["statuses"]) == {"finished", "rejected"}, report(outcome)
    assert line["actions"]["kill_child"] > 0  # each had been sent a request
    assert line["interruptions"] + line["crashes"] > 0
    assert sum(line["actions"].values()) > 2


def test_a_storm_on_sqlite_does_no_harm(after: StormResult) -> None:
    assert_harmless(after)


def test_a_storm_on_postgresql_does_no_harm(own_postgres: OwnPostgresServer, tmp_path: Path) -> None:
    with deploy_on_postgresql(tmp_path, own_postgres, SHORT_LEASES, workers=2) as site:
        outcome = run_storm(site, SEED, POSTS, SHORT_SCHEDULE)
    assert_harmless(outcome)
    assert outcome.line["actions"]["crash_database"] > 0


def test_the_page_explains_every_figure_and_every_action(after: StormResult) -> None:
    page = (ROOT / "docs" / "storm.md").read_text(encoding="utf-8")
    names = {name for cell in re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE) for name in re.findall(r"\w+", cell)}
    assert names >= set(after.line) - {"database", "seed", "versions"}
    assert names >= {"crash_database", *ACTIONS_BY_DATABASE["sqlite"], *ACTIONS_BY_DATABASE["postgresql"]}


# ---- the verdict finds what is doctored


def doctored(rows: list[Row], change: Callable[[Row], Row | None], which: Callable[[Row], bool]) -> list[Row]:
    """The rows, the first of a kind changed, or left out."""
    at = next(number for number, row in enumerate(rows) if which(row))
    changed = change(rows[at])
    return [*rows[:at], *([] if changed is None else [changed]), *rows[at + 1 :]]


def judged(after: StormResult, **changes: Any) -> ConsistencyReport:
    """The verdict if the evidence were another."""
    return check_consistency(replace(after.evidence, **changes), CAPS)


def rejudged(after: StormResult, **changes: Any) -> ConsistencyReport:
    """The verdict if something else were stored."""
    return judged(after, stored=replace(after.evidence.stored, **changes))


def gone(_row: Row) -> None:
    return None


def anything(_row: Row) -> bool:
    return True


def test_the_verdict_misses_every_kind_of_row(after: StormResult) -> None:
    for name in ("submissions", "keys", "tasks", "scores", "ledger"):
        rows = getattr(after.evidence.stored, name)
        found = rejudged(after, **{name: doctored(rows, gone, anything)})
        assert found.lost, name


def test_the_verdict_sees_what_is_there_twice(after: StormResult) -> None:
    for name in ("submissions", "tasks", "scores", "ledger"):
        rows = getattr(after.evidence.stored, name)
        found = rejudged(after, **{name: [*rows, rows[0] | {"id": "another"}]})
        assert found.doubled, name
    charge = next(row for row in after.evidence.stored.ledger if row["kind"] == "charge")
    refunded = [*after.evidence.stored.ledger, charge | {"id": "another", "kind": "refund"}]
    assert rejudged(after, ledger=refunded).doubled


def test_the_verdict_sees_the_last_bit_of_a_score(after: StormResult) -> None:
    def nudged(row: Row) -> Row:
        value = row["metrics"]["accuracy"]["value"]
        return row | {"metrics": row["metrics"] | {"accuracy": {"value": math.nextafter(value, 2)}}}

    scores = doctored(after.evidence.stored.scores, nudged, anything)
    assert len(rejudged(after, scores=scores).wrong) == 1


def test_the_verdict_sees_a_board_with_another_rank_or_value(after: StormResult) -> None:
    for split in ("all", "private", "public"):
        board = after.evidence.boards[split]
        first, *others = board["rows"]
        for changed in (first | {"rank": 2}, first | {"scores": first["scores"] | {"mcc": {"value": 0.5}}}):
            boards = {**after.evidence.boards, split: {**board, "rows": [changed, *others]}}
            assert len(judged(after, boards=boards).wrong) == 1


@pytest.mark.parametrize(
    ("was", "becomes"), [("finished", "rejected"), ("rejected", "finished"), ("finished", "failed")]
)
def test_the_verdict_sees_a_status_that_is_wrong(after: StormResult, was: str, becomes: str) -> None:
    rows = doctored(
        after.evidence.stored.submissions, lambda row: row | {"status": becomes}, lambda row: row["status"] == was
    )
    assert rejudged(after, submissions=rows).wrong


@pytest.mark.parametrize("status", ["queued", "running"])
def test_the_verdict_misses_a_final_status(after: StormResult, status: str) -> None:
    rows = doctored(after.evidence.stored.submissions, lambda row: row | {"status": status}, anything)
    assert rejudged(after, submissions=rows).lost


def test_the_verdict_sees_a_key_with_two_ids_and_a_post_without_any(after: StormResult) -> None:
    ids = after.evidence.acknowledged
    first, second = [post.key for post in after.evidence.posts][:2]
    assert judged(after, acknowledged={**ids, first: {*ids[first], "another"}}).doubled
    found = judged(after, acknowledged={**ids, second: set()})
    assert found.wrong == ["post 1 was never acknowledged"]
    assert found.doubled, "its row is explained by nothing"


def test_the_verdict_sees_quota_that_was_not_settled_and_jobs_that_are_left(after: StormResult) -> None:
    team, counts = next(iter(after.evidence.used.items()))
    for name in ("total", "concurrent"):
        used = {**after.evidence.used, team: {**counts, name: counts[name] + 1}}
        assert len(judged(after, used=used).wrong) == 1
    assert len(rejudged(after, jobs=1).wrong) == 1


@contextmanager
def copied(after: StormResult, folder: Path) -> Iterator[tuple[StoredRows, list[Path]]]:
    """The evidence with a copy of the files, and those that are submissions'."""
    shutil.copytree(after.evidence.stored.files, folder / "files")
    paths = [folder / "files" / row["file_key"] for row in after.evidence.stored.submissions]
    yield replace(after.evidence.stored, files=folder / "files"), paths


def test_the_verdict_sees_files_that_are_gone_or_changed(after: StormResult, tmp_path: Path) -> None:
    with copied(after, tmp_path) as (stored, paths):
        paths[0].unlink()
        paths[1].write_bytes(paths[1].read_bytes() + b" ")
        found = judged(after, stored=stored)
    assert [each for each in found.lost if each.startswith("file ")]
    assert [each for each in found.wrong if each.startswith("file ")]


def test_nothing_is_found_where_nothing_was_doctored(after: StormResult) -> None:
    assert judged(after).clean
