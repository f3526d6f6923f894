"""What a board is made of, and which boards a transaction concerns: said once it has ended, here and on all other hosts.

Rows are watched as they are flushed. A statement that writes to these tables past the rows concerns every board, unless
it says by the execution option `NO_BOARD_CHANGE` that no board shows what it changes. What is sent to the connection itself is
not seen at all: who does that says what `invalidate`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Table, event, func, inspect, select
from sqlalchemy.orm import ORMExecuteState, SessionTransaction

from app.store.session import INVALIDATION_CALLBACK, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe, Score, Submission, Team

CHANNEL = "assay_changed"
ALL_BOARDS = "*"
NO_BOARD_CHANGE = {"no_board_shows": True}
_PENDING_TAGS = "told"
_MAX_TAGS = 100  # marks in one notice, which holds 8000 bytes

InvalidationCallback = Callable[[frozenset[str]], None]


def challenge_tag(challenge_id: str) -> str:
    """The mark of what concerns all boards of a challenge."""
    return f"challenge {challenge_id}"


def phase_tag(phase_id: str) -> str:
    """The mark of what concerns the boards of a phase."""
    return f"phase {phase_id}"


def waiting_tag(phase_id: str) -> str:
    """The mark of how many submissions of a phase wait for their scores: a board that is shown once none does goes by it."""
    return f"waiting {phase_id}"


def scores_tag(gold_id: str, scorer_version: int) -> str:
    """The mark of scores; those under another gold or scorer than the one in force concern no board."""
    return f"scores {gold_id} {scorer_version}"


@dataclass(frozen=True, slots=True)
class BoardSource:
    """A table that boards are made of: the mark of a row, and which of its changes a board shows."""

    mark: Callable[[Any], str]
    columns: frozenset[str] | None = None  # None: all of them
    new: bool = True  # whether a row that was just made is shown
    only: tuple[str, str] | None = field(default=None)  # a column, and the value that it has in rows that are shown

    def affects_board(self, row: Any, *, new: bool, deleted: bool) -> bool:
        """Whether a board is another one by this row, as it is about to be stored or removed."""
        if deleted:
            return True
        if new:
            return self.new and (self.only is None or getattr(row, self.only[0]) == self.only[1])
        states = inspect(row).attrs
        changed = {each.key for each in states if each.history.has_changes()}
        return bool(changed if self.columns is None else changed & self.columns) and self._is_or_was_on_board(
            row, states
        )

    def _is_or_was_on_board(self, row: Any, states: Any) -> bool:
        if self.only is None:
            return True
        name, value = self.only
        history = states[name].history
        known_otherwise = history.has_changes() and history.deleted and value not in history.deleted
        return getattr(row, name) == value or (history.has_changes() and not known_otherwise)


BOARD_SOURCES: dict[type[Any], BoardSource] = {
    Challenge: BoardSource(lambda row: challenge_tag(row.id)),
    Recipe: BoardSource(lambda row: challenge_tag(row.challenge_id)),
    Phase: BoardSource(lambda row: phase_tag(row.id)),
    GoldVersion: BoardSource(lambda row: phase_tag(row.phase_id)),
    Team: BoardSource(lambda row: challenge_tag(row.challenge_id), columns=frozenset({"name"}), new=False),
    Submission: BoardSource(
        lambda row: phase_tag(row.phase_id),
        columns=frozenset(
            {
                "phase_id",
                "team_id",
                "status",
                "method",
                "baseline",
                "submitted_at",
                "selected_at",
                "withdrawn_at",
                "disqualified_at",
            }
        ),
        only=("status", "finished"),
    ),
    Score: BoardSource(lambda row: scores_tag(row.gold_id, row.scorer_version)),
}
_BOARD_TABLES = frozenset(kind.__tablename__ for kind in BOARD_SOURCES)


def invalidate(session: WriteSession, *marks: str) -> None:
    """Say what a statement changed that was sent past the session, where no event sees it."""
    _record_tags(session, marks)


@event.listens_for(WriteSession, "after_flush")
def _after_flush(session: WriteSession, _context: Any) -> None:
    marks = {_tag_of(row, new=True) for row in session.new}
    marks |= {_tag_of(row) for row in session.dirty}
    marks |= {_tag_of(row, deleted=True) for row in session.deleted}
    _record_tags(session, marks - {None})


@event.listens_for(WriteSession, "do_orm_execute")
def _on_execute(asked: ORMExecuteState) -> None:
    if not (asked.is_insert or asked.is_update or asked.is_delete) or asked.execution_options.get("no_board_shows"):
        return
    table = getattr(asked.statement, "table", None)
    if isinstance(table, Table) and table.name in _BOARD_TABLES:
        _record_tags(asked.session, {ALL_BOARDS})


@event.listens_for(WriteSession, "after_transaction_end")
def _after_transaction(session: WriteSession, transaction: SessionTransaction) -> None:
    """Committed or not: of one whose commit failed nobody knows."""
    if transaction.parent is not None:
        return
    told = session.info.pop(_PENDING_TAGS, None)
    heard: InvalidationCallback | None = session.info.get(INVALIDATION_CALLBACK)
    if told and heard is not None:
        heard(frozenset(told))


def _tag_of(row: Any, *, new: bool = False, deleted: bool = False) -> str | None:
    source = BOARD_SOURCES.get(type(row))
    return source.mark(row) if source is not None and source.affects_board(row, new=new, deleted=deleted) else None


def _record_tags(session: Any, marks: Iterable[Any]) -> None:
    """Keep the marks for the end of the transaction; on PostgreSQL it also sends the notice, if it commits.

    The notice is sent at once, so that it comes before that of a submission settled by the same transaction.
    """
    told: set[str] = session.info.setdefault(_PENDING_TAGS, set())
    fresh = sorted(set(marks) - told)
    told.update(fresh)
    if fresh and session.get_bind().dialect.name != "sqlite":
        text = ALL_BOARDS if len(fresh) > _MAX_TAGS else "\n".join(fresh)
        session.execute(select(func.pg_notify(CHANNEL, text)))
