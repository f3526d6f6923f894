"""Whose turn it is: queued tasks go round robin over lanes, within a lane over its parts, and there the oldest first.

Each participant has a lane, whose parts are the teams that he or she submits for; what organizers enter shares one lane,
whose parts are the organizers. A task that is queued takes its lane's next free `turn`, the number of a round. The task
with the smallest turn says which lane is next; which task of the lane that is, its `subturn` decides in the same way
among the lane's parts. If that is another one, the two exchange turns: turns belong to the lane, not to the task.

So a claim reads the first entries of two indexes, however many tasks wait. The condition of those indexes is written out
in each statement: with parameters neither database would know that they apply.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Row, TextClause, bindparam, select, text, update

from app.store import clock, locks
from app.store.session import ReadSession, WriteSession
from app.store.tables import ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import WAITING_CONDITION

_ORGANIZERS = "organizers"


@dataclass(frozen=True, slots=True)
class Lane:
    """What takes turns with others like it, and the part of it that takes turns with its other parts."""

    name: str
    part: str

    @classmethod
    def of_participant(cls, user_id: str, team_id: str) -> "Lane":
        """That of a user, in which each team has a part."""
        return cls(user_id, team_id)

    @classmethod
    def of_organizer(cls, user_id: str) -> "Lane":
        """The one of all that organizers enter or order: baselines, entries on behalf of teams, failed ones again."""
        return cls(_ORGANIZERS, user_id)


class TaskTurn(NamedTuple):
    """Where a task stands: the round of its lane, and the round of its part within the lane."""

    turn: int
    subturn: int


class ChosenTask(NamedTuple):
    """The task whose turn it is, and the one of its lane that holds this turn."""

    task: Row[Any]
    holder: Row[Any]


_LANE_STATE = """
    SELECT (SELECT max(served_turn) FROM score_tasks {served} WHERE served_turn IS NOT NULL) AS served,
           (SELECT max(turn) FROM score_tasks {lane} WHERE {waiting} AND lane = :lane) AS last,
           (SELECT min(subturn) FROM score_tasks {subturn} WHERE {waiting} AND lane = :lane) AS part_first,
           (SELECT max(subturn) FROM score_tasks {sublane} WHERE {waiting} AND lane = :lane AND sublane = :part)
               AS part_last
"""
_JUST_SERVED = """
    SELECT 1 FROM score_tasks {served} WHERE served_turn IS NOT NULL AND served_turn >= :turn AND lane = :lane
    ORDER BY served_turn DESC LIMIT 1
"""
"""Whether a lane was served in the last round that was. By the order, PostgreSQL follows the index also where it takes
nearly all rows to be of this lane and round, and would read them all."""
_COLUMNS = "SELECT id, attempt, submission_id, turn, ticket, lane, priority FROM score_tasks"
_DUE = "{waiting} AND scorer_version = :scorer AND (not_before IS NULL OR not_before <= :moment)"
_HEAD = f"{_COLUMNS} {{turn}} WHERE {_DUE} ORDER BY priority, turn, ticket LIMIT 1 {{locked}}"
_IN_LANE = f"""
    {_COLUMNS} {{subturn}} WHERE {_DUE} AND lane = :lane AND priority = :priority ORDER BY subturn, id LIMIT 1 {{locked}}
"""
_CLOSE_GAP = """
    UPDATE score_tasks SET turn = :turn, ticket = :ticket WHERE id = (
        SELECT id FROM score_tasks {lane} WHERE {waiting} AND lane = :lane AND turn > :turn
        ORDER BY turn DESC LIMIT 1 {locked}
    )
"""
_SET_TURN = (
    update(ScoreTask.__table__)
    .where(ScoreTask.id == bindparam("task"))
    .values(turn=bindparam("given"), ticket=bindparam("with_ticket"))
)
_SAME_LANE = "{waiting} AND lane = my_lane AND priority = my_priority"
_EFFECTIVE_TURN = f"""
    WITH mine AS (
        SELECT id AS my_id, lane AS my_lane, priority AS my_priority, subturn AS my_subturn
        FROM score_tasks WHERE id = :id AND {{waiting}}
    )
    SELECT priority, turn, ticket FROM mine CROSS JOIN score_tasks {{lane}} WHERE {_SAME_LANE}
    ORDER BY turn, ticket LIMIT 1 OFFSET (
        SELECT count(*) FROM mine CROSS JOIN score_tasks {{subturn}}
        WHERE {_SAME_LANE} AND (subturn, id) < (my_subturn, my_id)
    )
"""  # noqa: S608 - constants
_AHEAD = """
    SELECT count(*) FROM score_tasks {turn}
    WHERE {waiting} AND (priority, turn, ticket) < (:priority, :turn, :ticket)
