"""The sequencer's rounds on a database: batches, idleness, damage, copies, renewal and witnesses."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, select, update

from app.actions.receipts.signing_keys import ReceiptKey, ReceiptKeyUnusable
from app.actions.transparency import origins, sequence_records
from app.actions.transparency.add_record import add_record
from app.actions.transparency.continue_log import LogNotContinued, continue_log, renew_log
from app.actions.transparency.log_key import LogKeyUnusable, log_key_path, read_log_key, replace_log_key
from app.actions.transparency.read_log import describe_logs, prove_record, read_log_checkpoint
from app.actions.transparency.sequence_records import LogDamaged, sequence, verify_stored
from app.actions.transparency.signed_mark import mark_path, write_mark
from app.actions.transparency.witnesses import Witnesses
from app.settings import Settings
from app.store.queries import log_trees
from app.store.session import Database
from app.store.tables import LogOrigin, LogRecord, LogTile
from app.tlog.checkpoint import read_checkpoint
from app.tlog.note import COSIGNATURE, Note, parse_verifier_key
from app.tlog.proof import parse_proof
from app.tlog.verification import verify_record
from tests.store.witness import witness_of


def add(db: Database, *names: str) -> None:
    """Store a record about each object."""
    with db.write() as session:
        for name in names:
            add_record(session, "audit", {"name": name}, challenge_id=None, object_id=name)


def served(db: Database) -> str:
    """The last checkpoint of the log that grows."""
    with db.read() as session:
        found = describe_logs(session)[0].checkpoint
    assert found is not None
    return found


def size_of(db: Database) -> int:
    """How many entries it has."""
    return read_checkpoint(served(db))[1].size


def vkey_of(db: Database) -> str:
    """The verifier key of the log that grows."""
    with db.read() as session:
        return describe_logs(session)[0].vkey


def test_more_at_once_than_a_round_takes_are_sequenced_and_proved(
    db: Database, log_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch beyond the limit of a round takes two; any record is proved, all stored hashes agree."""
    monkeypatch.setattr(sequence_records, "MAX_BATCH", 280)
    add(db, *(f"r{number}" for number in range(300)))
    assert sequence(db, log_settings, first=True)
    assert not sequence(db, log_settings)
    assert size_of(db) == 301
    with db.read() as session:
        proved = verify_record(parse_proof(prove_record(session, "r290", "audit")), parse_verifier_key(vkey_of(db)))
        origin = session.scalars(select(LogOrigin)).one()
        assert verify_stored(session, origin) == 301
    assert proved.record == {"kind": "audit", "name": "r290"}
    assert proved.checkpoint.size == 301


def test_an_idle_round_writes_nothing(db: Database, log_settings: Settings) -> None:
    """Nothing but reads happens while no record waits."""
    sequence(db, log_settings, first=True)
    begun: list[object] = []
    event.listen(db.engine(), "begin", begun.append)
    assert not sequence(db, log_settings)
    assert begun == []


@pytest.mark.both_databases
@pytest.mark.parametrize("level", [0, 1])
def test_nothing_is_signed_over_a_changed_tile(db: Database, log_settings: Settings, level: int) -> None:
    """A changed hash in a tile that the last checkpoint rests on stops the log, and the checkpoint stays."""
    add(db, *(f"r{number}" for number in range(300)))
    sequence(db, log_settings, first=True)
    before = served(db)
    with db.write() as session:
        number = session.scalars(
            select(LogTile.number).where(LogTile.level == level).order_by(LogTile.number.desc())
        ).first()
        tile = session.scalars(select(LogTile).where(LogTile.level == level, LogTile.number == number)).one()
        tile.hashes = bytes(32) + tile.hashes[32:]
    add(db, "later")
    with pytest.raises(LogDamaged):
        sequence(db, log_settings)
    assert served(db) == before


def test_every_stored_hash_is_compared(db: Database, log_settings: Settings) -> None:
    """The thorough check finds a changed entry and a changed tile anywhere."""
    add(db, *(f"r{number}" for number in range(600)))
    sequence(db, log_settings, first=True)
    with db.write() as session:
        old = session.scalars(select(LogTile).where(LogTile.level == 0, LogTile.number == 0)).one()
        old.hashes = old.hashes[:-32] + bytes(32)
    with db.read() as session, pytest.raises(LogDamaged, match="tile/0/000"):
        verify_stored(session, session.scalars(select(LogOrigin)).one())
    with db.write() as session:
        session.execute(update(LogRecord).where(LogRecord.position == 400).values(entry="0" * 64))
    with db.read() as session, pytest.raises(LogDamaged):
        verify_stored(session, session.scalars(select(LogOrigin)).one())


