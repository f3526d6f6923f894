"""The fair order of queued tasks: round robin over lanes, within a lane over sublanes, there the oldest first.

Each participant has a lane, with a sublane for each of their teams. Everything that organizers enter
shares one lane, with a sublane per organizer. A queued task takes its lane's next free `turn`, the number of a round.
The task with the smallest turn determines which lane is next. Within that lane the smallest `subturn` determines the
task, in the same way among sublanes. If that is another task, the two swap turns: turns belong to the lane, not to the
task. So the n-th task of a lane by subturn is served with the n-th turn of the lane (app.store.queries.queue_positions).

So a claim reads the first entries of two indexes, however many tasks wait. Each statement spells out the condition of
these partial indexes: with bound parameters, neither database would know that they apply.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Executable, Row, bindparam, select, text

from app.store import clock, locks
from app.store.clock import ClockReading
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import WAITING_CONDITION

_ORGANIZERS = "organizers"


@dataclass(frozen=True, slots=True)
class Lane:
    """The queue of one participant, or of all organizers, and the sublane of a task within it."""

    name: str
    sublane: str

    @classmethod
    def of_participant(cls, user_id: str, team_id: str) -> "Lane":
        """The lane of a user, with a sublane per team."""
        return cls(user_id, team_id)

    @classmethod
    def of_organizer(cls, user_id: str) -> "Lane":
        """The shared lane of what organizers enter or order: baselines, entries for teams, failures scored again."""
        return cls(_ORGANIZERS, user_id)


class TaskTurn(NamedTuple):
    """The round of a task's lane, and the round of its sublane within the lane."""

    turn: int
    subturn: int


_LANE_ROUNDS = """
    SELECT rounds.*, CASE WHEN rounds.last IS NULL OR rounds.last < rounds.served THEN (
        SELECT 1 FROM score_tasks {served}
        WHERE served_turn IS NOT NULL AND served_turn >= rounds.served AND lane = :lane
        ORDER BY served_turn DESC LIMIT 1
    ) END AS just_served
    FROM (
        SELECT (SELECT max(served_turn) FROM score_tasks {served} WHERE served_turn IS NOT NULL) AS served,
               (SELECT max(turn) FROM score_tasks {lane} WHERE {waiting} AND lane = :lane) AS last,
               (SELECT min(subturn) FROM score_tasks {subturn} WHERE {waiting} AND lane = :lane) AS first_subturn,
               (SELECT max(subturn) FROM score_tasks {sublane} WHERE {waiting} AND lane = :lane AND sublane = :sublane)
                   AS last_subturn
    ) AS rounds
"""
"""`just_served` says whether a lane without a later turn was served in the latest round. Its ORDER BY makes PostgreSQL
use the index even if its statistics say that nearly all rows are of this lane and round; otherwise it would read them
all."""
_DUE = "{waiting} AND scorer_version = :scorer AND (not_before IS NULL OR not_before <= :moment)"
_CHOOSE = f"""
    WITH holder AS MATERIALIZED (
        SELECT id, turn, ticket, lane, priority FROM score_tasks {{turn}}
        WHERE {_DUE} ORDER BY priority, turn, ticket LIMIT 1 {{locked}}
    ), chosen AS MATERIALIZED (
        SELECT id, attempt, submission_id, gold_id, recipe_id, lane, turn, ticket FROM score_tasks {{subturn}}
        WHERE {_DUE} AND lane = (SELECT lane FROM holder) AND priority = (SELECT priority FROM holder)
        ORDER BY subturn, id LIMIT 1 {{locked}}
    ) {{start}}
    SELECT chosen.id, chosen.attempt, chosen.submission_id, chosen.gold_id, chosen.recipe_id, chosen.lane, chosen.turn,
           chosen.ticket, holder.id AS holder_id, holder.turn AS holder_turn, holder.ticket AS holder_ticket,
           sent.file_key, sent.format, sent.encoding, sent.layout, sent.submitted_at,
           gold.status AS gold_status, gold.activated_at AS gold_activated_at,
           (SELECT id FROM board_switches WHERE phase_id = sent.phase_id AND status = 'pending') AS pending_switch,
           (SELECT id FROM board_switches WHERE phase_id = sent.phase_id AND status = 'done'
            ORDER BY number DESC LIMIT 1) AS last_switch,
           (SELECT id FROM score_tasks {{turn}} WHERE {_DUE} AND id <> chosen.id
            ORDER BY priority, turn, ticket LIMIT 1) AS following
    FROM holder CROSS JOIN chosen
    JOIN submissions AS sent ON sent.id = chosen.submission_id JOIN gold_versions AS gold ON gold.id = chosen.gold_id
"""  # noqa: S608 - constants
"""The task to claim next, with what scoring needs of its submission and gold, the switches that name further versions to
score by, and the task that holds its lane's smallest turn, often the same. `chosen` is never empty if `holder` is not: the condition holds for the holder itself."""
# The chosen task gets the turn of the holder, which gets its turn. A retry ordered by an organizer is not an attempt of
# the team; the first try of an organizer's entry is one.
_START_TASK = """
    UPDATE score_tasks SET status = 'running', attempt = attempt + 1, turn = {holder_turn},
        ticket = {holder_ticket}, served_turn = {holder_turn}, started_at = :now, lease_until = :until
    WHERE id = {id}
"""
_SWAP_TURN = """
    UPDATE score_tasks SET turn = {turn}, ticket = {ticket} WHERE id = {holder_id} AND id <> {id}
"""
_SHOW_STARTED = """
    UPDATE submissions SET status = 'running', started_at = :now,
        attempt = attempt + CASE WHEN {lane} = :organizers AND {attempt} > 0 THEN 0 ELSE 1 END
    WHERE id = {submission_id} AND status = 'queued'
"""
_CLOSE_GAP = """
    UPDATE score_tasks SET turn = :turn, ticket = :ticket WHERE id = (
        SELECT id FROM score_tasks {lane} WHERE {waiting} AND lane = :lane AND turn > :turn
        ORDER BY turn DESC LIMIT 1 {locked}
    )
"""
_MOMENT: BindParameter[Any] = bindparam("moment", type_=ScoreTask.not_before.type)
_NOW: BindParameter[Any] = bindparam("now", type_=ScoreTask.started_at.type)
_UNTIL: BindParameter[Any] = bindparam("until", type_=ScoreTask.lease_until.type)


