"""The quota ledger: what a team has used is computed from its entries alone."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Insert,
    ScalarSelect,
    Select,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    select,
)

from app.store.session import ReadSession, WriteSession
from app.store.tables import QuotaEntry, QuotaGrant, Submission
from app.store.types import new_id, utcnow

FAILURES_COUNTED_AS_INVALID = ("cpu_limit", "time_limit", "memory_limit", "aborted")
"""Failures caused by the file: no charge, but they count as invalid, or such files could be sent without limit."""
CANCELLED = "cancelled"
"""Cancelled by its team: no charge, but it counts as invalid, or files could be sent and cancelled without limit."""
INVALID_REASONS = ("rejected", CANCELLED, *FAILURES_COUNTED_AS_INVALID)
"""The reasons in the ledger that count against `invalid_per_day`."""


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """The numbers of submissions that count against each limit of the quota."""

    per_day: int
    total: int
    concurrent: int
    invalid_per_day: int


def usage_and_grants(session: ReadSession, phase_id: str, team_id: str, day: str) -> tuple[QuotaUsage, dict[str, int]]:
    """What the team has used in the phase, in total and on this day of the challenge's calendar, and its grants.

    Those are sums by the name of the limit.
    """
    names = {"phase_id": phase_id, "team_id": team_id, "day": day}
    row = session.connection().execute(_USAGE_QUERY, names).one()
    used = QuotaUsage(per_day=int(row[1]), total=int(row[0]), concurrent=int(row[3]), invalid_per_day=int(row[2]))
    return used, {"per_day": int(row[4]), "total": int(row[5])}


def _usage_query() -> Select[Any]:
    kind, reason = QuotaEntry.__table__.c.kind, QuotaEntry.__table__.c.reason
    today = QuotaEntry.__table__.c.day == bindparam("day")
    weight = case((kind == "reserve", 1), (kind == "refund", -1), else_=0)
    unsettled = case((kind == "reserve", 1), else_=-1)  # a charge or a refund settles a reservation
    invalid = (kind == "refund") & reason.in_(INVALID_REASONS)
    return select(
        func.coalesce(func.sum(weight), 0),
        func.coalesce(func.sum(case((today, weight), else_=0)), 0),
        func.coalesce(func.sum(case((invalid & today, 1), else_=0)), 0),
        func.coalesce(func.sum(unsettled), 0),
        _granted(QuotaGrant.__table__.c.per_day),
        _granted(QuotaGrant.__table__.c.total),
    ).where(
        QuotaEntry.__table__.c.phase_id == bindparam("phase_id"),
        QuotaEntry.__table__.c.team_id == bindparam("team_id"),
    )


def _granted(column: ColumnElement[int]) -> ScalarSelect[int]:
    """The sum of what the team was granted of one limit."""
    grants = QuotaGrant.__table__.c
    own = (grants.phase_id == bindparam("phase_id")) & (grants.team_id == bindparam("team_id"))
    return select(func.coalesce(func.sum(column), 0)).where(own).scalar_subquery()


_USAGE_QUERY = _usage_query()


def granted_by_team(session: ReadSession, phase_id: str) -> list[tuple[int, int]]:
    """The sums `(per_day, total)` of what each team was granted in the phase, of those with grants."""
    sums = select(func.sum(QuotaGrant.per_day), func.sum(QuotaGrant.total)).where(QuotaGrant.phase_id == phase_id)
    return [(int(per_day), int(total)) for per_day, total in session.execute(sums.group_by(QuotaGrant.team_id))]


def grants(session: ReadSession, phase_id: str, team_id: str) -> list[QuotaGrant]:
    """What organizers granted the team in the phase, newest first, at most 200 grants."""
    query = select(QuotaGrant).where(QuotaGrant.phase_id == phase_id, QuotaGrant.team_id == team_id)
    return list(session.scalars(query.order_by(QuotaGrant.id.desc()).limit(200)))


def entries(session: ReadSession, phase_id: str, team_id: str) -> list[QuotaEntry]:
    """The team's ledger in the phase, newest first, at most 200 entries."""
    query = select(QuotaEntry).where(QuotaEntry.phase_id == phase_id, QuotaEntry.team_id == team_id)
    return list(session.scalars(query.order_by(QuotaEntry.id.desc()).limit(200)))


def reservation(submission: Submission, day: str) -> dict[str, Any]:
    """The entry that reserves one submission of the quota at admission."""
    entry = _entry_values(submission.id) | {"phase_id": submission.phase_id, "team_id": submission.team_id, "day": day}
    return entry | {"kind": "reserve", "reason": "admitted"}


def settle(session: WriteSession, submission_id: str, ended: str, failure: str | None = None) -> None:
    """Charge a submission that `ended` as finished; refund one that was rejected, failed or cancelled.

    `failure` is the code of a failure; the ledger records it if it counts as invalid. Entries of organizers have no
    reservation, so nothing is written for them.
    """
    kind = "charge" if ended == "finished" else "refund"
    reason = failure if failure in FAILURES_COUNTED_AS_INVALID else ended
    session.connection().execute(_SETTLE, _entry_values(submission_id) | {"kind": kind, "reason": reason})


def refunded_day(session: ReadSession, submission_id: str) -> str | None:
    """The day of a submission's refunded reservation; None if there was no refund."""
    return session.scalar(select(QuotaEntry.day).where(_is_refund_of(submission_id)))


def cancel_refund(session: WriteSession, submission_id: str) -> None:
    """Delete the refund of a submission that is to be scored after all; its reservation counts again."""
    session.execute(delete(QuotaEntry).where(_is_refund_of(submission_id)))


def _is_refund_of(submission_id: str) -> ColumnElement[bool]:
    return (QuotaEntry.submission_id == submission_id) & (QuotaEntry.kind == "refund")


def _entry_values(submission_id: str) -> dict[str, Any]:
    return {"id": new_id(), "submission_id": submission_id, "created_at": utcnow()}


def _settle_statement() -> Insert:
    """Insert the counterpart of a reservation that has none, with its phase, team and day."""
    table = QuotaEntry.__table__
    other = table.alias()
    settled = exists().where(other.c.submission_id == bindparam("submission_id"), other.c.kind != "reserve")
    reserved = (table.c.submission_id == bindparam("submission_id")) & (table.c.kind == "reserve") & ~settled
    parameters = {name: bindparam(name, type_=table.c[name].type) for name in ("id", "kind", "reason", "created_at")}
    copied = {name: table.c[name] for name in ("phase_id", "team_id", "submission_id", "day")}
    columns = parameters | copied
    return insert(table).from_select(list(columns), select(*columns.values()).where(reserved))


_SETTLE = _settle_statement()
