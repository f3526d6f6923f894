"""What happens on a site: why files were rejected, what challenges use, and the queue with its workers."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from app import errors
from app.actions.challenges.challenge_facts import read_challenge_facts
from app.actions.operations.read_usage import ChallengeUse, list_usage, read_queue
from app.actions.submissions.count_failures import DEFAULT_DAYS, MAX_DAYS, count_failures
from app.api.dependencies import AccountDep, AppStateDep, Cursor, Limit
from app.api.field_types import Moment, Page, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.openapi import usage_examples as examples
from app.api.submissions import Status

router = api_router("usage")


class DayShape(Shape):
    """What became of the submissions of one day."""

    day: str = Field(description="In UTC.")
    statuses: dict[Status, int] = Field(description="The submissions of that day, by their present status.")
    rejected: dict[str, int] = Field(
        description="In how many rejected files a problem was found, by its code; a file counts for each of its codes."
    )
    failed: dict[str, int] = Field(description="How many submissions failed, by the code of the failure.")


class FailuresShape(Shape):
    """The causes of failures and rejections, day by day."""

    model_config = reply_example(examples.FAILURES)

    timezone: Literal["UTC"] = Field("UTC", description="The time zone of the days.")
    days: list[DayShape] = Field(description="The days with submissions, newest first.")


class OwnerShape(Shape):
    """An owner of a challenge."""

    id: str
    name: str
    email: str


class ChallengeUseShape(Shape):
    """A challenge as administrators see it."""

    model_config = reply_example(examples.CHALLENGE_USE)

    id: str
    slug: str
    title: str
    status: Literal["draft", "published"]
    visibility: Literal["public", "private"]
    archived_at: Moment | None
    created_at: Moment
    owners: list[OwnerShape]
    submissions: int = Field(description="Tests by organizers included.")
    bytes: int = Field(description="The files of submissions that are kept; equal files count each.")


class ChallengeFactsShape(Shape):
    """How a challenge stands now. Tests by organizers and baselines do not count."""

    model_config = reply_example(examples.CHALLENGE_FACTS)

    teams: int
    pending_registrations: int
    submissions: int
    today: int = Field(description="Submissions since midnight in the time zone of the challenge.")
    waiting: int = Field(description="Submissions that are queued or running.")
    failed: int = Field(description="Submissions that were not scored through no fault of their teams.")


class WorkerShape(Shape):
    """A worker that shares the work list."""

    id: str
    name: str
    slots: int = Field(description="How many tasks it runs at once.")
    started_at: Moment
    heartbeat_at: Moment
    claimed_at: Moment | None = Field(description="When it took its last task; null before the first.")
    alive: bool = Field(description="Whether its last heartbeat is recent enough for its tasks to be left with it.")


class QueueShape(Shape):
    """The queue at this moment."""

    model_config = reply_example(examples.QUEUE)

    queued: int = Field(description="Tasks that wait, those of rescoring included.")
    running: int
    oldest_seconds: float = Field(
        description="The age of the oldest new submission that could start now; 0 without one."
    )
    mean_seconds: float | None = Field(
        description="The mean duration of the latest scorings, to one digit; null before the first, and without a worker."
    )
    empty_at: Moment | None = Field(
        description="When all new submissions that wait now are expected to be scored; null if none waits or no duration "
        "is known."
    )
    workers: list[WorkerShape] = Field(description="Oldest first. Empty on SQLite, where the service scores by itself.")


@router.get(
    "/challenges/{slug}/failures",
    summary="Count failures and rejections by cause",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_failures(
    slug: str,
    caller: AccountDep,
    state: AppStateDep,
    phase: Annotated[str | None, Query(description="The slug of a phase. Default: all phases.")] = None,
    days: Annotated[int, Query(ge=1, le=MAX_DAYS, description="How many days back, today included.")] = DEFAULT_DAYS,
) -> FailuresShape:
    """Returns, by day, what became of the submissions, and why files were rejected or failed. Requires an organizer.

    Tests by organizers do not count.
    """
    with state.db.read() as session:
        rows = count_failures(session, caller, slug, phase=phase, days=days)
        return FailuresShape(days=[DayShape.model_validate(row) for row in rows])


@router.get(
    "/challenges/{slug}/facts",
    summary="Count teams and submissions",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_facts(slug: str, caller: AccountDep, state: AppStateDep) -> ChallengeFactsShape:
    """Returns how many teams and submissions a challenge has, and what waits. Requires an organizer."""
    with state.db.read() as session:
        facts = read_challenge_facts(session, caller, slug)
        return ChallengeFactsShape.model_validate(asdict(facts))


@router.get("/usage", summary="List what challenges use", responses=error_responses(errors.Forbidden))
def get_usage(
    caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[ChallengeUseShape]:
    """Returns all challenges, newest first, with owners, submissions and bytes. Requires an administrator."""
    with state.db.read() as session:
        rows, following = list_usage(session, caller, limit=limit, cursor=cursor)
        return Page(items=[_use_shape(row) for row in rows], next=following)


def _use_shape(row: ChallengeUse) -> ChallengeUseShape:
    names = ("id", "slug", "title", "status", "visibility", "archived_at", "created_at")
    columns = {name: getattr(row.challenge, name) for name in names}
    owners = [OwnerShape.model_validate(owner) for owner in row.owners]
    return ChallengeUseShape(**columns, owners=owners, submissions=row.use.submissions, bytes=row.use.bytes)


@router.get("/queue", summary="Read the queue and the workers", responses=error_responses(errors.Forbidden))
def get_queue(caller: AccountDep, state: AppStateDep) -> QueueShape:
    """Returns how many tasks wait, for how long, and the workers that share them. Requires an administrator."""
    with state.db.read() as session:
        queue = read_queue(session, caller, silent=timedelta(seconds=state.settings.lease_seconds))
        workers = [
            {name: getattr(row, name) for name in WorkerShape.model_fields if name != "alive"}
            | {"alive": row.heartbeat_at > queue.silent_since}
            for row in queue.workers
        ]
        return QueueShape(
            queued=queue.backlog.queued,
            running=queue.backlog.running,
            oldest_seconds=round(queue.backlog.oldest_seconds, 1),
            mean_seconds=queue.mean_seconds,
            empty_at=queue.empty_at,
            workers=[WorkerShape.model_validate(worker) for worker in workers],
        )