_CHANGES = {"start_task": _START_TASK, "swap_turn": _SWAP_TURN, "show_started": _SHOW_STARTED}


def _changes(dialect: str) -> dict[str, str]:
    """The UPDATEs of a claim; on SQLite with the chosen row as parameters, on PostgreSQL as parts of one statement."""
    columns = ("id", "attempt", "submission_id", "lane", "turn", "ticket")
    names = {name: f"(SELECT {name} FROM chosen)" for name in columns}  # noqa: S608 - constants
    names |= {f"holder_{name}": f"(SELECT {name} FROM holder)" for name in ("id", "turn", "ticket")}  # noqa: S608
    words = {name: f":{name}" for name in names} if dialect == "sqlite" else names
    return {name: template.format(**words) for name, template in _CHANGES.items()}


def _statements(dialect: str) -> dict[str, Executable]:
    """The statements for a dialect. On SQLite they name their index; otherwise it would sort all waiting tasks.

    SKIP LOCKED passes over tasks that other workers are claiming now, so that claims do not wait for each other. A
    claim is one statement on PostgreSQL; SQLite does not allow an UPDATE in a WITH clause.
    """
    indexes = ("turn", "lane", "subturn", "sublane", "served")
    words = {name: f"INDEXED BY ix_score_tasks_{name}" if dialect == "sqlite" else "" for name in indexes}
    words |= {"waiting": WAITING_CONDITION, "locked": "" if dialect == "sqlite" else "FOR UPDATE SKIP LOCKED"}
    changes = _changes(dialect)
    words["start"] = "" if dialect == "sqlite" else "".join(f", {name} AS ({sql})" for name, sql in changes.items())
    templates = {"lane_rounds": _LANE_ROUNDS, "choose": _CHOOSE, "close_gap": _CLOSE_GAP}
    if dialect == "sqlite":
        templates |= changes
    statements = {name: text(template.format(**words)) for name, template in templates.items()}
    for name in ("choose", *_CHANGES):
        if name in statements:
            times = [time for time in (_MOMENT, _NOW, _UNTIL) if f":{time.key}" in str(statements[name])]
            statements[name] = statements[name].bindparams(*times)
    loaded = {"submitted_at": Submission.submitted_at.type, "gold_activated_at": GoldVersion.activated_at.type}
    return {**statements, "choose": statements["choose"].columns(**loaded)}


