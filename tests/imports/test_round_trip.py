"""From SQLite to PostgreSQL and back: values, ranks, intervals, rank sets and the hash of the frozen board stay."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from app.archives.open_archive import open_archive
from app.archives.rescoring import rescore_archive
from app.archives.verification import verify_archive
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.imports.source_phase import export, finish, frozen, make_source, release_and_freeze, send
from tests.journeys.support import require_refused
from tests.live_service import Caller
from tests.settle import settle

BOARD_FIELDS = ("rank", "rank_low", "rank_high", "tie_group", "method", "submitted_at", "entries", "baseline", "mark")
RECEIPTS: tuple[dict[str, Any], ...] = ({"split": "private"}, {"split": "public"}, {"split": "all", "gold_version": 1})
LOCAL = {"challenge", "phase", "submission", "team", "receipt_id"}


class Trip(NamedTuple):
    """The same phase in three installations, with the archives between them."""

    apps: list[ServedApp]
    slugs: list[str]
    imports: list[dict[str, Any]]
    archives: list[Path]


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory, postgres_database: Callable[[], str]) -> Iterator[Trip]:
    folder = tmp_path_factory.mktemp("trip")
    with ExitStack() as stack:
        places: list[dict[str, Any]] = [{}, {"database_url": postgres_database(), "files_shared": True}, {}]
        apps = [
            stack.enter_context(serve_app(app_settings(folder / str(number), **place), analyses=True))
            for number, place in enumerate(places)
        ]
        slug = make_source(apps[0])
        release_and_freeze(apps[0], slug)
        slugs, imports, archives = [slug], [], []
        for number in (1, 2):
            before, after = apps[number - 1], apps[number]
            archives.append(export(before.admin(), slugs[-1], folder / f"{number}.zip"))
            done = finish(after, send(after.admin(), archives[-1]))
            assert done["failure"] is None, done
            settle(after)
            slugs.append(done["challenge"])
            imports.append(done)
        yield Trip(apps, slugs, imports, archives)


def board_of(admin: Caller, slug: str, **query: Any) -> dict[str, Any]:
    """A board without what is local to an installation."""
    board = admin.board(slug, **query).json()
    rows = [
        {name: row[name] for name in BOARD_FIELDS} | {"team": row["team"]["name"], "scores": row["scores"]}
        for row in board["rows"]
    ]
    head = ("split", "primary", "gold_version", "recipe_version", "scorer_version", "draw_seed")
    return {name: board[name] for name in head} | {"rows": rows}


BOARDS: tuple[dict[str, Any], ...] = ({}, {"split": "public"}, {"split": "all"}, {"gold_version": 1})


def test_boards_are_the_same(trip: Trip) -> None:
    for query in BOARDS:
        boards = [board_of(app.admin(), slug, **query) for app, slug in zip(trip.apps, trip.slugs, strict=True)]
        assert len(boards[0]["rows"]) >= 5
        assert any("low" in score for row in boards[0]["rows"] for score in row["scores"].values())
        assert boards[0] == boards[1] == boards[2], query


def archived_scores(path: Path) -> list[str]:
    """Place, split and values of each score, all computed again on the way, in the order of acceptance."""
    with open_archive(path) as archive:
        assert verify_archive(archive).faults == []
        assert {each.outcome for each in rescore_archive(archive)} == {"same"}
        order = {row["id"]: row["order"] for row in archive.rows("submissions.jsonl")}
        return sorted(
            json.dumps([order[row["submission"]], row["split"], row["gold_version"], row["metrics"]], sort_keys=True)
            for row in archive.rows("scores.jsonl")
        )


def test_archives_of_both_databases_have_the_same_scores_to_the_last_digit(trip: Trip) -> None:
    first, second = map(archived_scores, trip.archives)
    assert len(first) > 20
    assert first == second


def test_the_frozen_board_keeps_its_hash_and_freezing_again_gives_the_same(trip: Trip) -> None:
    hashes = []
    for app, slug in zip(trip.apps, trip.slugs, strict=True):
        path = f"/challenges/{slug}/phases/main/frozen-boards"
        (row,) = app.admin().get(path).json()["items"]
        hashes.append(row["sha256"])
        assert app.admin().get(f"{path}/{row['sha256']}").status_code == 200
        assert require_refused(frozen(app.admin(), slug), 409, "already_frozen")["number"] == 1
    assert len(set(hashes)) == 1


def submissions_of(admin: Caller, slug: str) -> list[dict[str, Any]]:
    found = admin.get(f"/challenges/{slug}/phases/main/submissions", params={"limit": 100}).json()["items"]
    return sorted(found, key=lambda row: row["id"])


def statement(envelope: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(json.loads(envelope)["payload"]))
    return found


def test_own_receipts_state_what_the_receipts_of_the_source_state(trip: Trip) -> None:
    admins = [app.admin() for app in trip.apps]
    columns = zip(*(submissions_of(admin, slug) for admin, slug in zip(admins, trip.slugs, strict=True)), strict=True)
    compared = 0
    for rows in columns:
        if rows[0]["status"] != "finished" or rows[0].get("test"):
            continue
        for query in RECEIPTS:
            answers = [
                admin.get(f"/submissions/{row['id']}/receipt", params=query)
                for admin, row in zip(admins, rows, strict=True)
            ]
            if answers[0].status_code != 200:  # sent after the correction
                assert {answer.status_code for answer in answers} == {answers[0].status_code}
                continue
            said = [statement(answer.raise_for_status().text) for answer in answers]
            same = [
                (each["subject"], {name: of for name, of in each["predicate"].items() if name not in LOCAL})
                for each in said
            ]
            assert same[0] == same[1] == same[2]
            assert len({each["predicate"]["submission"] for each in said}) == 3
            compared += 1
    assert compared >= 15


def test_the_receipts_of_the_source_are_served_as_foreign_ones(trip: Trip) -> None:
    source, here = trip.apps[0].admin(), trip.apps[1].admin()
    rows = zip(submissions_of(source, trip.slugs[0]), submissions_of(here, trip.slugs[1]), strict=True)
    before, after = next(pair for pair in rows if pair[0]["status"] == "finished")
    found = here.get(f"/submissions/{after['id']}/receipt/foreign").json()
    assert found["origin_id"] == before["id"]
    kept = next(each for each in found["receipts"] if (each["split"], each["gold_version"]) == ("private", 2))
    served = source.get(f"/submissions/{before['id']}/receipt", params={"split": "private"}).text
    assert kept["envelope"] == served
    assert here.get(f"/submissions/{after['id']}/receipt", params={"split": "private"}).text != served
    visitor = trip.apps[1].caller()
    own = {
        each["split"] for each in visitor.get(f"/submissions/{after['id']}/receipt/foreign").json().get("receipts", [])
    }
    assert "all" not in own


def test_ids_of_the_source_are_kept_and_teams_are_ownerless(trip: Trip) -> None:
    admin, made = trip.apps[1].admin(), trip.imports[0]
    rows: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"limit": 5}
    while True:
        page = admin.get(f"/imports/{made['id']}/ids", params=asked).json()
        rows += page["items"]
        if page["next"] is None:
            break
        asked["cursor"] = page["next"]
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in {row["kind"] for row in rows}}
    assert {kind: len(found) for kind, found in by_kind.items()} == {
        "challenge": 1,
        "phase": 1,
        "recipe": 1,
        "gold": 2,
        "switch": 2,
        "team": 5,
        "submission": 9,
    }
    of_source = [row["id"] for row in submissions_of(trip.apps[0].admin(), trip.slugs[0])]
    here = [row["id"] for row in submissions_of(admin, trip.slugs[1])]
    ids = {row["origin_id"]: row["local_id"] for row in by_kind["submission"]}
    assert [ids[each] for each in of_source] == here
    teams = admin.get(f"/challenges/{trip.slugs[1]}/teams").json()["items"]
    assert {team["name"] for team in teams} >= {"Blue", "Green", "Red"}
    assert all(team["members"] == [] for team in teams)


def test_history_errata_and_audit_trail(trip: Trip) -> None:
    source, here = (
        app.admin().get(f"/challenges/{slug}/errata").json()
        for app, slug in zip(trip.apps, trip.slugs[:2], strict=False)
    )
    assert json.dumps(here).count("t05 was wrong") == json.dumps(source).count("t05 was wrong") > 0
    admin = trip.apps[1].admin()
    actions = [row["action"] for row in admin.get("/audit", params={"limit": 100}).json()["items"]]
    assert {"import.request", "phase.import"} <= set(actions)
    trail = admin.get(f"/challenges/{trip.slugs[1]}/audit").json()["items"]
    (entry,) = [row for row in trail if row["action"] == "phase.import"]
    assert entry["changes"]["archive_sha256"]["to"] == trip.imports[0]["sha256"]


def test_the_same_phase_is_imported_once_and_never_into_its_own_installation(trip: Trip) -> None:
    here = trip.apps[1].admin()
    problem = require_refused(send(here, trip.archives[0], slug="again"), 409, "already_imported")
    assert problem["import"] == trip.imports[0]["id"]
    again = export(trip.apps[0].admin(), trip.slugs[0], trip.archives[0].with_name("again.zip"))
    require_refused(send(here, again, slug="again"), 409, "already_imported")
    require_refused(send(trip.apps[0].admin(), again, slug="again"), 409, "own_phase")
    assert here.get("/challenges/again").status_code == 404