def test_a_copied_database_and_a_copied_key_are_another_place_each(db: Database, log_settings: Settings) -> None:
    """Of a key that the service made: one that the operator keeps elsewhere may be copied to another machine."""
    add(db, "one")
    sequence(db, log_settings, first=True)
    outside = log_settings.model_copy(update={"log_key_file": log_settings.data_dir.parent / "log.pem"})
    shutil.copy(log_key_path(log_settings), log_key_path(outside))

    def places() -> list[str | None]:
        with db.read() as session:
            return [origins.place_of(session, each) for each in (log_settings, outside)]

    before = places()
    for path in (log_key_path(log_settings), log_key_path(outside)):
        copy = shutil.copy(path, path.with_name("copy"))
        Path(copy).replace(path)
    own, kept_outside = places()
    assert own != before[0]
    assert kept_outside == before[1]


@pytest.mark.both_databases
def test_another_place_begins_another_log(
    db: Database, log_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy never signs with the old key; its first leaf names the last checkpoint. The operator may go on instead."""
    add(db, "one")
    sequence(db, log_settings, first=True)
    last, key = served(db), vkey_of(db)
    with monkeypatch.context() as patched:
        patched.setattr(origins, "place_of", lambda *_: "elsewhere")
        if log_settings.on_postgresql:
            with pytest.raises(LogKeyUnusable):
                sequence(db, log_settings, first=True)
            assert served(db) == last
            replace_log_key(log_key_path(log_settings))
            with db.write() as session:
                renew_log(session, log_settings)
        sequence(db, log_settings, first=True)
    assert vkey_of(db) != key
    with db.read() as session:
        new, old = describe_logs(session)
        assert read_log_checkpoint(session, None) == last
        assert read_log_checkpoint(session, new.origin.rpartition("/")[2]) == new.checkpoint
        assert new.previous == last == old.checkpoint
        proved = verify_record(
            parse_proof(prove_record(session, log_trees.origins(session)[0].id, "origin")), parse_verifier_key(new.vkey)
        )
        assert (proved.index, proved.record["previous"]) == (0, last)
        assert new.origin.startswith(old.origin + "/")
        earlier = verify_record(parse_proof(prove_record(session, "one", "audit")), parse_verifier_key(key))
    assert earlier.record["name"] == "one"
    assert old.ended_at is not None


def test_a_database_that_was_put_back_begins_another_log(db: Database, log_settings: Settings) -> None:
    """It would sign other records at positions that were signed before, under the same key."""
    database = Path(log_settings.database.removeprefix("sqlite:///"))
    add(db, "one")
    sequence(db, log_settings, first=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    older = database.read_bytes()
    add(db, "two")
    sequence(db, log_settings)
    last, key = served(db), vkey_of(db)
    db.close()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.write_bytes(older)
    put_back = Database(log_settings)
    with put_back.write() as session, pytest.raises(LogNotContinued, match="put back"):
        continue_log(session, log_settings, served(put_back))
    add(put_back, "another one")
    sequence(put_back, log_settings, first=True)
    assert vkey_of(put_back) != key
    with put_back.read() as session:
        assert describe_logs(session)[0].previous == last
    add(put_back, "and so on")
    sequence(put_back, log_settings, first=True)
    with put_back.read() as session:
        assert len(describe_logs(session)) == 2
    put_back.close()


@pytest.mark.both_databases
def test_a_log_that_does_not_continue_what_was_signed_last_ends(db: Database, log_settings: Settings) -> None:
    """The same where an older database went on: it is as long as what was signed, and has another root."""
    add(db, "one")
    sequence(db, log_settings, first=True)
    note, checkpoint = read_checkpoint(served(db))
    write_mark(log_settings, Note(replace(checkpoint, root=bytes(32)).text, note.signatures))
    if log_settings.on_postgresql:
        with pytest.raises(LogKeyUnusable, match="put back"):
            sequence(db, log_settings, first=True)
        return
    sequence(db, log_settings, first=True)
    with db.read() as session:
        assert len(describe_logs(session)) == 2


def test_the_mark_of_another_machine_is_behind(db: Database, log_settings: Settings) -> None:
    """A sequencer that did not sign last goes on, and learns what was signed meanwhile."""
    sequence(db, log_settings, first=True)
    mark = mark_path(log_settings)
    own = mark.read_text()
    add(db, "one")
    sequence(db, log_settings)
    mark.write_text(own)
    sequence(db, log_settings, first=True)
    assert mark.read_text() == served(db)
    mark.write_text("nothing")
    with pytest.raises(LogKeyUnusable, match=r"log\.checkpoint"):
        sequence(db, log_settings, first=True)


def test_an_operator_goes_on_with_a_log(db: Database, log_settings: Settings) -> None:
    """With the checkpoint served last and the key the log goes on; with an older checkpoint or no key it does not."""
    add(db, "one")
    sequence(db, log_settings, first=True)
    older = served(db)
    add(db, "two")
    sequence(db, log_settings)
    key = vkey_of(db)
    with db.write() as session:
        origins.end_origin(session)
    with db.write() as session, pytest.raises(LogNotContinued):
        continue_log(session, log_settings, older)
    moved = log_key_path(log_settings).rename(log_key_path(log_settings).with_name("moved"))
    with db.read() as session:
        last = describe_logs(session)[0].checkpoint
    assert last is not None
    with db.write() as session, pytest.raises(LogNotContinued):
        continue_log(session, log_settings, last)
    moved.rename(log_key_path(log_settings))
    with db.write() as session:
        continue_log(session, log_settings, last)
    sequence(db, log_settings, first=True)
    assert vkey_of(db) == key
    assert size_of(db) == 4  # the origin, one, two, and that it goes on


@pytest.mark.both_databases
@pytest.mark.parametrize("first", ["receipts", "log"])
def test_the_log_and_receipts_have_different_keys(db: Database, log_settings: Settings, first: str) -> None:
    """Otherwise one of them could not be verified, as each public key is published for one purpose."""
    log_key = replace_log_key(log_key_path(log_settings))
    both = ReceiptKey.of(log_key.private_key)
    if first == "receipts":
        with db.write() as session:
            both.register(session)
        if not log_settings.on_postgresql:  # there the service makes the key itself
            sequence(db, log_settings, first=True)
            assert read_log_key(log_key_path(log_settings)).id != log_key.id
            return
        with pytest.raises(LogKeyUnusable, match="signs receipts"):
            sequence(db, log_settings, first=True)
    else:
        sequence(db, log_settings, first=True)
        with db.write() as session, pytest.raises(ReceiptKeyUnusable):
            both.register(session)


def test_the_key_is_private(db: Database, log_settings: Settings) -> None:
    """Only its owner can read the key, and the database has the public one."""
    sequence(db, log_settings, first=True)
    assert log_key_path(log_settings).stat().st_mode & 0o777 == 0o600


def test_a_witness_cosigns_and_its_absence_delays_nothing(db: Database, log_settings: Settings) -> None:
    """Cosignatures come to the served checkpoint; wrong ones do not; without an answer the log goes on."""
    add(db, "one")
    sequence(db, log_settings, first=True)
    with witness_of(vkey_of(db)) as server:
        setting = server.setting
        witnessed = log_settings.model_copy(update={"log_witnesses": setting})
        key = parse_verifier_key(setting.partition(" ")[2])
        assert key.kind == COSIGNATURE
        witnesses = Witnesses(db, witnessed)
        witnesses.cosign_latest()
        assert read_checkpoint(served(db))[0].signed_by([key]) == [key]
        witnesses.cosign_latest()
        assert server.answers == [200]
        add(db, "two", "three")
        sequence(db, witnessed)
        witnesses.cosign_latest()
        assert read_checkpoint(served(db))[0].signed_by([key]) == [key]
        add(db, "four")
        sequence(db, witnessed)
        restarted = Witnesses(db, witnessed)  # which does not remember what the witness has seen
        restarted.cosign_latest()
        assert server.answers == [200, 200, 409, 200]
        assert read_checkpoint(served(db))[0].signed_by([key]) == [key]
        server.cosigns_wrongly = True
        add(db, "five")
        sequence(db, witnessed)
        restarted.cosign_latest()
        assert read_checkpoint(served(db))[0].signed_by([key]) == []
    add(db, "six")
    sequence(db, witnessed)
    away = Witnesses(db, witnessed)
    away.cosign_latest()
    assert away.configured[0].not_before > 0
    assert len(read_checkpoint(served(db))[0].signatures) == 1
    assert size_of(db) == 7
