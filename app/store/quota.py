"""The quota ledger: what a team has used, from its entries alone."""

from dataclasses import dataclass

from sqlalchemy import case, func, select

from app.store.session import ReadSession, WriteSession
from app.store.tables import QuotaEntry, Submission


@dataclass(frozen=True, slots=True)
class Usage:
    """Submissions that count against each limit of the quota."""

    per_day: int
    total: int
    concurrent: int
    invalid_per_day: int


def usage(session: ReadSession, phase_id: str, team_id: str, day: str) -> Usage:
    """What the team has used in the phase, and on this day of the challenge's calendar."""
    weight = case((QuotaEntry.kind == "reserve", 1), (QuotaEntry.kind == "refund", -1), else_=0)
    at_work = case((QuotaEntry.kind == "reserve", 1), else_=-1)  # a charge or a refund ends what was reserved
    mine = (QuotaEntry.phase_id == phase_id) & (QuotaEntry.team_id == team_id)
    invalid = (QuotaEntry.kind == "refund") & (QuotaEntry.reason == "rejected")
    row = session.execute(
        select(
            func.coalesce(func.sum(weight), 0),
            func.coalesce(func.sum(case((QuotaEntry.day == day, weight), else_=0)), 0),
            func.coalesce(func.sum(case((invalid & (QuotaEntry.day == day), 1), else_=0)), 0),
            func.coalesce(func.sum(at_work), 0),
        ).where(mine)
    ).one()
    return Usage(per_day=int(row[1]), total=int(row[0]), concurrent=int(row[3]), invalid_per_day=int(row[2]))


def entries(session: ReadSession, phase_id: str, team_id: str) -> list[QuotaEntry]:
    """The team's ledger in the phase, newest first, at most 200 entries."""
    mine = (QuotaEntry.phase_id == phase_id) & (QuotaEntry.team_id == team_id)
    return list(session.scalars(select(QuotaEntry).where(mine).order_by(QuotaEntry.id.desc()).limit(200)))


def reserve(session: WriteSession, submission: Submission, day: str) -> None:
    """Take one from the quota at admission."""
    session.add(_entry(submission, "reserve", day, "admitted"))


def settle(session: WriteSession, submission: Submission) -> None:
    """Charge a finished submission; give back one that was rejected, failed or cancelled.

    One that failed and is scored after all was given back then, and stays so: it is never charged.
    """
    ledger = session.scalars(select(QuotaEntry).where(QuotaEntry.submission_id == submission.id)).all()
    if len(ledger) != 1:
        return  # organizers' entries are never charged
    (reserved,) = ledger
    kind = "charge" if submission.status == "finished" else "refund"
    session.add(_entry(submission, kind, reserved.day, submission.status))


def _entry(submission: Submission, kind: str, day: str, reason: str) -> QuotaEntry:
    return QuotaEntry(
        phase_id=submission.phase_id,
        team_id=submission.team_id,
        submission_id=submission.id,
        kind=kind,
        day=day,
        reason=reason,
    )
