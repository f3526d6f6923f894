"""What stored files are worth: scores and boards computed anew, without a service."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.formats.content.format_detection import FileKind
from app.offline import score_offline
from app.pipeline import SourceFile
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
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
    text, gold = json.dumps(stored.recipe["body"]), _source(stored, stored.gold)
    recipe = _recipe(text)
    rows = {row["id"]: row for row in counted}
    scores = {key: _values(gold, _source(stored, row), text) for key, row in rows.items()}
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


@cache
def _values(gold: SourceFile, predictions: SourceFile, recipe: str) -> dict[str, Values]:
    """The values of a file by split and metric, computed once: many verdicts are about the same files.

    A stored file never changes. A test that changes one does so in a folder of its own, before the first verdict on it.
    """
    metrics = _recipe(recipe).metrics
    outcome = score_offline(gold, predictions, lambda _spec, _needs: metrics, task="multiclass", classes=CLASSES)
    return {split: {name: told.value for name, told in results.items()} for split, results in outcome.scores.items()}


@cache
def _recipe(text: str) -> ScoringRecipe:
    return parse_recipe(json.loads(text), "multiclass", classes=CLASSES, stored=True)


def _source(stored: StoredRows, row: Row) -> SourceFile:
    return SourceFile(stored.files / row["file_key"], FileKind(row["format"], row["encoding"], row["layout"]))
