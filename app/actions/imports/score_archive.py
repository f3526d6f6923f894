"""Have scoring processes compute every score of an archive again, and compare each value with the archived one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.actions.imports.archived_fields import GoldRow, RecipeRow, ScoreRow, SubmissionRow
from app.actions.imports.staged_phase import Key, StagedGold, StagedScore
from app.archives.archived_files import file_kind
from app.archives.open_archive import Archive, InvalidArchive
from app.archives.rescoring import find_differences
from app.errors import AssayError
from app.files import UPLOADS, FileStore, new_key
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring import SCORER_VERSION
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.gold_content_hash import gold_content_hash
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import CheckGold, FileResult, GoldSummary, ScorePredictions


class ForgedScore(InvalidArchive):
    """A score in the archive is not what its gold, predictions and recipe give."""

    code = "forged_score"
    remedy = "Ask whoever sent the archive where it comes from: 'assay score --archive' shows every difference."


class ArchiveScorer:
    """Reads the gold versions of an archive once, and scores its submissions one at a time."""

    def __init__(
        self, archive: Archive, processes: ScoringProcesses, files: FileStore, folder: Path, recipes: list[RecipeRow]
    ) -> None:
        self._archive, self._processes, self._files, self._folder = archive, processes, files, folder
        self._recipes = {row.version: row for row in recipes}
        self._golds: dict[int, tuple[GoldRow, GoldSource]] = {}
        self.file_keys: list[str] = []

    def add_gold(self, row: GoldRow) -> StagedGold:
        """Read and store a gold version; raises InvalidArchive where it is not what the archive says."""
        what = f"Gold version {row.version}"
        if row.file is None:
            raise InvalidArchive(f"{what} has no file in the archive, so its scores cannot be computed again.")
        path = self._folder / f"gold-{row.version}"
        self._write(row.file, path, row.sha256, what)
        kind = file_kind(row.model_dump())
        file = GoldFile(SourceFile(path, kind), row.task, row.positive_label, row.classes, row.metadata)
        file = GoldFile(*(file.source, file.task, file.positive_label, file.classes, file.metadata), row.void_ids or ())
        source = GoldSource(_gold_name(row), file)
        reply = self._processes.call(CheckGold(source, nonce=row.nonce))
        if not isinstance(reply, GoldSummary):
            raise InvalidArchive(f"The file of {what.lower()} has problems.")
        _require_same_gold(row, reply)
        self._golds[row.version] = row, source
        return StagedGold(row, reply, self._store(path, row.size))

    def recipe_for(self, version: int, gold: GoldRow) -> ScoringRecipe:
        """A recipe of the archive as it is read for gold; raises InvalidArchive."""
        try:
            rules: dict[str, Any] = {"positive_label": gold.positive_label, "classes": gold.classes}
            return parse_recipe(self._recipes[version].body, gold.task, **rules, stored=True)
        except (AssayError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidArchive(f"Recipe version {version} of the archive cannot be read.") from error

    def write_predictions(self, row: SubmissionRow) -> Path:
        """The file of a submission, checked against its row."""
        assert row.file is not None
        path = self._folder / "predictions"
        self._write(row.file, path, row.sha256, f"The file of submission {row.id}")
        return path

    def score(self, row: SubmissionRow, path: Path, scores: list[ScoreRow]) -> list[StagedScore]:
        """The scores of a finished submission by all versions of the archive, computed here.

        Raises ForgedScore for a value that differs, InvalidArchive, and ScoringProcessError.
        """
        by_version: dict[Key, dict[str, ScoreRow]] = {}
        for score in scores:
            splits = by_version.setdefault(score.key, {})
            if score.split in splits:
                raise InvalidArchive(f"The archive has two scores of submission {row.id} for one split.")
            splits[score.split] = score
        received = None if row.received_under is None else row.received_under.key
        if received not in by_version:
            raise InvalidArchive(
                f"Submission {row.id} is finished, but has no score by the versions it was received under."
            )
        by_version = {received: by_version.pop(received), **by_version}
        computed: dict[tuple[int, int], FileResult] = {}
        found = []
        for key, splits in by_version.items():
            if key[:2] not in computed:
                computed[key[:2]] = self._compute(row, path, key, accepted=key != received)
            found.append(_compare(row, splits, computed[key[:2]]))
        return found

    def store_predictions(self, path: Path, size: int) -> str:
        """Store the file of a submission; returns its key."""
        return self._store(path, size)

    def _compute(self, row: SubmissionRow, path: Path, key: Key, *, accepted: bool) -> FileResult:
        gold, recipe = self._golds.get(key[0]), self._recipes.get(key[1])
        if gold is None or recipe is None:
            raise InvalidArchive(f"Submission {row.id} has scores by versions that the archive does not hold.")
        predictions = SourceFile(path, file_kind(row.model_dump()))
        reply = self._processes.call(ScorePredictions(gold[1], predictions, recipe.body, accepted))
        if not isinstance(reply, FileResult) or not reply.valid:
            raise ForgedScore(f"Submission {row.id} has scores in the archive, but its file is not valid here.")
        return reply

    def _write(self, member: str, path: Path, sha256: str, what: str) -> None:
        if member not in self._archive.members or self._archive.members[member].sha256 != sha256:
            raise InvalidArchive(f"{what} is not the one that was uploaded: its SHA-256 differs.")
        self._archive.write_to(member, path)

    def _store(self, path: Path, size: int) -> str:
        key = new_key(UPLOADS)
        self.file_keys.append(key)
        self._files.put(key, path, size)
        return key


def _compare(row: SubmissionRow, splits: Mapping[str, ScoreRow], computed: FileResult) -> StagedScore:
    first = next(iter(splits.values()))
    if set(splits) != set(computed.scores):
        raise ForgedScore(f"The archive has scores of submission {row.id} for the splits {sorted(splits)} only.")
    for split, archived in splits.items():
        values = {name: cell["value"] for name, cell in computed.scores[split].items()}
        differences = find_differences(archived.metrics, values)
        if differences:
            _refuse(row, archived, differences)
    created_at = first.created_at.isoformat()
    return StagedScore(first, computed.scores, computed.empty_by_split, computed.content_sha256, created_at)


def _refuse(row: SubmissionRow, archived: ScoreRow, differences: Mapping[str, Any]) -> None:
    metric, values = next(iter(differences.items()))
    detail = f"Submission {row.id} has {metric} {values['archived']} for '{archived.split}' in the archive, "
    detail += f"but its files give {values['computed']}"
    if archived.scorer_version == SCORER_VERSION:
        raise ForgedScore(f"{detail}.")
    detail += f"; the archived value is by scorer version {archived.scorer_version}, this one by {SCORER_VERSION}."
    raise ForgedScore(
        detail, remedy="Scores of another scorer version are imported only where the values are the same."
    )


def _gold_name(row: GoldRow) -> str:
    return gold_content_hash(
        sha256=row.sha256,
        kind=file_kind(row.model_dump()).to_dict(),
        task=row.task,
        positive_label=row.positive_label,
        classes=row.classes,
        metadata=row.metadata,
        void_ids=row.void_ids or (),
    )


def _require_same_gold(row: GoldRow, summary: GoldSummary) -> None:
    if list(summary.classes) != row.classes:
        raise InvalidArchive(f"Gold version {row.version} has other classes than the archive says.")
    if row.commitment is not None and summary.commitment != row.commitment:
        raise InvalidArchive(f"The commitment to gold version {row.version} is not to this gold and nonce.")
    if row.ids_hash is not None and summary.ids_hash != row.ids_hash:
        raise InvalidArchive(f"Gold version {row.version} has other ids than the archive says.")


ReportProgress = Callable[[str, int], bool]
"""Called with the stage and how many submissions are done; False once the import must end."""
