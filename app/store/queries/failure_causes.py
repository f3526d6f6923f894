"""Queries that count submissions per day by what became of them, and rejected and failed ones by cause."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, String, case, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from app.store.queries.submissions import TOTALS_AT_LEAST
from app.store.session import ReadSession
from app.store.tables import Submission
from app.store.types import id_at


class StatusCount(NamedTuple):
    """How many submissions of a day, in UTC, have a status."""

    day: str
    status: str
    submissions: int


class CauseCount(NamedTuple):
    """In how many submissions of a day, in UTC, something was found: a code of problems or of a failure."""

    day: str
    status: str
    code: str
    submissions: int


class _UTCDay(FunctionElement[str]):
    """The day in UTC of a time, as 2027-03-01."""

    type = String()
    inherit_cache = True


@compiles(_UTCDay, "sqlite")
def _sqlite_day(element: _UTCDay, compiler: SQLCompiler, **options: Any) -> str:
    return f"date({compiler.process(element.clauses, **options)})"  # stored in UTC, without a zone


@compiles(_UTCDay, "postgresql")
def _postgresql_day(element: _UTCDay, compiler: SQLCompiler, **options: Any) -> str:
    return f"to_char({compiler.process(element.clauses, **options)} AT TIME ZONE 'UTC', 'YYYY-MM-DD')"


def _day() -> ColumnElement[str]:
    return _UTCDay(Submission.submitted_at)


def _since(phase_ids: Sequence[str], since: datetime) -> ColumnElement[bool]:
    """Submissions of teams since a moment. The ids are in the order of time, so the index of a phase finds them."""
    oldest = id_at(since)[:12].ljust(32, "0")
    return Submission.phase_id.in_(phase_ids) & (Submission.id >= oldest) & Submission.test.is_(False)


def by_status(session: ReadSession, phase_ids: Sequence[str], since: datetime) -> list[StatusCount]:
    """The numbers of submissions by day and status."""
    day = _day()
    query = select(day, Submission.status, func.count()).where(_since(phase_ids, since))
    rows = session.execute(query.group_by(day, Submission.status).order_by(day, Submission.status))
    return [StatusCount(*row) for row in rows]


def by_cause(session: ReadSession, phase_ids: Sequence[str], since: datetime) -> list[CauseCount]:
    """The numbers of rejected submissions by day and code of their problems, and of failed ones by that of the failure.

    A submission counts once for each code that it has.
    """
    day = _day()
    found = func.json_each(Submission.problem_totals).table_valued("key").alias("found")
    failure = Submission.failure["code"].as_string()
    code = case((Submission.status == "failed", failure), else_=found.c.key)
    query = (
        select(day, Submission.status, code, func.count(Submission.id.distinct()))
        .select_from(Submission)
        .outerjoin(found, Submission.status == "rejected")
        .where(_since(phase_ids, since), Submission.status.in_(("rejected", "failed")))
        .where(code.is_not(None), code != TOTALS_AT_LEAST)
        .group_by(day, Submission.status, code)
        .order_by(day, Submission.status, code)
    )
    return [CauseCount(*row) for row in session.execute(query)]