"""
_MOMENT: BindParameter[Any] = bindparam("moment", type_=ScoreTask.not_before.type)


def _statements(dialect: str) -> dict[str, TextClause]:
    """The statements for this kind of database. SQLite is told which index to follow: it would sort all that wait."""
    names = ("turn", "lane", "subturn", "sublane", "served")
    own = {name: f"INDEXED BY ix_score_tasks_{name}" if dialect == "sqlite" else "" for name in names}
    own |= {"waiting": WAITING_CONDITION, "locked": "" if dialect == "sqlite" else "FOR UPDATE SKIP LOCKED"}
    statements = {"standing": _LANE_STATE, "just": _JUST_SERVED, "head": _HEAD, "in_lane": _IN_LANE, "gap": _CLOSE_GAP}
    statements |= {"held": _EFFECTIVE_TURN, "ahead": _AHEAD}
    made = {name: text(statement.format(**own)) for name, statement in statements.items()}
    return made | {name: made[name].bindparams(_MOMENT) for name in ("head", "in_lane")}


_SQL = {dialect: _statements(dialect) for dialect in ("sqlite", "postgresql")}
# Until PostgreSQL has counted rows that came in a gust it takes them for few, and would sort them all for each claim.
_DISABLE_SORT = text(
    "SELECT set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)"
)


def lane_of(session: ReadSession, submission_id: str) -> Lane:
    """The lane that an earlier task of the submission had; of the first one, that of whoever sent it."""
    task = ScoreTask.__table__.c
    earlier = select(task.lane, task.sublane).where(task.submission_id == submission_id, task.lane != "")
    found = session.execute(earlier.order_by(task.id.desc()).limit(1)).one_or_none()
    if found is None:
        sent = select(Submission.user_id, Submission.team_id).where(Submission.id == submission_id)
        found = session.execute(sent).one()
    return Lane(*found)


def is_in_organizers_lane(task: Row[Any]) -> bool:
    """Whether a task is in the lane of all that organizers enter or order."""
    return bool(task.lane == _ORGANIZERS)


def take_turn(session: WriteSession, lane: Lane) -> TaskTurn:
    """The next free place in this lane, held until the transaction ends.

    A lane that waits for nothing begins with the round that is being served, or with the one after it if it was served
    in that one: who comes new waits for no backlog, and who comes again does not overtake those who wait.
    """
    locks.lane(session, lane.name)
    connection, said = session.connection(), _SQL[session.get_bind().dialect.name]
    row = connection.execute(said["standing"], {"lane": lane.name, "part": lane.part}).one()
    turn = row.served or 0
    if row.last is not None and row.last >= turn:
        turn = row.last + 1
    elif row.served is not None:
        turn += connection.execute(said["just"], {"turn": turn, "lane": lane.name}).first() is not None
    subturn = max(row.part_first or 0, 0 if row.part_last is None else row.part_last + 1)
    return TaskTurn(turn, subturn)


def take_another_turn(session: WriteSession, task: ScoreTask) -> None:
    """A task that had its turn and comes again takes another one of its lane; within the lane it stays where it was."""
    task.turn, task.ticket = take_turn(session, Lane(task.lane, task.sublane)).turn, id_at(clock.steady(session))


def choose_task(session: WriteSession, scorer_version: int, moment: datetime) -> ChosenTask | None:
    """The due task whose turn it is, locked; what others are claiming at this moment is passed over."""
    connection, dialect = session.connection(), session.get_bind().dialect.name
    if dialect == "postgresql":
        connection.execute(_DISABLE_SORT)
    named = {"scorer": scorer_version, "moment": moment}
    head = connection.execute(_SQL[dialect]["head"], named).one_or_none()
    if head is None:
        return None
    named |= {"lane": head.lane, "priority": head.priority}
    return ChosenTask(connection.execute(_SQL[dialect]["in_lane"], named).one(), head)


def swap_turns(session: WriteSession, chosen: ChosenTask) -> None:
    """Let the chosen task have the turn that is due, and who held it have the other one."""
    task, holder = chosen
    if task.id != holder.id:
        given = [
            {"task": one.id, "given": other.turn, "with_ticket": other.ticket}
            for one, other in ((task, holder), (holder, task))
        ]
        session.connection().execute(_SET_TURN, given)


def release_turn(session: WriteSession, task: ScoreTask) -> None:
    """A task that is not queued any more gives its turn back: the last of its lane takes it, so that none is left out."""
    statement = _SQL[session.get_bind().dialect.name]["gap"]
    session.connection().execute(statement, {"turn": task.turn, "ticket": task.ticket, "lane": task.lane})


def queue_position(session: ReadSession, task_id: str) -> int | None:
    """How many queued tasks go before a queued one if nothing more comes, plus one; None for one that waits no more.

    A writer on PostgreSQL sees what others commit between its statements: a worker may have claimed the task just now.
    """
    connection, said = session.connection(), _SQL[session.get_bind().dialect.name]
    held = connection.execute(said["held"], {"id": task_id}).one_or_none()
    if held is None:
        return None
    ahead: int = connection.execute(said["ahead"], held._asdict()).scalar_one()
    return ahead + 1
