"""The submissions of an archive with their scores and receipts, one submission after another, in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.actions.imports.archived_fields import ReceiptRow, ScoreRow, SubmissionRow, parse_row
from app.archives.layout import RECEIPTS, SCORES, SUBMISSIONS
from app.archives.open_archive import Archive, InvalidArchive

MAX_OF_SUBMISSION = 10_000
"""Scores and receipts of one submission, each; a phase has some of each for every version."""
OfSubmission = TypeVar("OfSubmission", ScoreRow, ReceiptRow)


@dataclass(frozen=True, slots=True)
class ArchivedSubmission:
    """A submission with its scores and receipts."""

    row: SubmissionRow
    scores: list[ScoreRow]
    receipts: list[ReceiptRow]


class _Following(Generic[OfSubmission]):
    """The rows of a table that is in the order of the submissions."""

    def __init__(self, archive: Archive, name: str, kind: type[OfSubmission]) -> None:
        self._name = name
        self._rows: Iterator[OfSubmission] = (parse_row(kind, row, name) for row in archive.rows(name))
        self._next: OfSubmission | None = next(self._rows, None)

    def take(self, submission: str) -> list[OfSubmission]:
        """The rows of this submission; raises InvalidArchive for too many."""
        found: list[OfSubmission] = []
        while self._next is not None and self._next.submission == submission:
            found.append(self._next)
            self._next = next(self._rows, None)
            if len(found) > MAX_OF_SUBMISSION:
                raise InvalidArchive(f"'{self._name}' has too many rows of submission '{submission}'.")
        return found

    def require_end(self) -> None:
        """Raise InvalidArchive unless every row was of a submission, in order."""
        if self._next is not None:
            raise InvalidArchive(
                f"'{self._name}' has a row of '{self._next.submission}', which is no submission of the archive, or is "
                "not in the order of acceptance."
            )


def archived_submissions(archive: Archive) -> Iterator[ArchivedSubmission]:
    """Every submission in the order of acceptance; raises InvalidArchive for rows that are out of order."""
    scores = _Following(archive, SCORES, ScoreRow)
    receipts = _Following(archive, RECEIPTS, ReceiptRow)
    previous = ""
    for number, raw in enumerate(archive.rows(SUBMISSIONS), 1):
        row = parse_row(SubmissionRow, raw, SUBMISSIONS)
        if row.order != number or not previous < row.id:
            raise InvalidArchive(f"Submission '{row.id}' is not in the order of acceptance.")
        previous = row.id
        yield ArchivedSubmission(row, scores.take(row.id), receipts.take(row.id))
    scores.require_end()
    receipts.require_end()
