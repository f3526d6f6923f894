"""Export what was submitted to a challenge: the files of predictions and what the service knows of each, for organizers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app import __version__
from app.actions.access import Caller, load_organized_challenge, phase_not_found
from app.actions.audit.record import record
from app.actions.challenges.upload_gold import stored_file_kind
from app.formats import FORMATS
from app.store import clock
from app.store.queries import challenges, submissions
from app.store.session import Database, WriteSession
from app.store.tables import Phase, Submission
from app.store.types import format_timestamp

FORMAT, FORMAT_VERSION = "assay-export", 1
PAGE_ROWS = 200


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """What an export holds: phases by id, and the last submission that existed when it began."""

    challenge: str
    phases: dict[str, str]
    last_id: str
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExportedSubmission:
    """A submission in an export: its line in the list, and its file, None if that was removed."""

    line: dict[str, Any]
    name: str
    file_key: str | None
    compressed: bool


def plan_export(session: WriteSession, caller: Caller, slug: str, phase_slug: str | None) -> ExportPlan:
    """The plan of an export of one phase, or of all, for organizers of any role; the audit trail has it.

    Raises NotFound.
    """
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    phases = challenges.phases_of(session, challenge.id)
    if phase_slug is not None:
        phases = [phase for phase in phases if phase.slug == phase_slug]
        if not phases:
            raise phase_not_found(session, challenge, phase_slug)
    slugs = [phase.slug for phase in phases]
    record(session, caller, "submission.export", challenge=challenge, of=challenge, changes={"phases": (None, slugs)})
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "program": __version__,
        "exported_at": format_timestamp(clock.now(session)),
        "challenge": {"slug": challenge.slug, "title": challenge.title, "task": challenge.task},
        "phases": [_describe_phase(phase) for phase in phases],
    }
    ids = {phase.id: phase.slug for phase in phases}
    return ExportPlan(challenge.slug, ids, submissions.last_id(session, ids), manifest)


def _describe_phase(phase: Phase) -> dict[str, Any]:
    closes_at = None if phase.closes_at is None else format_timestamp(phase.closes_at)
    return {
        "slug": phase.slug,
        "name": phase.name,
        "opens_at": format_timestamp(phase.opens_at),
        "closes_at": closes_at,
    }


def exported_submissions(db: Database, plan: ExportPlan) -> Iterator[ExportedSubmission]:
    """The submissions of a plan except for tests by organizers, phase by phase in the order in which they were sent.

    They are read page by page, so that neither a long transaction nor a long list is kept.
    """
    for phase_id, phase in plan.phases.items():
        after = ""
        while True:
            with db.read() as session:
                rows = submissions.page_for_export(session, phase_id, after=after, last=plan.last_id, limit=PAGE_ROWS)
                page = [_exported(row, phase) for row in rows]
            yield from page
            if len(page) < PAGE_ROWS:
                break
            after = page[-1].line["id"]


def _exported(row: Submission, phase: str) -> ExportedSubmission:
    kind = stored_file_kind(row)
    name = f"predictions/{phase}/{row.id}{kind.ending}"
    removed = row.file_removed_at is not None
    line = {
        "id": row.id,
        "phase": phase,
        "team": {"id": row.team.id, "name": row.team.name},
        "method": row.method,
        "description": row.description,
        "link": row.link,
        "submitted_at": format_timestamp(row.submitted_at),
        "status": row.status,
        "baseline": row.baseline,
        "on_behalf": row.on_behalf,
        "unofficial": row.unofficial,
        "selected": row.selected_at is not None,
        "withdrawn_at": None if row.withdrawn_at is None else format_timestamp(row.withdrawn_at),
        "disqualified_at": None if row.disqualified_at is None else format_timestamp(row.disqualified_at),
        "file": None if removed else name,
        "sha256": row.sha256,
        "size": row.size,
    }
    compressed = bool(kind.encoding) or FORMATS[kind.format].is_binary
    return ExportedSubmission(line, name, None if removed else row.file_key, compressed)
