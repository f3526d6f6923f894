"""Positions in the fair order of queued tasks, and the time until they are scored.

The n-th task of a lane by subturn is served with the n-th turn of the lane (app.store.queries.fair_scheduling). The
position of a task is therefore one more than the number of waiting tasks with a smaller turn than that one.

All positions of a page are found in one statement, which counts each index entry at most once: the ranks of tasks
within a lane, and the tasks before a turn, are running sums of the counts between neighbours on the page.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import TextClause, bindparam, text

from app.store.session import ReadSession
from app.task_priorities import SUBMISSION_PRIORITY, WAITING_CONDITION

# A comparison of pairs would bound only the first column on both sides: SQLite would read each time to the end of that
# value. So each count has three parts: the rest of the first value, the values between, the start of the last value.
_COUNT = "(SELECT count(*) FROM score_tasks {index} WHERE {waiting} AND {same} AND "
_BETWEEN = f"""
    {_COUNT} {{major}} = from_major AND {{minor}} >= from_minor AND (from_major < to_major OR {{minor}} < to_minor))
    + {_COUNT} {{major}} > from_major AND {{major}} < to_major)
    + {_COUNT} {{major}} = to_major AND {{minor}} < to_minor AND +from_major < +to_major)
"""
_WITHIN_LANE = {"index": "{subturn}", "same": "lane = my_lane", "major": "subturn", "minor": "score_tasks.id"}
_IN_ORDER = {"index": "{turn}", "same": f"priority = {SUBMISSION_PRIORITY}", "major": "turn", "minor": "ticket"}
_POSITIONS = f"""
    WITH own AS (
        SELECT id AS task, lane AS my_lane, subturn AS to_major, id AS to_minor
        FROM score_tasks {{primary}} WHERE id IN :ids AND {{waiting}}
    ),
    own_steps AS (
        SELECT own.*, lag(to_major, 1, -1) OVER in_lane AS from_major, lag(to_minor, 1, '') OVER in_lane AS from_minor
        FROM own WINDOW in_lane AS (PARTITION BY my_lane ORDER BY to_major, to_minor)
    ),
    ranked AS (
        SELECT task, my_lane, sum({_BETWEEN.format(waiting="{waiting}", **_WITHIN_LANE)})
            OVER (PARTITION BY my_lane ORDER BY to_major, to_minor) AS lane_rank
        FROM own_steps
    ),
    lanes AS (
        SELECT my_lane, (SELECT min(turn) FROM score_tasks {{lane}} WHERE {{waiting}} AND lane = my_lane) AS first_turn,
               (SELECT max(turn) FROM score_tasks {{lane}} WHERE {{waiting}} AND lane = my_lane) AS last_turn,
               (SELECT count(*) FROM score_tasks {{lane}} WHERE {{waiting}} AND lane = my_lane) AS waiting
        FROM (SELECT DISTINCT my_lane FROM own) AS mine
    ),
    gapped AS (
        SELECT my_lane, turn AS gapped_turn, row_number() OVER (PARTITION BY my_lane ORDER BY turn) - 1 AS lane_rank
        FROM lanes CROSS JOIN score_tasks {{lane}} WHERE {{waiting}} AND lane = my_lane AND last_turn - first_turn >= waiting
    ),
    effective AS (
        SELECT task, my_lane, CAST(coalesce(gapped_turn, first_turn + lane_rank) AS INTEGER) AS to_major
        FROM ranked JOIN lanes USING (my_lane) LEFT JOIN gapped USING (my_lane, lane_rank)
    ),
    ticketed AS MATERIALIZED (
        SELECT task, to_major, (
            SELECT ticket FROM score_tasks {{lane}} WHERE {{waiting}} AND lane = my_lane AND turn >= to_major
            ORDER BY turn LIMIT 1
        ) AS to_minor
        FROM effective
    ),
    steps AS (
        SELECT ticketed.*, lag(to_major, 1, -1) OVER in_order AS from_major, lag(to_minor, 1, '') OVER in_order AS from_minor
        FROM ticketed WINDOW in_order AS (ORDER BY to_major, to_minor)
    )
    SELECT task, 1 + sum({_BETWEEN.format(waiting="{waiting}", **_IN_ORDER)}) OVER (ORDER BY to_major, to_minor) FROM steps
"""  # noqa: S608 - constants


def _statement(dialect: str) -> TextClause:
    """The statement for a dialect. On SQLite it names its indexes; otherwise it would read all waiting tasks."""
    words = {name: f"INDEXED BY ix_score_tasks_{name}" for name in ("turn", "lane", "subturn")}
    words["primary"] = "INDEXED BY sqlite_autoindex_score_tasks_1"
    if dialect != "sqlite":
        words = dict.fromkeys(words, "")
    statement = _POSITIONS.format(waiting=WAITING_CONDITION, **words)
    return text(statement).bindparams(bindparam("ids", expanding=True))


_SQL = {dialect: _statement(dialect) for dialect in ("sqlite", "postgresql")}


def queue_positions(session: ReadSession, task_ids: Collection[str]) -> dict[str, int]:
    """The positions of queued tasks, from 1, if no further tasks arrive; without tasks that are not queued any more.

    A writer on PostgreSQL (READ COMMITTED) sees what others commit between its statements: a worker may just have
    claimed a task.
    """
    if not task_ids:
        return {}
    rows: Any = session.connection().execute(_SQL[session.get_bind().dialect.name], {"ids": list(task_ids)})
    return {task_id: int(position) for task_id, position in rows}
