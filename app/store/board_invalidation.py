"""Finds out which boards a transaction changes, and reports them when it ends, in this process and to other hosts.

Each cached board depends on a few tags. A tag that a worker reports for a settled submission also names the team and
the submission: caches may show the board without it to others for a moment.

Rows are watched as they are flushed. An UPDATE, INSERT or DELETE through the session that bypasses its objects
invalidates every board, unless its execution options hold `NO_BOARD_CHANGE`. No event sees what is sent to the
connection directly: such code calls `invalidate` itself.

What may change the ranked rows of a board is also stored in the same transaction (`BoardChange`), so that a worker has
the rows compared again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Table, event, func, insert, inspect, select
from sqlalchemy.orm import ORMExecuteState, SessionTransaction

from app.store.session import INVALIDATION_CALLBACK, WriteSession
from app.store.tables import (
    BoardChange,
    Challenge,
    GoldVersion,
    Phase,
    Recipe,
    Registration,
    Score,
    Submission,
    Team,
)
from app.store.types import new_id

CHANNEL = "assay_changed"
ALL_BOARDS = "*"
NO_BOARD_CHANGE = {"no_board_shows": True}
_PENDING_TAGS = "pending board tags"  # key in the info of a session
_MAX_TAGS = 100  # of one transaction; more are reported as `ALL_BOARDS`
_MAX_PAYLOAD_BYTES = 7900  # PostgreSQL allows less than 8000
_SETTLED = " settled "
_WAITING = "waiting "
_PHASE = "phase "
_SCORES = "scores "
_ANALYSIS = "analysis "
NO_TEAM = ""

InvalidationCallback = Callable[[frozenset[str]], None]


def challenge_tag(challenge_id: str) -> str:
    """The tag of all boards of a challenge."""
    return f"challenge {challenge_id}"


def phase_tag(phase_id: str) -> str:
    """The tag of the boards of a phase."""
    return f"{_PHASE}{phase_id}"


def waiting_tag(phase_id: str) -> str:
    """The tag of the number of unsettled submissions of a phase; boards that appear at zero depend on it."""
    return f"{_WAITING}{phase_id}"


def scores_tag(gold_id: str, scorer_version: int) -> str:
    """The tag of scores; boards depend only on those of the active gold and the phase's scorer version."""
    return f"{_SCORES}{gold_id} {scorer_version}"


def analysis_tag(phase_id: str) -> str:
    """The tag of intervals and comparisons of the rows of a phase: boards show them, but they change no ranking."""
    return f"{_ANALYSIS}{phase_id}"


class SettledTag(NamedTuple):
    """A parsed tag of a settled submission: the tag of the boards that it changes, its team and its id."""

    board_tag: str
    team_id: str
    submission_id: str


def settled_tag(board_tag: str, team_id: str, submission_id: str) -> str:
    """The tag with which a worker reports that a submission has its final status, instead of `board_tag` alone."""
    return f"{board_tag}{_SETTLED}{team_id} {submission_id}"


def intervals_tag(phase_id: str, submission_id: str) -> str:
    """The tag of the intervals of one submission, which any reader may be shown a second later."""
    return settled_tag(analysis_tag(phase_id), NO_TEAM, submission_id)


def parse_settled_tag(tag: str) -> SettledTag | None:
    """The parts of a tag that `settled_tag` built; None for all other tags."""
    board_tag, separator, ids = tag.partition(_SETTLED)
    team_id, _, submission_id = ids.partition(" ")
    return SettledTag(board_tag, team_id, submission_id) if separator else None


def is_phase_tag(tag: str) -> bool:
    """Whether a tag of `phase_tag`."""
    return tag.startswith(_PHASE)


def is_scores_tag(tag: str) -> bool:
    """Whether a tag of `scores_tag`."""
    return tag.startswith(_SCORES)


def is_waiting_tag(tag: str) -> bool:
    """Whether a tag of `waiting_tag`: a board with such a tag appears only after the close."""
    return tag.startswith(_WAITING)


@dataclass(frozen=True, slots=True)
class BoardSource:
    """A table that boards are computed from: the tag of a row, and which changes affect a board."""

    tag: Callable[[Any], str]
    columns: frozenset[str] | None = None  # the columns that a board depends on; None for all
    new: bool = True  # whether an inserted row affects a board
    only: tuple[str, str] | None = None  # a column and the value that it has in the rows of a board

    def affects_board(self, row: Any, *, new: bool, deleted: bool) -> bool:
        """Whether a board changes by this row, which is about to be stored or deleted."""
        if deleted:
            return True
        if new:
            return self.new and (self.only is None or getattr(row, self.only[0]) == self.only[1])
        attributes = inspect(row).attrs
        changed = {each.key for each in attributes if each.history.has_changes()}
        relevant = changed if self.columns is None else changed & self.columns
        return bool(relevant) and self._is_or_was_on_board(row, attributes)

    def _is_or_was_on_board(self, row: Any, attributes: Any) -> bool:
        if self.only is None:
            return True
        name, value = self.only
        history = attributes[name].history
        # A value that was never loaded leaves no history: then the row counts as having been on the board.
        was_off_board = history.has_changes() and history.deleted and value not in history.deleted
        return getattr(row, name) == value or (history.has_changes() and not was_off_board)


