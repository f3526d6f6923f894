"""The archive of a phase: every member in order, from rows and files, page by page."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from app import __version__
from app.actions.access import Caller, load_organized_challenge, phase_not_found
from app.actions.archives import archived_objects as objects
from app.actions.archives.archive_member import ArchiveMember
from app.actions.archives.write_instances import InstancesWriter
from app.actions.audit.record import record
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.receipts.issue_receipts import LOG_KIND
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.actions.transparency.read_log import LogPending, LogRecordErased, NotLogged, prove_record
from app.archives import layout
from app.errors import BadRequest
from app.files import FileStore
from app.formats import FORMATS
from app.scoring import SCORER_VERSION
from app.scoring_processes import ScoringProcesses
from app.store import clock
from app.store.queries import archived_rows, challenges, gold
from app.store.queries.board_versions import active_version
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import FrozenBoard, Phase, Receipt, Score, ScoreInterval, Submission
from app.store.types import format_timestamp

PAGE_ROWS = 200
Json = dict[str, Any]
Collected = TypeVar("Collected")
OfSubmission = TypeVar("OfSubmission", Score, ScoreInterval, Receipt)


@dataclass(slots=True)
class PhaseExport:
    """An authorized export of one phase; `missing` fills with the files that turn out to be gone."""

    db: Database
    files: FileStore
    challenge: str
    phase: str
    phase_id: str
    last_id: str
    begun_at: datetime
    head: Json
    versions: objects.Versions
    missing: set[str] = field(default_factory=set)
    receipts: dict[str, bool] = field(default_factory=dict)
    """The receipts that the archive has, and whether it has a proof that the log has each of them."""
    finished: set[str] = field(default_factory=set)
    """The submissions that the archive lists as finished: it holds scores of these alone."""

    @property
    def filename(self) -> str:
        """The name under which the archive is saved."""
        return f"{self.challenge}-{self.phase}.zip"


def plan_export(session: WriteSession, caller: Caller, slug: str, phase_slug: str | None) -> tuple[Json, Phase]:
    """The head of the manifest and the phase of an export, for organizers of any role; the audit trail has it.

    Raises NotFound, and BadRequest if the challenge has several phases and none is named.
    """
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    phases = challenges.phases_of(session, challenge.id)
    if phase_slug is None and len(phases) > 1:
        names = ", ".join(phase.slug for phase in phases)
        raise BadRequest("An archive holds one phase; name it.", remedy=f"Add ?phase= and one of: {names}.")
    phases = [phase for phase in phases if phase_slug in {None, phase.slug}]
    if not phases:
        raise phase_not_found(session, challenge, phase_slug or "")
    phase = phases[0]
    changes = {"phases": (None, [phase.slug])}
    record(session, caller, "submission.export", challenge=challenge, of=challenge, changes=changes)
    head = {
        "format": layout.FORMAT,
        "version": layout.FORMAT_VERSION,
        "program": __version__,
        "scorer_version": SCORER_VERSION,
        "exported_at": format_timestamp(clock.now(session)),
        "challenge": challenge.slug,
        "phase": phase.slug,
    }
    return head, phase


def begin_export(
    db: Database, files: FileStore, caller: Caller, slug: str, phase_slug: str | None, *, origin: str
) -> PhaseExport:
    """Authorize and record an export; `origin` is the address of this installation. Raises what plan_export raises."""
    with db.write() as session:
        head, phase = plan_export(session, caller, slug, phase_slug)
        recipes = archived_rows.recipes_of_phase(session, phase.challenge_id, phase.id)
        versions = objects.Versions(archived_rows.gold_ids(session, phase.id), {row.id: row.version for row in recipes})
        begun_at = datetime.fromisoformat(head["exported_at"])
        last = archived_rows.last_id(session, phase.id)
        head["origin"] = {"url": origin, "challenge_id": phase.challenge_id, "phase_id": phase.id}
        return PhaseExport(db, files, slug, phase.slug, phase.id, last, begun_at, head, versions)


def instances_writer(export: PhaseExport, processes: ScoringProcesses, folder: Path) -> InstancesWriter | None:
    """What writes the instances of the submissions by the versions in force; None without active gold."""
    with export.db.read() as session:
        active = active_version(session, session.get_one(Phase, export.phase_id))
        if active is None or active.gold.id not in export.versions.golds:
            return None
        named = export.versions.name(active.gold.id, active.recipe.id, active.scorer_version)
        gold_named, recipe = gold_reference(active.gold), active.recipe.body
    return InstancesWriter(export.db, export.files, processes, folder, gold_named, recipe, named or {})


def archive_members(export: PhaseExport, instances: InstancesWriter | None) -> Iterator[ArchiveMember]:
    """Every member but the manifest, in order: files before the rows that say which of them are there."""
    yield from _gold_files(export)
    yield from _prediction_files(export)
    yield from _receipt_files(export)
    frozen = _frozen_boards(export)
    for row in frozen:
        yield ArchiveMember(layout.frozen_member(row.number), row.created_at, [row.content.encode()])
    if instances is not None:
        yield from _instances_files(export, instances)
    tables: dict[str, Callable[[PhaseExport], Iterable[Json]]] = {
        layout.CHALLENGE: _settings(lambda _session, phase: objects.archived_challenge(phase.challenge)),
        layout.PHASE: _settings(partial(_phase, export.versions)),
        layout.RECIPES: _recipes,
        layout.GOLD: _gold_rows,
        layout.TEAMS: _teams,
        layout.SWITCHES: _switches,
        layout.SUBMISSIONS: partial(_submission_rows, written=set() if instances is None else instances.written),
        layout.SCORES: partial(_rows_of_submissions, table=Score, to_json=objects.archived_score),
        layout.INTERVALS: partial(_rows_of_submissions, table=ScoreInterval, to_json=objects.archived_interval),
        layout.RECEIPTS: _receipt_rows,
        layout.FROZEN: lambda _export: map(objects.archived_frozen_board, frozen),
    }
    for name, rows in tables.items():
        yield ArchiveMember(name, export.begun_at, (_line(row) for row in rows(export)))


def _line(row: Json) -> bytes:
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _settings(describe: Callable[[ReadSession, Phase], Json]) -> Callable[[PhaseExport], Iterable[Json]]:
    def read(export: PhaseExport) -> Iterable[Json]:
        with export.db.read() as session:
            return [describe(session, session.get_one(Phase, export.phase_id))]

    return read


def _phase(versions: objects.Versions, session: ReadSession, phase: Phase) -> Json:
    active = active_version(session, phase)
    named = None if active is None else versions.name(active.gold.id, active.recipe.id, active.scorer_version)
    return objects.archived_phase(phase, named)


def _recipes(export: PhaseExport) -> Iterable[Json]:
    with export.db.read() as session:
        phase = session.get_one(Phase, export.phase_id)
        rows = archived_rows.recipes_of_phase(session, phase.challenge_id, phase.id)
        return [objects.archived_recipe(row) for row in rows if row.id in export.versions.recipes]


def _gold_rows(export: PhaseExport) -> Iterator[Json]:
    """The gold versions one at a time, because their metadata may be large."""
    for version in export.versions.golds.values():
        with export.db.read() as session:
            row = gold.by_version(session, export.phase_id, version)
            found = None if row is None else objects.archived_gold(row, missing=row.id in export.missing)
        if found is not None:
            yield found


def _gold_files(export: PhaseExport) -> Iterator[ArchiveMember]:
    for gold_id, version in export.versions.golds.items():
        with export.db.read() as session:
            row = gold.by_version(session, export.phase_id, version)
        if row is None:  # a draft that was deleted meanwhile
            continue
        kind = stored_file_kind(row)
        yield ArchiveMember(
            layout.gold_member(version, kind.ending),
            row.created_at,
            file=partial(export.files.local_path, row.file_key),
            compress=not (kind.encoding or FORMATS[kind.format].is_binary),
            on_missing=partial(export.missing.add, gold_id),
        )


def _collected(
    export: PhaseExport, collect: Callable[[ReadSession, Sequence[Submission]], list[Collected]]
) -> Iterator[list[Collected]]:
    """What `collect` makes of each page of submissions; its session is closed before anything is sent."""
    after = ""
    while True:
        with export.db.read() as session:
            page = archived_rows.page_of_submissions(
                session, export.phase_id, after=after, last=export.last_id, limit=PAGE_ROWS
            )
            found = collect(session, page)
        yield found
        if len(page) < PAGE_ROWS:
            return
        after = page[-1].id


def _prediction_files(export: PhaseExport) -> Iterator[ArchiveMember]:
    for page in _collected(export, lambda _session, rows: list(rows)):
        for row in page:
            kind = stored_file_kind(row)
            if row.file_removed_at is not None:
                export.missing.add(row.id)
                continue
            yield ArchiveMember(
                layout.prediction_member(row.id, kind.ending),
                row.submitted_at,
                file=partial(export.files.local_path, row.file_key),
                compress=not (kind.encoding or FORMATS[kind.format].is_binary),
                on_missing=partial(export.missing.add, row.id),
            )


def _instances_files(export: PhaseExport, instances: InstancesWriter) -> Iterator[ArchiveMember]:
    for page in _collected(export, lambda _session, rows: list(rows)):
        for row in page:
            if row.status == "finished" and row.id not in export.missing:
                yield instances.member(row)


def _submission_rows(export: PhaseExport, written: Collection[str]) -> Iterator[Json]:
    order = 0

    def collect(session: ReadSession, page: Sequence[Submission]) -> list[Json]:
        first = archived_rows.first_tasks(session, [row.id for row in page])
        found = []
        for number, row in enumerate(page, order + 1):
            task = first.get(row.id)
            if row.status == "finished":
                export.finished.add(row.id)
            under = None if task is None else export.versions.name(task.gold_id, task.recipe_id, task.scorer_version)
            found.append(objects.archived_submission(row, number, under) | _files(export, row, written))
        return found

    for page in _collected(export, collect):
        order += len(page)
        yield from page


def _files(export: PhaseExport, row: Submission, written: Collection[str]) -> Json:
    name = layout.prediction_member(row.id, stored_file_kind(row).ending)
    instances = layout.instances_member(row.id) if row.id in written else None
    return {"file": None if row.id in export.missing else name, "instances": instances}


def _rows_of_submissions(
    export: PhaseExport, table: type[OfSubmission], to_json: Callable[[OfSubmission, objects.Versions], Json]
) -> Iterator[Json]:
    def collect(session: ReadSession, page: Sequence[Submission]) -> list[Json]:
        rows = archived_rows.of_submissions(session, table, [row.id for row in page if row.id in export.finished])
        return [to_json(row, export.versions) for row in rows if export.versions.have(row)]

    for page in _collected(export, collect):
        yield from page


def _receipt_files(export: PhaseExport) -> Iterator[ArchiveMember]:
    def collect(session: ReadSession, page: Sequence[Submission]) -> list[tuple[Receipt, str | None]]:
        rows = archived_rows.of_submissions(session, Receipt, [row.id for row in page])
        return [(row, _proof(session, row.id)) for row in rows if export.versions.have(row)]

    for page in _collected(export, collect):
        for row, proof in page:
            export.receipts[row.id] = proof is not None
            yield ArchiveMember(layout.receipt_member(row.id), row.created_at, [row.envelope.encode()])
            if proof is not None:
                yield ArchiveMember(layout.proof_member(row.id), row.created_at, [proof.encode()])


def _proof(session: ReadSession, receipt_id: str) -> str | None:
    """The proof that the log has a receipt; None while it has none, as for private scores before the release."""
    try:
        return prove_record(session, receipt_id, LOG_KIND)
    except (NotLogged, LogPending, LogRecordErased):
        return None


def _receipt_rows(export: PhaseExport) -> Iterator[Json]:
    def collect(session: ReadSession, page: Sequence[Submission]) -> list[Json]:
        rows = archived_rows.of_submissions(session, Receipt, [row.id for row in page])
        proved = export.receipts
        return [
            objects.archived_receipt(row, export.versions, proved=proved[row.id]) for row in rows if row.id in proved
        ]

    for page in _collected(export, collect):
        yield from page


def _teams(export: PhaseExport) -> Iterable[Json]:
    with export.db.read() as session:
        return [
            objects.archived_team(team)
            for team in archived_rows.teams_of_phase(session, export.phase_id, export.last_id)
        ]


def _switches(export: PhaseExport) -> Iterable[Json]:
    with export.db.read() as session:
        rows = archived_rows.switches_of(session, export.phase_id)
        return [objects.archived_switch(row, export.versions) for row in rows]


def _frozen_boards(export: PhaseExport) -> list[FrozenBoard]:
    with export.db.read() as session:
        return archived_rows.frozen_boards_of(session, export.phase_id)
