"""What `assay doctor` says of the transparency log: well, and broken in one way each, on both databases."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from app.actions.transparency.add_record import add_record
from app.actions.transparency.continue_log import renew_log
from app.actions.transparency.log_key import LogKeyUnusable, log_key_path, replace_log_key
from app.actions.transparency.read_log import describe_logs
from app.actions.transparency.sequence_records import sequence
from app.actions.transparency.signed_mark import mark_path, write_mark
from app.actions.transparency.witnesses import Witnesses
from app.doctor.check_declaration import CHECKS
from app.doctor.installation import Installation
from app.settings import Settings
from app.store.read_only_sessions import read_only_session
from app.store.session import Database
from app.store.tables import LogOrigin, LogRecord, LogTile
from app.store.types import utcnow
from app.tlog.checkpoint import read_checkpoint
from app.tlog.note import COSIGNATURE, Note, VerifierKey
from tests.store.witness import witness_of

RENEW = "assay log renew"
WITNESS = VerifierKey("witness.example/w1", COSIGNATURE, bytes(32))


def examine(settings: Settings, key: str, *, deep: bool = False) -> tuple[str, str, str]:
    """State, observation and remedy of one check."""
    check = CHECKS[key]
    result = check.function(Installation(lambda: settings, {}, deep=deep))
    return result.state, result.observation, result.remedy or check.remedy


def require_found(settings: Settings, key: str, state: str, seen: str, remedy: str, *, deep: bool = False) -> None:
    """The check finds this, and names this remedy."""
    found = examine(settings, key, deep=deep)
    assert (found[0], seen in found[1], remedy in found[2]) == (state, True, True), found


def add(db: Database, *names: str) -> None:
    """Store a record about each object."""
    with db.write() as session:
        for name in names:
            add_record(session, "audit", {"name": name}, challenge_id=None, object_id=name)


def served(settings: Settings) -> Note:
    """The last checkpoint."""
    with read_only_session(settings) as session:
        note = describe_logs(session)[0].checkpoint
    assert note is not None
    return read_checkpoint(note)[0]


@pytest.fixture
def log(db: Database, log_settings: Settings) -> Settings:
    """The settings of an installation whose log has an entry besides its first leaf."""
    add(db, "one")
    sequence(db, log_settings, first=True)
    return log_settings


@pytest.mark.parametrize("key", ["log.key", "log.tiles", "log.origin", "log.witnesses"])
def test_before_the_first_start_there_is_no_log(log_settings: Settings, key: str) -> None:
    settings = log_settings.model_copy(update={"log_witnesses": f"http://127.0.0.1:9 {WITNESS}"})
    assert examine(settings, key)[:2] == ("ok", "There is no log yet: it begins with the first start.")


def later_mark(settings: Settings) -> None:
    """This machine signed more entries than the database has."""
    note, checkpoint = read_checkpoint(str(served(settings)))
    write_mark(settings, Note(replace(checkpoint, size=checkpoint.size + 1).text, note.signatures))


def other_place(settings: Settings) -> None:
    """The database says that the log began elsewhere, as that of a copy does."""
    with changing(settings) as db, db.write() as session:
        session.execute(update(LogOrigin).values(place="elsewhere"))


@contextmanager
def changing(settings: Settings) -> Iterator[Database]:
    """The database, for the time of a block."""
    db = Database(settings)
    yield db
    db.close()


Found = tuple[str, str, str]
KEYS: dict[str, tuple[Callable[[Settings], object], Found, Found | None]] = {
    "open": (lambda settings: log_key_path(settings).chmod(0o640), ("problem", "has the mode 640", "chmod 600"), None),
    "gone": (
        lambda settings: log_key_path(settings).unlink(),
        ("warning", "is missing", "put the key back"),
        ("problem", "cannot be read", "openssl"),
    ),
    "no key": (
        lambda settings: log_key_path(settings).write_text("nothing"),
        ("problem", "no unencrypted private key", "openssl"),
        None,
    ),
    "another": (
        lambda settings: replace_log_key(log_key_path(settings)),
        ("problem", "is not the key of localhost", RENEW),
        None,
    ),
    "copied": (
        other_place,
        ("warning", "moved installation of localhost:8000/log. A new log begins.", RENEW),
        ("problem", "Nothing is signed until you decide.", RENEW),
    ),
    "put back": (
        later_mark,
        ("warning", "it was put back. A new log begins.", "assay log continue"),
        ("problem", "it was put back. Nothing is signed until you decide.", RENEW),
    ),
    "no mark": (
        lambda settings: mark_path(settings).write_text("nothing"),
        ("problem", "log.checkpoint, the checkpoint that was signed last, cannot be read", RENEW),
        None,
    ),
}
"""How each is broken; what is found where the service makes the key, and, if that differs, where the operator does."""


@pytest.mark.both_databases
@pytest.mark.parametrize("how", KEYS)
def test_a_key_that_does_not_continue_the_log_is_found(log: Settings, how: str) -> None:
    """What the check says becomes true: where it announces a new log, the next round begins one, else none."""
    assert examine(log, "log.key")[:2] == ("ok", f"{log_key_path(log)}.")
    breaks, of_service, of_operator = KEYS[how]
    breaks(log)
    expected = (of_operator if log.on_postgresql else None) or of_service
    require_found(log, "log.key", *expected)
    if how == "open":
        return
    with changing(log) as db:
        with suppress(LogKeyUnusable):
            sequence(db, log, first=True)
        with db.read() as session:
            begun = len(describe_logs(session))
    assert begun == (2 if expected[0] == "warning" or (how, log.on_postgresql) == ("another", False) else 1)


@pytest.mark.both_databases
@pytest.mark.parametrize("how", ["another", "copied", "put back", "no mark"])
def test_a_new_log_is_the_remedy(log: Settings, how: str) -> None:
    """`assay log renew`, with a new key where the operator makes it, and all is well."""
    KEYS[how][0](log)
    if log.on_postgresql:
        replace_log_key(log_key_path(log))
    with changing(log) as db:
        with db.write() as session:
            renew_log(session, log)
        sequence(db, log, first=True)
        with db.read() as session:
            assert len(describe_logs(session)) == 2
    assert examine(log, "log.key")[:2] == ("ok", f"{log_key_path(log)}.")
    assert examine(log, "log.origin")[0] == "ok"
    assert examine(log, "log.tiles", deep=True)[0] == "ok"


@pytest.mark.both_databases
def test_a_machine_without_the_key_needs_none(log: Settings) -> None:
    settings = log.model_copy(update={"log_key_file": None})
    seen = examine(settings, "log.key")[1]
    assert seen == (
        "This machine has none: workers with ASSAY_LOG_KEY_FILE sequence the log."
        if log.on_postgresql
        else f"{log_key_path(log)}."
    )


def test_records_that_wait_are_found_after_a_minute(db: Database, log: Settings) -> None:
    assert examine(log, "log.sequencer")[:2] == ("ok", "None waits.")
    add(db, "two", "three")
    state, seen, _ = examine(log, "log.sequencer")
    assert (state, seen.startswith("2 records wait, the oldest for ")) == ("ok", True), seen
    with db.write() as session:
        session.execute(update(LogRecord).values(created_at=utcnow() - timedelta(minutes=2)))
    require_found(log, "log.sequencer", "warning", "No live process sequences the log.", "ASSAY_LOG_KEY_FILE")
    sequence(db, log)
    assert examine(log, "log.sequencer")[:2] == ("ok", "None waits.")


def test_changed_tiles_and_entries_are_found(db: Database, log: Settings) -> None:
    """Without --deep the last tiles are compared with the checkpoint, with --deep all entries."""
    assert examine(log, "log.tiles")[:2] == ("ok", "2 entries; its last tiles agree.")
    assert examine(log, "log.tiles", deep=True)[:2] == ("ok", "2 entries; all entries and tiles agree.")
    with db.write() as session:
        session.execute(update(LogRecord).where(LogRecord.position == 1).values(entry="0" * 64))
    assert examine(log, "log.tiles")[0] == "ok"
    require_found(log, "log.tiles", "problem", "tile/0/000", "assay restore", deep=True)
    with db.write() as session:
        session.execute(update(LogTile).values(hashes=bytes(64)))
    require_found(log, "log.tiles", "problem", "do not give the root of the checkpoint of 2 entries", "assay restore")


def test_a_log_of_another_address_is_found(db: Database, log: Settings) -> None:
    """Until the log is renewed, whose name then has a label behind the address."""
    assert examine(log, "log.origin")[:2] == ("ok", "localhost:8000/log.")
    moved = log.model_copy(update={"public_url": "https://scores.example.org/assay/"})
    seen = "It is localhost:8000/log, and its address scores.example.org/assay/log."
    require_found(moved, "log.origin", "warning", seen, RENEW)
    replace_log_key(log_key_path(log))
    with db.write() as session:
        renew_log(session, moved)
    state, seen, _ = examine(moved, "log.origin")
    assert (state, seen.startswith("scores.example.org/assay/log/")) == ("ok", True), seen


def test_a_witness_that_did_not_cosign_is_named(db: Database, log: Settings) -> None:
    state, seen, _ = examine(log, "log.witnesses")
    assert (state, seen.startswith("None is configured")) == ("ok", True), seen
    with read_only_session(log) as session:
        vkey = describe_logs(session)[0].vkey
    no_witness = log.model_copy(update={"log_witnesses": f"http://127.0.0.1:9 {vkey}"})
    require_found(no_witness, "log.witnesses", "problem", "type has to be 0x04", "ASSAY_LOG_WITNESSES")
    with witness_of(vkey) as server:
        witnessed = log.model_copy(update={"log_witnesses": server.setting})
        require_found(
            witnessed, "log.witnesses", "warning", "Not cosigned by witness.example/w1.", "ASSAY_LOG_WITNESSES"
        )
        Witnesses(db, witnessed).cosign_latest()
        assert examine(witnessed, "log.witnesses")[:2] == ("ok", "1 cosigned it.")
        both = log.model_copy(update={"log_witnesses": f"{server.setting}, http://127.0.0.1:9 {WITNESS}"})
        assert examine(both, "log.witnesses")[0] == "warning"
