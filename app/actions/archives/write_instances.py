"""Have scoring processes write the predicted and actual classes of each scored submission for an archive."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from app.actions.archives.archive_member import ArchiveMember
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.scoring_request import GoldReference, send_scoring_request
from app.archives.layout import INSTANCES_FORMAT, INSTANCES_VERSION, instances_member
from app.errors import Unavailable
from app.files import FileStore
from app.pipeline import SourceFile
from app.scoring_processes import ScoringProcessError, ScoringProcesses
from app.scoring_processes.messages import FileWritten, JsonObject, WriteInstances
from app.store.session import Database
from app.store.tables import Submission

log = structlog.get_logger()


@dataclass(slots=True)
class InstancesWriter:
    """Writes these files one at a time to `folder`; `left_out` has the submissions without one."""

    db: Database
    files: FileStore
    processes: ScoringProcesses
    folder: Path
    gold: GoldReference
    recipe: JsonObject
    head: JsonObject
    """The versions, as the archive names them."""
    written: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)

    def member(self, row: Submission) -> ArchiveMember:
        """The member of a finished submission; its file is there while the member is open."""
        return ArchiveMember(
            instances_member(row.id),
            row.submitted_at,
            file=partial(self._written_file, row),
            on_missing=partial(self.left_out.append, row.id),
        )

    @contextmanager
    def _written_file(self, row: Submission) -> Iterator[Path]:
        """The file of this submission; FileNotFoundError if it cannot be made, so that the archive goes on without it."""
        target = self.folder / "instances.json"
        try:
            with self.files.local_path(row.file_key) as path:
                head = {"format": INSTANCES_FORMAT, "version": INSTANCES_VERSION, "submission": row.id, **self.head}
                source = SourceFile(path, stored_file_kind(row))
                request = WriteInstances(self.gold.source, source, self.recipe, head, target)
                reply = send_scoring_request(self.db, self.files, self.processes, self.gold, request)
        except (ScoringProcessError, Unavailable) as fault:
            log.warning("instances_left_out", submission=row.id, fault=str(fault))
            raise FileNotFoundError(row.id) from fault
        if not isinstance(reply, FileWritten):
            raise FileNotFoundError(row.id)
        try:
            self.written.add(row.id)
            yield target
        finally:
            target.unlink(missing_ok=True)
