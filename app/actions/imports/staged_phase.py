"""What an import has checked and keeps until one transaction stores all of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from app.actions.imports.archived_fields import (
    ChallengeRow,
    FrozenRow,
    GoldRow,
    ManifestHead,
    PhaseRow,
    ReceiptRow,
    RecipeRow,
    SubmissionRow,
    SwitchRow,
    TeamRow,
    VersionsRow,
)
from app.scoring_processes.messages import GoldSummary

Key = tuple[int, int, int]
"""Gold, recipe and scorer version."""


class StagedGold(NamedTuple):
    """A gold version whose file is stored, and what a scoring process read from it."""

    row: GoldRow
    summary: GoldSummary
    file_key: str


class StagedFrozenBoard(NamedTuple):
    """A frozen board whose values were computed again."""

    row: FrozenRow
    content: str


@dataclass(slots=True)
class StagedScore:
    """The scores of one submission by some versions, as this installation computed them."""

    versions: VersionsRow
    scores: Mapping[str, Mapping[str, Any]]
    empty: Mapping[str, int]
    content_sha256: str | None
    created_at: str


@dataclass(slots=True)
class StagedSubmission:
    """A submission whose file is stored, if the archive has it."""

    row: SubmissionRow
    file_key: str
    scores: list[StagedScore]
    receipts: list[ReceiptRow]

    def to_line(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {
                "row": self.row.model_dump(mode="json"),
                "file_key": self.file_key,
                "scores": [
                    {
                        "versions": each.versions.model_dump(mode="json"),
                        "scores": each.scores,
                        "empty": each.empty,
                        "content_sha256": each.content_sha256,
                        "created_at": each.created_at,
                    }
                    for each in self.scores
                ],
                "receipts": [each.model_dump(mode="json") for each in self.receipts],
            }
        )

    @classmethod
    def from_line(cls, line: str) -> "StagedSubmission":
        """What `to_line` wrote."""
        fields = json.loads(line)
        return cls(
            SubmissionRow.model_validate(fields["row"]),
            fields["file_key"],
            [
                StagedScore(**each | {"versions": VersionsRow.model_validate(each["versions"])})
                for each in fields["scores"]
            ],
            [ReceiptRow.model_validate(each) for each in fields["receipts"]],
        )


@dataclass(slots=True)
class StagedPhase:
    """A checked phase; its submissions are in a file, so that any number of them takes little memory."""

    head: ManifestHead
    challenge: ChallengeRow
    phase: PhaseRow
    recipes: list[RecipeRow]
    teams: list[TeamRow]
    switches: list[SwitchRow]
    spool: Path
    golds: list[StagedGold] = field(default_factory=list)
    frozen: list[StagedFrozenBoard] = field(default_factory=list)
    submission_count: int = 0
    file_keys: list[str] = field(default_factory=list)
    """Files that were stored for the import, to be deleted if it fails."""

    def submissions(self) -> Iterator[StagedSubmission]:
        """The submissions in the order of acceptance."""
        with self.spool.open(encoding="utf-8") as lines:
            yield from map(StagedSubmission.from_line, lines)
