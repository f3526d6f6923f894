"""Computes the scores of an archive again from its gold, predictions and recipes, and compares them with those in it.

The predicted and actual classes that it holds for each submission are made again too.
"""

import io
import json
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.archives.archived_files import file_kind, integer, read_gold
from app.archives.layout import GOLD, INSTANCES_FORMAT, INSTANCES_VERSION, RECIPES, SCORES, SUBMISSIONS
from app.archives.open_archive import Archive, InvalidArchive
from app.errors import AssayError
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.pipeline import Gold, SourceFile, accepted_case, score_predictions
from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric import Result
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.reports.instance_table import write_instances

SAME, DIFFERENT, OTHER_SCORER, NO_FILE, REFUSED = "same", "different", "other_scorer", "no_file", "refused"
"""Equal to the last digit; not equal; made by an earlier scorer version and not equal; no file; the file has problems.

What a later version made cannot be confirmed, so it counts as different."""
FAILED = frozenset({DIFFERENT, REFUSED})
Values = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """One score of an archive beside the value that was computed again; `differences` is by canonical metric string."""

    submission: str
    team: str
    method: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    split: str
    outcome: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    differences: Mapping[str, Any] = field(default_factory=dict)
    instances: str | None = None
    """The outcome for the predicted and actual classes of the submission; None where they are of other versions."""

    def to_dict(self) -> dict[str, Any]:
        """The score as JSON."""
        return asdict(self)


class _Rescorer:
    """Scores files of an archive, one gold at a time."""

    def __init__(self, archive: Archive, folder: Path, limits: Limits) -> None:
        self._archive, self._folder, self._limits = archive, folder, limits
        recipes = {integer(row, "version"): row for row in archive.rows(RECIPES)}
        self._recipes = {version: row.get("body") for version, row in recipes.items()}
        self._fingerprints = {version: row.get("fingerprint", version) for version, row in recipes.items()}
        self._gold: Gold | None = None
        self.version = 0

    def load(self, row: Mapping[str, Any]) -> None:
        """Read the gold of a version; raises InvalidArchive."""
        self.version = integer(row, "version")
        self._gold = read_gold(self._archive, row, self._folder, self._limits)

    def score(self, row: Mapping[str, Any], recipe_version: int) -> dict[str, dict[str, Result]] | None:
        """The scores of a submission by split, None if its file has problems; raises InvalidArchive.

        The gold that was in force when a file was received decided whether it is valid. Later gold reads it as accepted.
        """
        assert self._gold is not None
        recipe = self._recipe(recipe_version)
        rules = ReadingRules.strictest(recipe.metrics, recipe.primary)
        received = row.get("received_under")
        if isinstance(received, dict) and received.get("gold_version") != self.version:
            rules = rules.of_accepted_file()
        source = self._predictions(row)
        settings: dict[str, Any] = {"primary": recipe.primary, "decision": recipe.decision, "options": recipe.options}
        settings |= {"rules": rules, "limits": self._limits}
        with _unusable_as_invalid(row):
            return score_predictions(self._gold, source, recipe.metrics, **settings).scores or None

    def compare_instances(self, row: Mapping[str, Any], recipe_version: int, scorer_version: int) -> str | None:
        """Whether the archive has the predicted and actual classes that gold and predictions give.

        None if it has none by these versions; raises InvalidArchive. To be called after `score` accepted the file.
        """
        assert self._gold is not None
        if row.get("instances") is None:
            return None
        archived = self._archive.read_object(str(row["instances"]))
        versions = {"gold_version": self.version, "scorer_version": scorer_version}
        # A recipe that changed only selection or tie-breakers has the scores of an earlier one, with its fingerprint.
        fingerprint = self._fingerprints.get(integer(archived, "recipe_version"))
        is_of_versions = {name: archived.get(name) for name in versions} == versions
        if not is_of_versions or fingerprint != self._fingerprints.get(recipe_version):
            return None
        source, recipe = self._predictions(row), self._recipe(recipe_version)
        with _unusable_as_invalid(row):
            case = accepted_case(self._gold, source, recipe, limits=self._limits)
        head = {"format": INSTANCES_FORMAT, "version": INSTANCES_VERSION, "submission": row.get("id")}
        made = io.StringIO()
        write_instances(made, head, case, self._gold.ids, self._gold.splits)
        expected = json.loads(made.getvalue())
        return _outcome({name: archived.get(name) for name in expected} == expected, scorer_version)

    def _predictions(self, row: Mapping[str, Any]) -> SourceFile:
        path, kind = self._folder / "predictions", file_kind(row)
        self._archive.write_to(str(row["file"]), path)
        return SourceFile(path, kind)

    @property
    def has_gold(self) -> bool:
        """Whether the archive holds the file of the loaded gold version."""
        return self._gold is not None

    def _recipe(self, version: int) -> ScoringRecipe:
        assert self._gold is not None
        spec, body = self._gold.spec, self._recipes.get(version)
        if not isinstance(body, dict):
            raise InvalidArchive(f"The archive has no recipe version {version}.")
        try:
            return parse_recipe(body, spec.task, positive_label=spec.positive_label, classes=spec.classes, stored=True)
        except (AssayError, KeyError, TypeError, ValueError) as error:
            raise InvalidArchive(f"Recipe version {version} of the archive cannot be read.") from error