BOARD_SOURCES: dict[type[Any], BoardSource] = {
    Challenge: BoardSource(lambda row: challenge_tag(row.id)),
    Recipe: BoardSource(lambda row: challenge_tag(row.challenge_id)),
    Phase: BoardSource(lambda row: phase_tag(row.id)),
    GoldVersion: BoardSource(lambda row: phase_tag(row.phase_id)),
    Team: BoardSource(
        lambda row: challenge_tag(row.challenge_id),
        columns=frozenset({"name", "disqualified_at"}),
        new=False,
    ),
    # A team whose members are all barred is marked, also if they left it; another member ends that.
    Registration: BoardSource(
        lambda row: challenge_tag(row.challenge_id), columns=frozenset({"status", "team_id", "bound_team_id"})
    ),
    Submission: BoardSource(
        lambda row: phase_tag(row.phase_id),
        columns=frozenset({"phase_id", "team_id", "status", "method", "baseline", "submitted_at"})
        | {"selected_at", "withdrawn_at", "disqualified_at", "on_behalf", "test", "unofficial"},
        only=("status", "finished"),
    ),
    Score: BoardSource(lambda row: scores_tag(row.gold_id, row.scorer_version)),
}
_ADD_CHANGE = insert(BoardChange.__table__)
_BOARD_TABLES = frozenset(kind.__tablename__ for kind in BOARD_SOURCES)


def invalidate(session: WriteSession, *tags: str) -> None:
    """Report what a statement changed that was sent to the connection directly, where no event sees it."""
    _record_tags(session, tags)


@event.listens_for(WriteSession, "after_flush")
def _after_flush(session: WriteSession, _context: Any) -> None:
    tags = {_tag_of(row, new=True) for row in session.new}
    tags |= {_tag_of(row) for row in session.dirty}
    tags |= {_tag_of(row, deleted=True) for row in session.deleted}
    _record_tags(session, tags - {None})


@event.listens_for(WriteSession, "do_orm_execute")
def _on_execute(state: ORMExecuteState) -> None:
    if not (state.is_insert or state.is_update or state.is_delete) or state.execution_options.get("no_board_shows"):
        return
    table = getattr(state.statement, "table", None)
    if isinstance(table, Table) and table.name in _BOARD_TABLES:
        _record_tags(state.session, {ALL_BOARDS})


@event.listens_for(WriteSession, "before_commit")
def _before_commit(session: WriteSession) -> None:
    """Store which boards this transaction changes, for those that compare their rows."""
    tags = sorted(set(filter(None, map(_ranking_tag, session.info.get(_PENDING_TAGS, ())))))
    if tags:
        row = {"id": new_id(), "tags": [ALL_BOARDS] if len(tags) > _MAX_TAGS else tags}
        session.connection().execute(_ADD_CHANGE, row)


def _ranking_tag(tag: str) -> str | None:
    """The tag of the boards whose ranking may change; None if only what they show beside it does."""
    settled = parse_settled_tag(tag)
    board_tag = tag if settled is None else settled.board_tag
    return None if board_tag.startswith((_WAITING, _ANALYSIS)) else board_tag


@event.listens_for(WriteSession, "after_transaction_end")
def _after_transaction(session: WriteSession, transaction: SessionTransaction) -> None:
    """Report the tags after a rollback too: a commit that failed may have been stored nevertheless.

    Before the end of the transaction it would be too early: a board computed meanwhile would still show the old rows.
    """
    if transaction.parent is not None:
        return
    tags = session.info.pop(_PENDING_TAGS, None)
    callback: InvalidationCallback | None = session.info.get(INVALIDATION_CALLBACK)
    if tags and callback is not None:
        callback(frozenset(tags))


def _tag_of(row: Any, *, new: bool = False, deleted: bool = False) -> str | None:
    source = BOARD_SOURCES.get(type(row))
    return source.tag(row) if source is not None and source.affects_board(row, new=new, deleted=deleted) else None


def _record_tags(session: Any, tags: Iterable[Any]) -> None:
    """Store the tags until the transaction ends; PostgreSQL also notifies the other hosts if it commits.

    PostgreSQL delivers the notifications of a transaction in the order of the calls. This one is queued at once, so
    that it precedes the notification of a submission that the same transaction settles: a client that waits for the
    submission and then reads the board gets the new one.
    """
    pending: set[str] = session.info.setdefault(_PENDING_TAGS, set())
    new_tags = sorted(set(tags) - pending)
    pending.update(new_tags)
    if new_tags and session.get_bind().dialect.name != "sqlite":
        for payload in _payloads([ALL_BOARDS] if len(new_tags) > _MAX_TAGS else new_tags):
            session.execute(select(func.pg_notify(CHANNEL, payload)))


def _payloads(tags: Sequence[str]) -> Iterator[str]:
    """The tags, one per line, in as few notifications as their limited size allows."""
    lines, size = list[str](), 0
    for tag in tags:
        if size + len(tag) >= _MAX_PAYLOAD_BYTES:
            yield "\n".join(lines)
            lines, size = [], 0
        lines.append(tag)
        size += len(tag) + 1
    yield "\n".join(lines)
