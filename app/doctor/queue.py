"""Checks of the work list: what waits, who works, what was lost and what failed."""

from datetime import timedelta

from app.actions.scoring_tasks.upgrade_scorer import withheld
from app.doctor.check_declaration import REACHABLE, SCHEMA, SETTINGS, Said, check, ok, problem, warning
from app.doctor.installation import Patient
from app.doctor.postgresql import ENGINE
from app.runtime.data_folder import holder
from app.scoring import SCORER_VERSION
from app.store.queries import diagnostics, rescoring_tasks
from app.worker.worker import sending_queue

NEEDS = (SETTINGS, REACHABLE, SCHEMA)
LONG = timedelta(minutes=10)  # that a task may wait while nobody need wonder
DAY = timedelta(days=1)


@check("queue.backlog", needs=NEEDS, remedy="Add workers (ASSAY_WORKERS, or another 'assay worker'), if this lasts.")
def backlog(patient: Patient) -> Said:
    """Work is done as it comes: no task that may start has waited for more than ten minutes."""
    with patient.session() as session:
        work = diagnostics.work(session)
    seen = f"{work.queued} queued, {work.running} running"
    if work.oldest is not None:
        seen += f"; the oldest that may start has waited {work.oldest.total_seconds():.0f} s"
    return warning(f"{seen}.") if work.oldest is not None and work.oldest > LONG else ok(f"{seen}.")


@check("queue.workers", needs=NEEDS, remedy="Start one: 'assay serve' on SQLite, 'assay worker' on PostgreSQL.")
def workers(patient: Patient) -> Said:
    """Somebody lives who does the work that waits."""
    settings = patient.settings
    with patient.session() as session:
        work = diagnostics.work(session)
        alive = [row.name for row in diagnostics.living(session, timedelta(seconds=settings.lease_seconds))]
    if not settings.on_postgresql:
        process = holder(settings.data_dir)
        alive = [] if process is None else [f"process {process}"]
    if alive:
        return ok(f"{len(alive)} at work: {', '.join(alive)}.")
    waiting = work.queued + work.running
    return warning(f"{waiting} tasks wait, and nobody works.") if waiting else ok("None, and nothing waits.")


@check(
    "queue.scorer",
    needs=NEEDS,
    remedy="A worker of this version scores everything again, then switches. What failed for good: see why in each "
    "submission, then 'assay rerun SLUG --wait'.",
)
def scorer(patient: Patient) -> Said:
    """Every phase shows the scores of this version's scorer."""
    with patient.session() as session:
        older, newer = diagnostics.installed(session, SCORER_VERSION)
        failed = withheld(session) if older else 0
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
    needs=NEEDS,
    remedy="Scores do not follow from the stored files by this program: find out what changed (files, software, machine), "
    "then 'assay rerun SLUG --wait' tells whether it still is so.",
)
def differences(patient: Patient) -> Said:
    """Scores that were computed again came out as they are stored."""
    with patient.session() as session:
        count = rescoring_tasks.all_different(session)
    return problem(f"{count} submissions have other values now.") if count else ok("None differs.")


@check("queue.leases", needs=NEEDS, place="postgresql", remedy="Any worker gives them back within seconds: start one.")
def leases(patient: Patient) -> Said:
    """No task is held by a worker that went silent."""
    with patient.session() as session:
        expired = diagnostics.work(session).expired
    return warning(f"{expired} tasks of silent workers.") if expired else ok("There is none.")


@check(
    "queue.jobs",
    needs=(*NEEDS, ENGINE),
    place="postgresql",
    remedy="Any worker enqueues them again within seconds: start one.",
)
def jobs(patient: Patient) -> Said:
    """Every task that may start is known to the queue engine."""
    queue = sending_queue(patient.settings)
    with patient.session() as session:
        lost = len(queue.lost(session))
    return warning(f"{lost} tasks have no live job.") if lost else ok("All are.")


@check(
    "queue.failures",
    needs=NEEDS,
    remedy="See the reason in each submission. memory_limit, time_limit: raise ASSAY_SCORING_MEMORY, ASSAY_SCORING_SECONDS.",
)
def failures(patient: Patient) -> Said:
    """No submission of the last day failed by a fault of ours."""
    with patient.session() as session:
        found = diagnostics.failures(session, DAY)
    if not found:
        return ok("None.")
    return warning(", ".join(f"{code}: {count}" for code, count in found.most_common()) + ".")
