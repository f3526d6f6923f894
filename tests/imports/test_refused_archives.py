"""Archives that lie, or that another program wrote: a clear error, and nothing is stored."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.actions.imports.store_submissions import SubmissionRows
from app.scoring import SCORER_VERSION
from app.store.tables import Base
from tests.api.in_process_app import ServedApp
from tests.archives.building import Members, json_lines, manifest_of, pack
from tests.archives.test_hostile_archives import HOSTILE
from tests.imports.source_phase import finish, send
from tests.journeys.support import require_refused
from tests.live_service import Caller, eventually

Row = dict[str, Any]
Edit = Callable[[Row], Row]
OWN_TABLES = {"imports", "audit_entries", "log_records", "log_tiles", "log_checkpoints", "log_origins", "signing_keys"}
TRANSIENT = {"sessions", "tokens", "board_changes", "known_addresses"}


def read_members(path: Path) -> tuple[Members, Row]:
    """The members of an archive, and what its manifest says of the whole."""
    with zipfile.ZipFile(path) as opened:
        members = {each: opened.read(each) for each in opened.namelist()}
    head = json.loads(members.pop("manifest.json"))
    return members, {name: value for name, value in head.items() if name != "members"}


def edited(path: Path, name: str, edit: Edit, **head: Any) -> bytes:
    """The archive with other rows in a table, and a manifest that fits."""
    members, own = read_members(path)
    members[name] = json_lines([edit(json.loads(line)) for line in members[name].splitlines()])
    return pack(members, manifest_of(members, **own | head))


def counts(app: ServedApp) -> dict[str, int]:
    """How many rows each table has, without those that a refused import leaves."""
    tables = [table for table in Base.metadata.sorted_tables if table.name not in OWN_TABLES | TRANSIENT]
    with app.app.state.service.db.read() as session:
        found = session.execute(select(*(select(func.count()).select_from(each).scalar_subquery() for each in tables)))
        return dict(zip((table.name for table in tables), found.one(), strict=True))


def stored_files(app: ServedApp) -> set[str]:
    """The keys of all uploads."""
    return {key for key in app.app.state.service.files.keys(older=-3600) if key.startswith("uploads/")}


def require_failed(app: ServedApp, admin: Caller, content: bytes, code: str, reason: str) -> None:
    """Require that an import fails for this reason, and that it leaves nothing.

    What an earlier one has left to do in the background concerns its own tables alone.
    """
    before, files = counts(app), stored_files(app)
    ended = finish(app, send(admin, content))
    assert ended["status"] == "failed", ended
    assert ended["failure"]["code"] == code, ended["failure"]
    assert reason in ended["failure"]["detail"], ended["failure"]
    assert ended["failure"]["remedy"]
    assert (ended["challenge"], ended["phase"]) == (None, None)
    assert counts(app) == before
    eventually(lambda: stored_files(app) == files, "the archive is deleted after the status is stored")
    assert admin.get("/challenges").json()["items"] == []


def score(row: Row, value: float) -> Row:
    """The row with another value of accuracy."""
    row["metrics"]["accuracy"]["value"] = value
    return row


def first(edit: Edit) -> Edit:
    """An edit of the first row alone."""
    left = [True]
    return lambda row: edit(row) if left and left.pop() else row


OLDER = SCORER_VERSION - 1
FORGED: dict[str, tuple[str, Edit, str, str]] = {
    "a score": ("scores.jsonl", first(lambda row: score(row, 0.123)), "forged_score", "accuracy 0.123"),
    "a score of an older scorer": (
        "scores.jsonl",
        first(lambda row: score(row, 0.123) | {"scorer_version": 1}),
        "invalid_archive" if SCORER_VERSION == 1 else "forged_score",
        "",
    ),
    "a split without a score": (
        "scores.jsonl",
        first(lambda row: row | {"split": "private" if row["split"] == "all" else "all"}),
        "invalid_archive",
        "two scores",
    ),
    "a score of nobody": ("scores.jsonl", lambda row: row | {"submission": "f" * 32}, "invalid_archive", ""),
    "the hash of a file": (
        "submissions.jsonl",
        first(lambda row: row | {"sha256": "0" * 64}),
        "invalid_archive",
        "its SHA-256 differs",
    ),
    "the order": ("submissions.jsonl", lambda row: row | {"order": row["order"] + 1}, "invalid_archive", "order"),
    "a link that runs": (
        "submissions.jsonl",
        first(lambda row: row | {"link": "javascript:alert(1)"}),
        "invalid_archive",
        "link",
    ),
    "a time to come": (
        "submissions.jsonl",
        first(lambda row: row | {"submitted_at": "2999-01-01T00:00:00Z"}),
        "invalid_archive",
        "in the future",
    ),
    "a team that is not there": ("submissions.jsonl", lambda row: row | {"team": "f" * 32}, "invalid_archive", "team"),
    "a submission that waits": (
        "submissions.jsonl",
        first(lambda row: row | {"status": "queued"}),
        "invalid_archive",
        "still queued",
    ),
    "a character that no text has": (
        "teams.jsonl",
        first(lambda row: row | {"name": "Bl\0ue"}),
        "invalid_archive",
        "teams.jsonl",
    ),
    "the same team twice": ("teams.jsonl", lambda row: row | {"id": "1" * 32}, "invalid_archive", "twice"),
    "the nonce of the gold": ("gold.jsonl", lambda row: row | {"nonce": "0" * 64}, "invalid_archive", "commitment"),
    "void ids": ("gold.jsonl", lambda row: row | {"void_ids": ["zz"]}, "invalid_archive", "gold version"),
    "no active gold": ("gold.jsonl", lambda row: row | {"status": "retired"}, "invalid_archive", "as active"),
    "a recipe": (
        "recipes.jsonl",
        lambda row: row | {"body": row["body"] | {"primary": "no_metric"}},
        "invalid_archive",
        "Recipe version 1",
    ),
    "a switch to nowhere": (
        "switches.jsonl",
        lambda row: row | {"to": row["to"] | {"gold_version": 9}},
        "invalid_archive",
        "does not hold",
    ),
    "a receipt": (
        "receipts.jsonl",
        first(lambda row: row | {"split": "public" if row["split"] == "all" else "all"}),
        "invalid_archive",
        "Receipt",
    ),
    "a frozen board": (
        "frozen_boards.jsonl",
        lambda row: row | {"sha256": "0" * 64},
        "invalid_archive",
        "not the one that its hash cites",
    ),
    "a time zone": ("challenge.json", lambda row: row | {"timezone": "Mars/Olympus"}, "invalid_archive", "time zone"),
    "the active versions": ("phase.json", lambda row: row | {"active": None}, "nothing_to_import", "no active gold"),
    "an older scorer": (
        "phase.json",
        lambda row: row | {"active": row["active"] | {"scorer_version": OLDER or 99}},
        "other_scorer_version",
        "this installation has version",
    ),
    "a quota of words": ("phase.json", lambda row: row | {"quota": {"per_day": "all"}}, "invalid_archive", "quota"),
}


@pytest.mark.parametrize(
    "what", [pytest.param(each, marks=[pytest.mark.ci] if at % 6 else []) for at, each in enumerate(FORGED)]
)
def test_a_forged_archive_is_refused_and_leaves_nothing(here: ServedApp, archive: Path, what: str) -> None:
    name, edit, code, reason = FORGED[what]
    require_failed(here, here.admin(), edited(archive, name, edit), code, reason)


def test_a_frozen_board_with_a_hash_that_fits_may_not_show_other_values(here: ServedApp, archive: Path) -> None:
    import hashlib  # noqa: PLC0415 - of this test alone

    import rfc8785  # noqa: PLC0415

    members, head = read_members(archive)
    content = json.loads(members["frozen/1.json"])
    content["rows"][0]["scores"]["accuracy"]["value"] = "0.123"
    members["frozen/1.json"] = rfc8785.dumps(content)
    row = json.loads(members["frozen_boards.jsonl"]) | {"sha256": hashlib.sha256(members["frozen/1.json"]).hexdigest()}
    members["frozen_boards.jsonl"] = json_lines([row])
    forged = pack(members, manifest_of(members, **head))
    require_failed(here, here.admin(), forged, "invalid_archive", "that no submission of the archive has")


def test_a_member_that_is_not_what_the_manifest_says_is_refused(here: ServedApp, archive: Path) -> None:
    members, head = read_members(archive)
    manifest = manifest_of(members, **head)
    gold = members["gold/1.json"]
    members["gold/1.json"] = gold[:-1] + b" "
    assert len(members["gold/1.json"]) == len(gold)
    require_failed(here, here.admin(), pack(members, manifest), "invalid_archive", "its SHA-256 differs")


AT_ONCE = sorted(set(HOSTILE) - {"a changed phase"})


def test_a_fault_while_the_phase_is_stored_leaves_nothing(
    here: ServedApp, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: SubmissionRows) -> None:
        raise RuntimeError("the last batch")

    monkeypatch.setattr(SubmissionRows, "finish", fail)
    require_failed(here, here.admin(), archive.read_bytes(), "internal_error", "a fault of the service")


def test_what_is_no_archive_is_refused_at_once(here: ServedApp) -> None:
    files, admin = stored_files(here), here.admin()
    for what in AT_ONCE:
        require_refused(send(admin, HOSTILE[what][0]), 422, "invalid_archive")
        assert stored_files(here) == files, what


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ({"scorer_version": SCORER_VERSION + 1}, "other_scorer_version"),
        ({"origin": {"url": "https://example.org"}}, "invalid_archive"),
        ({"version": 1}, "invalid_archive"),
        ({"challenge": "../etc"}, "invalid_archive"),
    ],
)
def test_a_manifest_of_another_program_is_refused_at_once(here: ServedApp, archive: Path, head: Row, code: str) -> None:
    require_refused(send(here.admin(), edited(archive, "teams.jsonl", lambda row: row, **head)), 422, code)


def test_a_failed_import_may_be_sent_again_and_a_taken_slug_is_refused(here: ServedApp, archive: Path) -> None:
    admin = here.admin()
    require_refused(here.caller().post("/imports", content=archive.read_bytes()), 401, "unauthorized")
    taken = {"slug": "taken", "title": "T", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    assert admin.post("/challenges", json=taken).is_success
    require_refused(send(admin, archive, slug="taken"), 409, "slug_taken")
    require_refused(send(admin, archive, slug="No Slug"), 400, "bad_request")
    done = finish(here, send(admin, archive, slug="again"))
    assert (done["status"], done["challenge"], done["done"], done["total"]) == ("done", "again", 9, 9)
    states = [row["status"] for row in admin.get("/imports").json()["items"]]
    assert states[0] == "done"
    assert set(states[1:]) <= {"failed"}
