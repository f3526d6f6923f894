"""Checks of the work queue: waiting tasks, live workers, lost tasks, failures and scorer versions."""

from datetime import timedelta

from app.actions.versions.perform_switch import count_blockers
from app.doctor.check_declaration import NEEDS_SCHEMA, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.doctor.postgresql import QUEUE_ENGINE_CHECK
from app.queue.jobs import JobTable
from app.runtime.data_folder import find_lock_holder
from app.scoring import SCORER_VERSION
from app.store.queries import doctor_checks, rescoring_tasks

MAX_QUEUE_WAIT = timedelta(minutes=10)  # a longer wait is a warning
FAILURE_PERIOD = timedelta(days=1)


@check("queue.backlog", needs=NEEDS_SCHEMA, remedy="Add workers if this persists: ASSAY_WORKERS, or 'assay worker'.")
def check_backlog(installation: Installation) -> CheckResult:
    """No task that is ready to run has waited for more than ten minutes."""
    with installation.session() as session:
        work = doctor_checks.work_list_status(session)
    observation = f"{work.queued} queued, {work.running} running"
    if work.oldest is None:
        return ok(f"{observation}.")
    observation += f"; the oldest that is ready has waited {work.oldest.total_seconds():.0f} s."
    return warning(observation) if work.oldest > MAX_QUEUE_WAIT else ok(observation)


@check("queue.workers", needs=NEEDS_SCHEMA, remedy="Start one: 'assay serve' on SQLite, 'assay worker' on PostgreSQL.")
def check_live_workers(installation: Installation) -> CheckResult:
    """A worker is running, or there is no work."""
    settings = installation.settings
    with installation.session() as session:
        work = doctor_checks.work_list_status(session)
        alive = [row.name for row in doctor_checks.live_workers(session, timedelta(seconds=settings.lease_seconds))]
    if not settings.on_postgresql:
        process = find_lock_holder(settings.data_dir)
        alive = [] if process is None else [f"process {process}"]
    if alive:
        return ok(f"{len(alive)} running: {', '.join(alive)}.")
    waiting = work.queued + work.running
    return warning(f"No worker is running; tasks waiting: {waiting}.") if waiting else ok("None, and no work.")


@check(
    "queue.scorer",
    needs=NEEDS_SCHEMA,
    remedy="A worker of this version scores all submissions again, then switches the phases. Where that failed for good, see "
    "the reason in the submission, then run 'assay rerun SLUG --wait'.",
)
def check_scorer_version(installation: Installation) -> CheckResult:
    """Every phase shows scores of this version's scorer."""
    with installation.session() as session:
        older, newer = doctor_checks.count_other_scorer_versions(session, SCORER_VERSION)
        failed = count_blockers(session) if older else 0
    if newer:
        return problem(
            f"Phases at a newer scorer version than this program's, {SCORER_VERSION}: {newer}.",
            "Install the newer version again; this one cannot score them.",
        )
    if failed:
        return problem(f"Submissions that failed to be rescored, which blocks the scorer upgrade: {failed}.")
    return warning(f"Phases to be switched to scorer version {SCORER_VERSION}: {older}.") if older else ok("All do.")


@check(
    "queue.differences",
    needs=NEEDS_SCHEMA,
    remedy="This program computes other scores from the stored files: find out what changed (files, software, machine), then "
    "check again with 'assay rerun SLUG --wait'.",
)
def check_score_differences(installation: Installation) -> CheckResult:
    """Rescoring reproduced the stored scores."""
    with installation.session() as session:
        count = rescoring_tasks.count_differing(session)
    return problem(f"Submissions whose scores differ when computed again: {count}.") if count else ok("None differs.")


@check("queue.leases", needs=NEEDS_SCHEMA, backend="postgresql", remedy="Start a worker, which requeues them.")
def check_expired_leases(installation: Installation) -> CheckResult:
    """No task has an expired lease."""
    with installation.session() as session:
        expired = doctor_checks.work_list_status(session).expired
    return warning(f"Tasks with an expired lease: {expired}.") if expired else ok("None.")


@check(
    "queue.jobs",
    needs=(*NEEDS_SCHEMA, QUEUE_ENGINE_CHECK),
    backend="postgresql",
    remedy="Start a worker: it adds a job within seconds.",
)
def check_queue_jobs(installation: Installation) -> CheckResult:
    """A job waits in the queue engine if tasks are ready to run."""
    with installation.session() as session:
        orphan = JobTable().find_orphaned_task(session)
    return (
        ok("No task lacks one.") if orphan is None else warning(f"Tasks are ready but no job waits, as for {orphan}.")
    )


@check(
    "queue.failures",
    needs=NEEDS_SCHEMA,
    remedy="See the reason in each submission. For memory_limit raise ASSAY_SCORING_MEMORY, for time_limit "
    "ASSAY_SCORING_SECONDS.",
)
def check_recent_failures(installation: Installation) -> CheckResult:
    """No submission failed within the last day through a fault of the service."""
    with installation.session() as session:
        failures = doctor_checks.recent_failures(session, FAILURE_PERIOD)
    if not failures:
        return ok("None.")
    return warning(", ".join(f"{code}: {count}" for code, count in failures.most_common()) + ".")
