"""Check an archive whole, compute its scores again, and store its files, before any row of it is stored."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from app.actions.imports.archived_fields import GoldRow
from app.actions.imports.check_frozen_boards import FrozenBoards
from app.actions.imports.read_settings import read_gold_rows, read_settings, require_known
from app.actions.imports.score_archive import ArchiveScorer
from app.actions.imports.staged_phase import StagedPhase, StagedSubmission
from app.actions.imports.submission_stream import ArchivedSubmission, archived_submissions
from app.archives.evidence import ArchivedFacts, TrustedKeys, check_receipt
from app.archives.open_archive import Archive, InvalidArchive
from app.errors import Unavailable
from app.files import FileStore
from app.scoring_processes import ScoringProcesses

CHECKING, SCORING, STORING = "checking", "scoring", "storing"
SKEW = timedelta(minutes=5)
MAX_RECEIPT_BYTES = 1 << 20


class ImportInterrupted(Exception):
    """The import cannot go on in this process; another one begins it again."""


@contextmanager
def staged_phase(
    archive: Archive,
    *,
    files: FileStore,
    processes: ScoringProcesses,
    work: Path,
    now: datetime,
    go_on: Callable[[str, int], bool],
) -> Iterator[StagedPhase]:
    """The checked phase, while the block runs; if that raises, the stored files are deleted again.

    `go_on` is called with the stage and how many submissions are done; if it returns False, ImportInterrupted is raised.
    Also raises InvalidArchive, ScoringProcessError and Unavailable.
    """
    with tempfile.TemporaryDirectory(prefix="assay-import-", dir=work) as name:
        folder = Path(name).resolve()  # a scoring process has another working directory
        staged = read_settings(archive, folder / "submissions")
        scorer = ArchiveScorer(archive, processes, files, folder, staged.recipes)
        staged.file_keys = scorer.file_keys
        try:
            _check(archive, staged, scorer, now, go_on)
            yield staged
        except BaseException:
            for key in scorer.file_keys:
                with suppress(Unavailable):
                    files.delete(key)
            raise


def _check(
    archive: Archive, staged: StagedPhase, scorer: ArchiveScorer, now: datetime, go_on: Callable[[str, int], bool]
) -> None:
    def report(stage: str) -> None:
        if not go_on(stage, staged.submission_count):
            raise ImportInterrupted

    report(CHECKING)
    for member in archive.members:
        archive.check_member(member)
        report(CHECKING)
    golds = read_gold_rows(archive, staged)
    for row in golds:
        report(CHECKING)
        staged.golds.append(scorer.add_gold(row))
    active = next(row for row in golds if row.status == "active")
    for recipe in staged.recipes:
        if recipe.own or recipe.status == "active":
            scorer.recipe_for(recipe.version, active)
    boards = _frozen_boards(archive, staged, scorer, golds)
    checker = _SubmissionChecker(archive, staged, scorer, boards, golds=golds, now=now)
    with staged.spool.open("w", encoding="utf-8") as out:
        for each in archived_submissions(archive):
            report(SCORING)
            out.write(checker.check(each).to_line() + "\n")
            staged.submission_count += 1
    boards.require_all_confirmed()
    staged.frozen = boards.boards
    report(STORING)


def _frozen_boards(archive: Archive, staged: StagedPhase, scorer: ArchiveScorer, golds: list[GoldRow]) -> FrozenBoards:
    active = next(row for row in golds if row.status == "active")
    recipes = {}
    for recipe in staged.recipes:
        with suppress(InvalidArchive):  # of the challenge, where the phase has another task
            recipes[recipe.version] = scorer.recipe_for(recipe.version, active)
    return FrozenBoards(archive, recipes)


class _SubmissionChecker:
    """Checks one submission after another."""

    def __init__(
        self,
        archive: Archive,
        staged: StagedPhase,
        scorer: ArchiveScorer,
        boards: FrozenBoards,
        *,
        golds: list[GoldRow],
        now: datetime,
    ) -> None:
        self._archive, self._scorer, self._boards, self._now = archive, scorer, boards, now
        self._teams = {team.id: team for team in staged.teams}
        self._commitments = {row.version: row.commitment for row in golds}
        self._golds = {row.version for row in golds}
        self._recipes = {row.version for row in staged.recipes}

    def check(self, each: ArchivedSubmission) -> StagedSubmission:
        """The submission with the scores that were computed here; raises InvalidArchive and ScoringProcessError."""
        row, key, scores = each.row, "", []
        what = f"Submission {row.id}"
        if row.team not in self._teams:
            raise InvalidArchive(f"{what} is of a team that the archive lacks.")
        if row.status in {"queued", "running"}:
            raise InvalidArchive(
                f"{what} was still {row.status} when the phase was exported.",
                remedy="Export the phase again when all submissions are scored.",
            )
        if row.submitted_at > self._now + SKEW:
            raise InvalidArchive(f"{what} was sent in the future: {row.submitted_at.isoformat()}.")
        require_known(row.received_under, self._golds, self._recipes, what)
        if row.status == "finished" and (row.file is None or row.finished_at is None):
            raise InvalidArchive(f"{what} is finished, but its file is not in the archive.")
        if row.status != "finished" and (each.scores or each.receipts):
            raise InvalidArchive(f"{what} is {row.status}, but has scores.")
        if row.file is not None:
            path = self._scorer.write_predictions(row)
            if row.status == "finished":
                scores = self._scorer.score(row, path, each.scores)
            key = self._scorer.store_predictions(path, row.size)
            self._boards.confirm(row.submitted_at, {of.versions.key: of.scores for of in scores})
        self._check_receipts(each)
        return StagedSubmission(row, key, scores, each.receipts)

    def _check_receipts(self, each: ArchivedSubmission) -> None:
        """Receipts state what the archive holds; whose keys signed them is for readers to decide."""
        if not each.receipts:
            return
        values: dict[Any, Any] = {
            (row.submission, row.gold_version, row.recipe_version, row.scorer_version, row.split): row.metrics
            for row in each.scores
        }
        team = None if each.row.sent_team else each.row.team
        facts = ArchivedFacts({each.row.id: each.row.sha256}, {each.row.id: team}, self._commitments, values)
        for receipt in each.receipts:
            require_known(receipt, self._golds, self._recipes, f"Receipt {receipt.id}")
            for name in filter(None, (receipt.file, receipt.proof)):
                member = self._archive.members.get(name)
                if member is None or member.size > MAX_RECEIPT_BYTES:
                    raise InvalidArchive(f"Receipt {receipt.id} is not in the archive, or is too large.")
            check_receipt(self._archive, receipt.model_dump(), facts, TrustedKeys())
