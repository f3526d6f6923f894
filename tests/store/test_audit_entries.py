"""The audit trail only grows: the database itself refuses to change or delete its rows."""

from typing import Any

import pytest
from sqlalchemy import delete, select, text, update
from sqlalchemy.exc import DBAPIError

from app.actions.access import Caller
from app.actions.audit.record import OPERATOR, WITHHELD, changed_fields, record
from app.store.queries import audit_entries
from app.store.queries.audit_entries import AuditFilter
from app.store.session import Database
from app.store.tables import AuditEntry, Phase, Team, User
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import fill_tables


@pytest.mark.both_databases
@pytest.mark.parametrize("statement", [update(AuditEntry).values(reason="none"), delete(AuditEntry)])
def test_entries_can_be_neither_changed_nor_deleted(db: Database, statement: object) -> None:
    with db.write() as session:
        fill_tables(session)
    with pytest.raises(DBAPIError, match="cannot be changed or deleted"), db.engine().begin() as connection:
        connection.execute(statement)  # type: ignore[call-overload]
    with db.read() as session:
        assert session.scalars(select(AuditEntry.reason)).all() == [None]


def test_a_replacing_insertion_is_refused_too(db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    replacement = text("INSERT OR REPLACE INTO audit_entries SELECT * FROM audit_entries")
    with pytest.raises(DBAPIError, match="cannot be changed or deleted"), db.engine().begin() as connection:
        connection.execute(replacement)


@only_postgresql
@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE audit_entries",
        "INSERT INTO audit_entries SELECT * FROM audit_entries ON CONFLICT (id) DO UPDATE SET reason = 'none'",
    ],
)
def test_truncation_and_upserts_are_refused_too(db: Database, statement: str) -> None:
    with db.write() as session:
        fill_tables(session)
    with pytest.raises(DBAPIError, match="cannot be changed or deleted"), db.engine().begin() as connection:
        connection.execute(text(statement))


def test_an_act_is_recorded_with_its_role_and_what_it_changed(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        phase, user = session.get_one(Phase, ids.phase), session.get_one(User, ids.user)
        changes = changed_fields(phase, {"pause_reason": "An outage", "late": "refuse"})
        owner = Caller(user_id=ids.user, scopes=frozenset({"organize"}))
        record(session, owner, "phase.pause", challenge=phase.challenge, of=phase, changes=changes, reason="An outage")
        record(session, OPERATOR, "user.reset", challenge=None, of=user)
        contact = {"contact": ("ada@example.org", "eve@example.org"), "title": ("t", "t")}
        record(session, owner, "challenge.edit", challenge=phase.challenge, of=phase.challenge, changes=contact)
    with db.read() as session:
        _, paused, reset, edited = session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        assert (paused.role, paused.actor_id, paused.object_id, paused.object_name) == (
            "owner",
            ids.user,
            ids.phase,
            "main",
        )
        assert paused.changes == {"pause_reason": {"from": None, "to": "An outage"}}
        assert (paused.challenge_id, paused.reason) == (ids.challenge, "An outage")
        assert (paused.phase_id, paused.object_type) == (ids.phase, "phase")
        assert (reset.role, reset.actor_id, reset.object_name) == ("operator", None, None)
        assert (reset.user_id, reset.object_type) == (ids.user, "user")
        assert edited.changes == {"contact": {"from": WITHHELD, "to": WITHHELD}}


@pytest.mark.both_databases
def test_entries_are_found_by_each_filter(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        phase, team = session.get_one(Phase, ids.phase), session.scalars(select(Team)).one()
        slug = phase.challenge.slug
        owner = Caller(user_id=ids.user, scopes=frozenset({"organize"}))
        record(session, owner, "quota.grant", challenge=phase.challenge, of=team, phase=phase, user_id=ids.user)
        record(session, OPERATOR, "service.repair", challenge=None, of=None)
    with db.read() as reader:
        first = reader.scalars(select(AuditEntry.at).order_by(AuditEntry.id)).first()

        def found(challenges: list[str] | None = None, **wanted: Any) -> list[str]:
            query = audit_entries.matching(AuditFilter(**wanted), challenges).order_by(AuditEntry.id)
            return [entry.action for entry in reader.scalars(query)]

        every, granted, repaired = ["phase.pause", "quota.grant", "service.repair"], ["quota.grant"], ["service.repair"]
        assert found() == every
        assert found([ids.challenge]) == every[:2]
        assert found(action="quota") == found(action="quota.") == found(action="quota.grant") == granted
        assert found(action="quota_") == found(action="quota.g") == []
        assert found(actor="operator") == repaired
        assert found(actor=ids.user) == every[:2]
        assert found(user=ids.user) == found(object=team.id) == found(team=team.id) == found(team="BLUE") == granted
        assert found(phase=ids.phase) == found(phase="main") == granted
        assert found(since=first) == every
        assert found(until=first) == []
        assert audit_entries.challenges_called(reader, slug) == [ids.challenge]
        assert audit_entries.challenge_slugs(reader, [ids.challenge]) == {ids.challenge: slug}