@contextmanager
def _unusable_as_invalid(row: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except (AssayError, KeyError, TypeError, ValueError) as error:
        raise InvalidArchive(f"Submission {str(row.get('id'))[:64]} of the archive cannot be scored.") from error


def rescore_archive(
    archive: Archive, wanted: Collection[str] | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> Iterator[ComparedScore]:
    """Every score of the archive, or of these submissions, compared with what this program computes.

    Each gold version is read once, and of the predictions one file at a time is on disk. Raises InvalidArchive.
    """
    stored = _stored_scores(archive, wanted)
    with tempfile.TemporaryDirectory(prefix="assay-archive-") as folder:
        rescorer = _Rescorer(archive, Path(folder), limits)
        for gold in archive.rows(GOLD):
            version = integer(gold, "version")
            if version in stored:
                rescorer.load(gold)
                yield from _rescore_version(archive, rescorer, stored.pop(version))
    if stored:
        raise InvalidArchive(f"The archive has no gold version {min(stored)}, but scores of it.")


_ByRun = dict[tuple[int, int], dict[str, Values]]
"""Metrics by recipe version, scorer version, and split."""


def _stored_scores(archive: Archive, wanted: Collection[str] | None) -> dict[int, dict[str, _ByRun]]:
    """The scores in the archive by gold version and submission."""
    stored: dict[int, dict[str, _ByRun]] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for row in archive.rows(SCORES):
        submission, split, metrics = row.get("submission"), row.get("split"), row.get("metrics")
        if not isinstance(submission, str) or not isinstance(split, str) or not isinstance(metrics, dict):
            raise InvalidArchive(f"A line of '{SCORES}' is not a score.")
        if wanted is None or submission in wanted:
            run = integer(row, "recipe_version"), integer(row, "scorer_version")
            stored[integer(row, "gold_version")][submission][run][split] = metrics
    return stored


def _rescore_version(archive: Archive, rescorer: _Rescorer, stored: dict[str, _ByRun]) -> Iterator[ComparedScore]:
    for row in archive.rows(SUBMISSIONS):
        for (recipe, scorer), by_split in stored.pop(str(row.get("id")), {}).items():
            yield from _compare(row, rescorer, recipe, scorer, by_split)
    if stored:
        raise InvalidArchive(f"The archive has scores of '{min(stored)[:64]}', which is no submission of it.")


def _compare(
    row: Mapping[str, Any], rescorer: _Rescorer, recipe: int, scorer: int, stored: Mapping[str, Values]
) -> Iterator[ComparedScore]:
    can_score = row.get("file") is not None and rescorer.has_gold
    computed = rescorer.score(row, recipe) if can_score else None
    instances = None if computed is None else rescorer.compare_instances(row, recipe, scorer)
    for split, metrics in stored.items():
        outcome = REFUSED if can_score else NO_FILE
        values: dict[str, float | None] = {}
        differences: dict[str, Any] = {}
        if computed is not None:
            results = computed.get(split, {})
            values = {name: result.value for name, result in results.items()}
            differences = find_differences(metrics, values)
            outcome = _outcome(not differences, scorer)
        yield ComparedScore(
            submission=str(row["id"]),
            team=str(row.get("team_name")),
            method=str(row.get("method")),
            gold_version=rescorer.version,
            recipe_version=recipe,
            scorer_version=scorer,
            split=split,
            outcome=outcome,
            values=values,
            differences=differences,
            instances=instances,
        )


def _outcome(is_same: bool, scorer_version: int) -> str:
    return SAME if is_same else OTHER_SCORER if scorer_version < SCORER_VERSION else DIFFERENT


def find_differences(stored: Values, computed: Mapping[str, float | None]) -> dict[str, Any]:
    """The metrics whose stored and computed values are not the same binary64 number, with both."""
    differences = {}
    for name in sorted({*stored, *computed}):
        cell = stored.get(name)
        before, after = (cell.get("value") if isinstance(cell, dict) else None), computed.get(name)
        if name not in stored or name not in computed or json.dumps(before) != json.dumps(after):
            differences[name] = {"archived": before, "computed": after}
    return differences
