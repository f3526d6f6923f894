"""What stored files are worth: scores and boards computed anew, without a service."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.formats.content.format_detection import FileKind
from app.offline import score_offline
from app.pipeline import SourceFile
from app.scoring.declaration.recipe import parse_recipe
from tests.oracles.pure_standings import ScoredEntry, standings
from tests.storm.load_generator import CLASSES
from tests.storm.stored_rows import Row, StoredRows

Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class RecomputedScores:
    """Values by submission, split and metric; and the rows of the board of each split, best first."""

    scores: dict[str, dict[str, Values]]
    boards: dict[str, list[dict[str, Any]]]


def recompute_scores(stored: StoredRows, counted: Iterable[Row]) -> RecomputedScores:
    """Score the files of these submissions, and rank them."""
    recipe = parse_recipe(stored.recipe["body"], "multiclass", classes=CLASSES, stored=True)
    rows = {row["id"]: row for row in counted}
    scores: dict[str, dict[str, Values]] = {}
    for key, row in rows.items():
        outcome = score_offline(
            _source(stored, stored.gold),
            _source(stored, row),
            lambda _spec, _needs: recipe.metrics,
            task="multiclass",
            classes=CLASSES,
        )
        splits = outcome.scores.items()
        scores[key] = {split: {name: told.value for name, told in results.items()} for split, results in splits}
    boards = {}
    for split in ("all", "private", "public"):
        entries = [
            ScoredEntry(
                key=key,
                team=rows[key]["team_id"],
                submitted_at=key,
                values=found.get(split, {}),
                choice=found.get("public", {}),
            )
            for key, found in scores.items()
        ]
        boards[split] = [
            {
                "rank": each.rank,
                "tied": each.tied,
                "submission": each.entry.key,
                "entries": each.entries,
                "team": each.entry.team,
                "scores": dict(each.entry.values),
            }
            for each in standings(entries, recipe)
        ]
    return RecomputedScores(scores, boards)


def _source(stored: StoredRows, row: Row) -> SourceFile:
    return SourceFile(stored.files / row["file_key"], FileKind(row["format"], row["encoding"], row["layout"]))
