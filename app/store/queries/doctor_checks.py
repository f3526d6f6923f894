"""Queries for checks of an installation: the work list, recent failures, referenced files."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, or_, select

from app.store import clock
from app.store.queries.file_references import has_file
from app.store.queries.tasks import due_condition
from app.store.session import ReadSession
from app.store.tables import Challenge, ChallengeFile, GoldVersion, Phase, PhaseImport, ScoreTask, Submission, WorkerRow
from app.task_priorities import RESCORING_PRIORITY


@dataclass(frozen=True, slots=True)
class WorkListStatus:
    """The work list now; `oldest` is how long the oldest new submission that may start has waited."""

    queued: int
    running: int
    oldest: timedelta | None
    expired: int


@dataclass(frozen=True, slots=True)
class ReferencedFile:
    """A file that a row refers to."""

    key: str
    sha256: str
    size: int


def work_list_status(session: ReadSession) -> WorkListStatus:
    """Numbers of queued, running and expired tasks, and the longest wait."""
    now = clock.now(session)
    counts = session.execute(select(ScoreTask.status, func.count()).group_by(ScoreTask.status))
    by_status = {status: count for status, count in counts}  # noqa: C416 - a row is no pair to the type checker
    oldest = select(func.min(func.coalesce(ScoreTask.not_before, ScoreTask.created_at)))
    since = session.scalar(oldest.where(due_condition(now), ScoreTask.priority < RESCORING_PRIORITY))
    late = (ScoreTask.status == "running") & (ScoreTask.lease_until < now)
    return WorkListStatus(
        queued=by_status.get("queued", 0),
        running=by_status.get("running", 0),
        oldest=None if since is None else max(now - since, timedelta()),
        expired=session.scalar(select(func.count()).where(late)) or 0,
    )


def count_other_scorer_versions(session: ReadSession, scorer_version: int) -> tuple[int, int]:
    """The numbers of phases with an older and with a newer scorer version."""
    counts = select(func.count(Phase.id))
    older = session.scalars(counts.where(Phase.scorer_version < scorer_version)).one()
    return older, session.scalars(counts.where(Phase.scorer_version > scorer_version)).one()


def live_workers(session: ReadSession, lease: timedelta) -> list[WorkerRow]:
    """The workers whose last heartbeat is within their lease."""
    alive = WorkerRow.heartbeat_at > clock.steady(session) - lease
    return list(session.scalars(select(WorkerRow).where(alive).order_by(WorkerRow.name)))


def recent_failures(session: ReadSession, span: timedelta) -> Counter[str]:
    """The numbers of submissions that failed within `span`, by reason code."""
    query = select(Submission.failure).where(
        Submission.status == "failed", Submission.finished_at >= clock.now(session) - span
    )
    return Counter(str((failure or {}).get("code", "unknown")) for failure in session.scalars(query))


def referenced_files(session: ReadSession, newest: int | None = None) -> list[ReferencedFile]:
    """The files that rows refer to: all, or those of the `newest` rows of each table."""
    files: list[ReferencedFile] = []
    for row in (Submission, GoldVersion, ChallengeFile, PhaseImport):
        query = select(row.file_key, row.sha256, row.size).where(has_file(row)).order_by(row.id.desc()).limit(newest)
        files += [ReferencedFile(str(key), sha256, size) for key, sha256, size in session.execute(query)]
    return files


def stored_bytes(session: ReadSession) -> list[tuple[str, int]]:
    """The bytes of uploads (submissions, gold and files) that each challenge has stored; the largest first."""
    sums: Counter[str] = Counter()
    of_phases = [
        select(Challenge.slug, func.sum(row.size))
        .select_from(row)
        .join(Phase, Phase.id == row.phase_id)
        .where(has_file(row))
        for row in (Submission, GoldVersion)
    ]
    queries = [query.join(Challenge, Challenge.id == Phase.challenge_id) for query in of_phases]
    offered = select(Challenge.slug, func.sum(ChallengeFile.size)).select_from(ChallengeFile)
    queries.append(offered.join(Challenge, Challenge.id == ChallengeFile.challenge_id))
    for query in queries:
        for slug, size in session.execute(query.group_by(Challenge.slug)):
            sums[slug] += int(size)
    return sums.most_common()


def unclosed_phases(session: ReadSession, now: datetime) -> list[Phase]:
    """The phases of published challenges that have not closed yet, without those of archived ones."""
    not_closed = or_(Phase.closes_at.is_(None), Phase.closes_at > now)
    query = select(Phase).join(Challenge, Challenge.id == Phase.challenge_id)
    query = query.where(Challenge.status == "published", Challenge.archived_at.is_(None), not_closed)
    return list(session.scalars(query.order_by(Challenge.slug, Phase.position, Phase.id)))
