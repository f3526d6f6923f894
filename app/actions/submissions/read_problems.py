"""The problems of a submitted file with what stands at their locations, for those who may have the file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.actions.access import Caller, require_scope
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.submissions.read_submissions import SubmissionView, is_download_recorded, read_submission
from app.actions.submissions.submission_access import load_visible_submission, require_file_reader
from app.errors import Forbidden
from app.files import FileStore
from app.pipeline import SourceFile
from app.scoring_processes import MemoryLimitExceeded, ScoringProcesses, ScoringTimeout
from app.scoring_processes.messages import EXCERPTS_TOO_COSTLY, Excerpts, ReadExcerpts
from app.store.session import ReadSession
from app.store.tables import Submission


@dataclass(frozen=True, slots=True)
class ProblemList:
    """The problems of a submission, and whether their excerpts may be read."""

    view: SubmissionView
    has_excerpts: bool
    is_recorded: bool
    """Whether reading them is recorded, as a download by an organizer is."""

    @property
    def name(self) -> str:
        """The name of the file with the excerpts, which depend on the submission and its scoring alone."""
        return f"excerpts-{self.view.submission.id}-{self.view.submission.attempt}.json"


def list_problems(session: ReadSession, caller: Caller, submission_id: str) -> ProblemList:
    """The problems of a submission that the caller may see; raises what read_submission raises."""
    view = read_submission(session, caller, submission_id)
    submission, _, organizer = load_visible_submission(session, caller, submission_id)
    require_scope(caller, "read")
    has_excerpts = bool(submission.problems) and submission.file_removed_at is None
    try:
        require_file_reader(session, caller, submission, organizer=organizer)
    except Forbidden:
        has_excerpts = False
    return ProblemList(view, has_excerpts, has_excerpts and is_download_recorded(submission, organizer=organizer))


def write_excerpts(files: FileStore, processes: ScoringProcesses, submission: Submission, target: Path) -> None:
    """Have a process write the excerpts to `target` as JSON, as `load_excerpts` reads them."""
    with files.local_path(submission.file_key) as path:
        found = ask_excerpts(processes, SourceFile(path, stored_file_kind(submission)), submission.problems)
    target.write_text(json.dumps({"texts": found.texts, "left_out": found.left_out}), encoding="utf-8")


def load_excerpts(path: Path) -> Excerpts:
    """What `write_excerpts` wrote."""
    return Excerpts(**json.loads(path.read_text(encoding="utf-8")))


def ask_excerpts(processes: ScoringProcesses, file: SourceFile, problems: Sequence[dict[str, Any]]) -> Excerpts:
    """What stands in a file at the places of its problems; nothing where reading takes too much time or memory."""
    try:
        reply = processes.call(ReadExcerpts(file, problems))
    except (ScoringTimeout, MemoryLimitExceeded):
        return Excerpts([None] * len(problems), EXCERPTS_TOO_COSTLY)
    assert isinstance(reply, Excerpts)
    return reply
