"""Checks of the work list: what waits, who works, what was lost and what failed."""

from datetime import timedelta

from app.actions.scoring_tasks.upgrade_scorer import upgrade_blocker_count
from app.doctor.check_declaration import (
    REACHABLE_CHECK,
    SCHEMA_CHECK,
    SETTINGS_CHECK,
    CheckResult,
    check,
    ok,
    problem,
    warning,
)
from app.doctor.installation import Installation
from app.doctor.postgresql import QUEUE_ENGINE_CHECK
from app.runtime.data_folder import find_lock_holder
from app.scoring import SCORER_VERSION
from app.store.queries import diagnostics, rescoring_tasks
from app.worker.worker import enqueue_only_queue

REQUIRED_CHECKS = (SETTINGS_CHECK, REACHABLE_CHECK, SCHEMA_CHECK)
MAX_QUEUE_WAIT = timedelta(minutes=10)  # that a task may wait while nobody need wonder
FAILURE_PERIOD = timedelta(days=1)


@check(
    "queue.backlog",
    needs=REQUIRED_CHECKS,
    remedy="Add workers (ASSAY_WORKERS, or another 'assay worker'), if this lasts.",
)
def check_backlog(installation: Installation) -> CheckResult:
    """Work is done as it comes: no task that may start has waited for more than ten minutes."""
    with installation.session() as session:
        work = diagnostics.work_list_status(session)
    observation = f"{work.queued} queued, {work.running} running"
    if work.oldest is not None:
        observation += f"; the oldest that may start has waited {work.oldest.total_seconds():.0f} s"
    return (
        warning(f"{observation}.")
        if work.oldest is not None and work.oldest > MAX_QUEUE_WAIT
        else ok(f"{observation}.")
    )


@check(
    "queue.workers", needs=REQUIRED_CHECKS, remedy="Start one: 'assay serve' on SQLite, 'assay worker' on PostgreSQL."
)
def check_live_workers(installation: Installation) -> CheckResult:
    """Somebody lives who does the work that waits."""
    settings = installation.settings
    with installation.session() as session:
        work = diagnostics.work_list_status(session)
        alive = [row.name for row in diagnostics.live_workers(session, timedelta(seconds=settings.lease_seconds))]
    if not settings.on_postgresql:
        process = find_lock_holder(settings.data_dir)
        alive = [] if process is None else [f"process {process}"]
    if alive:
        return ok(f"{len(alive)} at work: {', '.join(alive)}.")
    waiting = work.queued + work.running
    return warning(f"{waiting} tasks wait, and nobody works.") if waiting else ok("None, and nothing waits.")


@check(
    "queue.scorer",
    needs=REQUIRED_CHECKS,
    remedy="A worker of this version scores everything again, then switches. What failed for good: see why in each "
    "submission, then 'assay rerun SLUG --wait'.",
)
def check_scorer_version(installation: Installation) -> CheckResult:
    """Every phase shows the scores of this version's scorer."""
    with installation.session() as session:
        older, newer = diagnostics.count_other_scorer_versions(session, SCORER_VERSION)
        failed = upgrade_blocker_count(session) if older else 0
    if newer:
        return problem(
            f"{newer} phases are in force at a newer scorer version than {SCORER_VERSION}, which this program is.",
            "Install the newer version again: this one scores nothing of theirs.",
        )
    if failed:
        return problem(f"{failed} submissions failed to be scored again, which withholds the switch of their phases.")
    return (
        warning(f"{older} phases are still to be switched to scorer version {SCORER_VERSION}.")
        if older
        else ok("All do.")
    )


@check(
    "queue.differences",
    needs=REQUIRED_CHECKS,
    remedy="Scores do not follow from the stored files by this program: find out what changed (files, software, machine), "
    "then 'assay rerun SLUG --wait' tells whether it still is so.",
)
def check_score_differences(installation: Installation) -> CheckResult:
    """Scores that were computed again came out as they are stored."""
    with installation.session() as session:
        count = rescoring_tasks.count_differing(session)
    return problem(f"{count} submissions have other values now.") if count else ok("None differs.")


@check(
    "queue.leases",
    needs=REQUIRED_CHECKS,
    backend="postgresql",
    remedy="Any worker gives them back within seconds: start one.",
)
def check_expired_leases(installation: Installation) -> CheckResult:
    """No task is held by a worker that went silent."""
    with installation.session() as session:
        expired = diagnostics.work_list_status(session).expired
    return warning(f"{expired} tasks of silent workers.") if expired else ok("There is none.")


@check(
    "queue.jobs",
    needs=(*REQUIRED_CHECKS, QUEUE_ENGINE_CHECK),
    backend="postgresql",
    remedy="Any worker enqueues them again within seconds: start one.",
)
def check_queue_jobs(installation: Installation) -> CheckResult:
    """Every task that may start is known to the queue engine."""
    queue = enqueue_only_queue(installation.settings)
    with installation.session() as session:
        lost = len(queue.find_orphaned_tasks(session))
    return warning(f"{lost} tasks have no live job.") if lost else ok("All are.")


@check(
    "queue.failures",
    needs=REQUIRED_CHECKS,
    remedy="See the reason in each submission. memory_limit, time_limit: raise ASSAY_SCORING_MEMORY, ASSAY_SCORING_SECONDS.",
)
def check_recent_failures(installation: Installation) -> CheckResult:
    """No submission of the last day failed by a fault of ours."""
    with installation.session() as session:
        found = diagnostics.recent_failures(session, FAILURE_PERIOD)
    if not found:
        return ok("None.")
    return warning(", ".join(f"{code}: {count}" for code, count in found.most_common()) + ".")