_SQL = {dialect: _statements(dialect) for dialect in ("sqlite", "postgresql")}
# Until PostgreSQL has analyzed a burst of new rows, it expects few and would sort them all for each claim.
_PREPARE_CLAIMS = text(
    "SELECT clock_timestamp(), set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)"
)


def lane_of(session: ReadSession, submission_id: str) -> Lane:
    """The lane of the newest earlier task of the submission; for its first task, the lane of its sender."""
    task = ScoreTask.__table__.c
    earlier = select(task.lane, task.sublane).where(task.submission_id == submission_id, task.lane != "")
    row = session.execute(earlier.order_by(task.id.desc()).limit(1)).one_or_none()
    if row is None:
        sender = select(Submission.user_id, Submission.team_id).where(Submission.id == submission_id)
        row = session.execute(sender).one()
    return Lane(*row)


def take_turn(session: WriteSession, lane: Lane) -> TaskTurn:
    """The next free turn of this lane; the lane stays locked until the transaction ends."""
    locks.lane(session, lane.name)
    return next_turn(session, lane)


def next_turn(session: WriteSession, lane: Lane) -> TaskTurn:
    """The next free turn of a lane that this transaction has locked.

    A lane without waiting tasks starts with the current round, or with the next one if it was already served in the
    current round. So a new participant does not wait for the backlog, and one who returns does not overtake others.
    """
    statement = _SQL[session.get_bind().dialect.name]["lane_rounds"]
    row = session.connection().execute(statement, {"lane": lane.name, "sublane": lane.sublane}).one()
    turn = row.served or 0
    if row.last is not None and row.last >= turn:
        turn = row.last + 1
    elif row.just_served is not None:
        turn += 1
    subturn = max(row.first_subturn or 0, 0 if row.last_subturn is None else row.last_subturn + 1)
    return TaskTurn(turn, subturn)


def take_another_turn(session: WriteSession, task: ScoreTask) -> None:
    """Give a requeued task a new turn of its lane; within the lane it keeps its subturn."""
    task.turn, task.ticket = take_turn(session, Lane(task.lane, task.sublane)).turn, id_at(clock.steady(session))


def prepare_claims(session: WriteSession) -> ClockReading:
    """Prepare a transaction that may claim tasks; returns the time, which comes with it."""
    if session.get_bind().dialect.name == "sqlite":
        return clock.read(session)
    return clock.reading(session, session.connection().execute(_PREPARE_CLAIMS).scalar_one())


def start_next(
    session: WriteSession, scorer_version: int, moment: ClockReading, lease: timedelta | None
) -> Row[Any] | None:
    """Start the next due task in fair order, with the columns that scoring needs; None if there is none.

    The row shows the task as it was before.
    """
    connection, sql = session.connection(), _SQL[session.get_bind().dialect.name]
    until = None if lease is None else moment.steady + lease
    times = {"moment": moment.steady, "now": moment.now, "until": until, "organizers": _ORGANIZERS}
    chosen = connection.execute(sql["choose"], times | {"scorer": scorer_version}).one_or_none()
    if chosen is not None and "start_task" in sql:
        swapped = chosen.id != chosen.holder_id
        for name in _CHANGES if swapped else ("start_task", "show_started"):
            connection.execute(sql[name], chosen._asdict() | times)
    return chosen


def release_turn(session: WriteSession, task: ScoreTask) -> None:
    """Pass the turn of a task that is no longer queued to the last task of its lane, so that the lane has no gap."""
    statement = _SQL[session.get_bind().dialect.name]["close_gap"]
    session.connection().execute(statement, {"turn": task.turn, "ticket": task.ticket, "lane": task.lane})
