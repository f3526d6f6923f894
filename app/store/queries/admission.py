"""What admitting a submission reads, in one statement, and what it stores, on PostgreSQL in one statement too."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Insert, Select, and_, bindparam, delete, insert, literal, select, tuple_
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from app.store import clock
from app.store.clock import ClockReading
from app.store.queries.phase_for_user import PhaseContext, columns_of, join_context
from app.store.queries.users import BEARER_COLUMNS, BearerToken
from app.store.session import ReadSession, WriteSession
from app.store.tables import (
    Base,
    Challenge,
    IdempotencyKey,
    Phase,
    QuotaEntry,
    ScoreTask,
    Submission,
    Token,
    User,
)

IDEMPOTENCY_KEY_LIFETIME = timedelta(hours=24)
FORGET_BATCH_SIZE = 1000


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An Idempotency-Key with the fingerprint of its request and the submission that it stored."""

    fingerprint: Annotated[str, IdempotencyKey.fingerprint]
    submission_id: Annotated[str, IdempotencyKey.submission_id]
    created_at: Annotated[datetime, IdempotencyKey.created_at]


@dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """What admission depends on: the phase as the sender sees it, if it exists, and the key unless it has expired."""

    context: PhaseContext | None
    key: StoredKey | None
    read_at: ClockReading


_BEARER, _CONTEXT, _KEY = BEARER_COLUMNS, columns_of(PhaseContext), columns_of(StoredKey)
_KEY_START = len(_CONTEXT)


def _facts_query(start: Select[Any], user: ColumnElement[str]) -> Select[Any]:
    """Join the facts about a user to a query with one row."""
    phase = and_(Phase.challenge_id == Challenge.id, Phase.slug == bindparam("phase"))
    query = (
        start.add_columns(*_CONTEXT, *_KEY, clock.DatabaseTime())
        .outerjoin(Challenge.__table__, Challenge.slug == bindparam("challenge"))
        .outerjoin(Phase.__table__, phase)
    )
    key = and_(IdempotencyKey.user_id == user, IdempotencyKey.key == bindparam("key"))
    return join_context(query, user, optional=True).outerjoin(IdempotencyKey.__table__, key)


# Built once, and from tables instead of mapped classes: every submission runs both.
_OF_USER = _facts_query(select().select_from(select(literal(1).label("one")).subquery("one_row")), bindparam("user_id"))
_OF_TOKEN = _facts_query(
    select(*_BEARER)
    .select_from(Token.__table__)
    .join(User.__table__, User.__table__.c.id == Token.__table__.c.user_id)
    .where(Token.__table__.c.id == bindparam("token_id")),
    Token.__table__.c.user_id,
)


def load_facts(session: ReadSession, user_id: str, challenge: str, phase: str, key: str | None) -> AdmissionFacts:
    """The facts about a phase, a user and an Idempotency-Key of theirs."""
    parameters = {"user_id": user_id, "challenge": challenge, "phase": phase, "key": key}
    return _facts(session, session.connection().execute(_OF_USER, parameters).one())


def load_token_and_facts(
    session: ReadSession, token_id: str, challenge: str, phase: str, key: str | None
) -> tuple[BearerToken, AdmissionFacts] | None:
    """A token that is neither revoked nor expired, and the facts about its user; None if there is none."""
    parameters = {"token_id": token_id, "challenge": challenge, "phase": phase, "key": key}
    row = session.connection().execute(_OF_TOKEN, parameters).first()
    if row is None:
        return None
    token, facts = BearerToken(*row[: len(_BEARER)]), _facts(session, row[len(_BEARER) :])
    return (token, facts) if token.is_live(facts.read_at.steady) else None


def _facts(session: ReadSession, row: Any) -> AdmissionFacts:
    context, key = PhaseContext(*row[:_KEY_START]), StoredKey(*row[_KEY_START:-1])
    read_at = clock.reading(session, row[-1])
    # Columns of a row that was not joined are null.
    is_known = context.phase_id is not None and context.recipe_id is not None
    is_live = key.created_at is not None and key.created_at > read_at.steady - IDEMPOTENCY_KEY_LIFETIME
    return AdmissionFacts(context if is_known else None, key if is_live else None, read_at)


def store(
    session: WriteSession,
    submission: Submission,
    *,
    task: dict[str, Any],
    reservation: dict[str, Any] | None,
    key: dict[str, Any] | None,
) -> None:
    """Store a new submission with its task, and a reservation of quota and an Idempotency-Key if they are given.

    The key replaces one that has expired. The object stays outside the session, which would read the row back.
    """
    columns = Submission.__table__.c
    rows: dict[type[Base], dict[str, Any]] = {
        Submission: {name: value for name, value in vars(submission).items() if name in columns},
        ScoreTask: task,
        **({} if reservation is None else {QuotaEntry: reservation}),
        **({} if key is None else {IdempotencyKey: key}),
    }
    rows = {kind: _scalar_defaults(kind) | row for kind, row in rows.items()}
    values = {f"{kind.__tablename__}_{name}": value for kind, row in rows.items() for name, value in row.items()}
    shape = tuple((kind, tuple(row)) for kind, row in rows.items())
    for statement in _insert_statements(session.get_bind().dialect.name, shape):
        session.connection().execute(statement, values)


@cache
def _scalar_defaults(kind: type[Base]) -> dict[str, Any]:
    """The declared default values of a table, which SQLAlchemy does not fill in within a common table expression."""
    defaults = {column.name: column.default for column in kind.__table__.c}
    return {name: default.arg for name, default in defaults.items() if isinstance(default, ScalarElementColumnDefault)}


@cache
def _insert_statements(dialect: str, shape: tuple[tuple[type[Base], tuple[str, ...]], ...]) -> list[Insert]:
    """The statements that insert a row of each kind with these columns: on PostgreSQL one, on SQLite one for each."""
    inserts = [_insert_statement(dialect, kind, names) for kind, names in shape]
    if dialect == "sqlite":
        return inserts
    *others, last = inserts
    named = [each.cte(f"new_{each.table.name}") for each in others]
    return [last.add_cte(*named)]  # foreign keys are checked after the whole statement


def _insert_statement(dialect: str, kind: type[Base], names: tuple[str, ...]) -> Insert:
    table = kind.__table__
    values = {name: bindparam(f"{table.name}_{name}", type_=table.c[name].type) for name in names}
    if kind is not IdempotencyKey:
        return insert(table).values(values)
    replacing = (sqlite_insert if dialect == "sqlite" else postgresql_insert)(table).values(values)
    new = {name: replacing.excluded[name] for name in ("fingerprint", "submission_id", "created_at")}
    return replacing.on_conflict_do_update(index_elements=["user_id", "key"], set_=new)


def forget_expired_keys(session: WriteSession) -> int:
    """Delete some expired keys, except those that other transactions hold; returns how many."""
    old = IdempotencyKey.created_at <= clock.steady(session) - IDEMPOTENCY_KEY_LIFETIME
    primary_key = (IdempotencyKey.user_id, IdempotencyKey.key)
    some = select(*primary_key).where(old).limit(FORGET_BATCH_SIZE).with_for_update(skip_locked=True)
    deleted = session.execute(delete(IdempotencyKey).where(tuple_(*primary_key).in_(some)).returning(*primary_key))
    return len(deleted.all())
