"""Compare the boards of a phase under two versions: what a switch from one to the other changes, at full precision."""

from collections.abc import Sequence
from typing import Any

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.board_scores import board_scores
from app.actions.submissions.ladder_board import ladder_entries
from app.actions.submissions.ladders import read_ladders
from app.actions.versions.board_difference import BoardSide, board_difference
from app.actions.versions.target_scores import target_provenance
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import Standing, ValueKey, standings
from app.store.queries import board_entries, version_scores
from app.store.queries.board_versions import BoardVersion
from app.store.queries.entry_choice import BoardScores, ranking_keys
from app.store.session import ReadSession
from app.store.tables import Phase

BoardComparison = dict[str, Any]
"""A stored comparison: plain JSON, with teams by id, so that names follow later changes."""


def compare_boards(session: ReadSession, phase: Phase, before: BoardVersion, after: BoardVersion) -> BoardComparison:
    """The boards of a phase under two versions, by split, with all metric values of the submissions that count.

    `ladder` compares what visitors are shown where either recipe has a Ladder. `unscored` lists finished submissions
    that have no scores of the later version; they are on none of its boards.
    """
    pair = (before, after)
    has_splits = any(of.gold.has_splits for of in pair)
    return {
        "before": _side_fields(phase, before),
        "after": _side_fields(phase, after),
        "splits": {
            split: board_difference(*(_score_side(session, phase, of, split) for of in pair))
            for split in (("public", "private") if has_splits else ("all",))
        },
        "ladder": _ladder_difference(session, phase, before, after),
        "unscored": _unscored(session, phase, after),
    }


def _side_fields(phase: Phase, of: BoardVersion) -> dict[str, Any]:
    recipe = parse_stored_recipe(phase, of.recipe)
    return {
        "gold_version": of.gold.version,
        "recipe_version": of.recipe.version,
        "scorer_version": of.scorer_version,
        "primary": recipe.primary,
        "metrics": [call.text for call in recipe.metrics],
        "digits": recipe.digits,
        "ladder": recipe.ladder is not None,
    }


def _score_side(session: ReadSession, phase: Phase, of: BoardVersion, split: str) -> BoardSide:
    """The board of scores of a split; gold without splits has one board, which stands for each."""
    recipe = parse_stored_recipe(phase, of.recipe)
    shown = split if of.gold.has_splits else "all"
    scores = board_scores(session, phase, of, shown_split=shown, ranked_by=recipe.primary)
    rows = standings(board_entries.entries(session, scores).entries)
    return BoardSide(rows, _metric_values(session, scores, recipe, rows))


def _metric_values(
    session: ReadSession, scores: BoardScores, recipe: ScoringRecipe, rows: Sequence[Standing]
) -> dict[str, dict[str, float | None]]:
    """The values of these rows, from the ranked values, because decoding the JSON of scores takes several times as long."""
    metrics = [call.text for call in recipe.metrics]
    directions = [call.metric.direction for call in recipe.metrics]
    keys = ranking_keys(session, scores, [row.entry.submission for row in rows], metrics, scores.shown)
    return {
        submission: {
            metric: value_of_key(key, direction)
            for metric, direction, key in zip(metrics, directions, of_one, strict=True)
        }
        for submission, of_one in keys.items()
    }


def value_of_key(key: ValueKey, direction: str) -> float | None:
    """The metric value that a ranking key stands for."""
    undefined, number = key
    return None if undefined else (-number if direction == "higher" else number) + 0.0


def _ladder_difference(
    session: ReadSession, phase: Phase, before: BoardVersion, after: BoardVersion
) -> dict[str, Any] | None:
    """What visitors are shown before the final release, where either recipe limits it by a Ladder."""
    recipes = [parse_stored_recipe(phase, of.recipe) for of in (before, after)]
    if all(recipe.ladder is None for recipe in recipes):
        return None
    return board_difference(*(_visitor_side(session, phase, of) for of in (before, after)))


def _visitor_side(session: ReadSession, phase: Phase, of: BoardVersion) -> BoardSide:
    """The outputs of the Ladders, replayed over all submissions; scores under a recipe without one."""
    ladders = read_ladders(session, phase, of)
    if ladders is None:
        return _score_side(session, phase, of, "public")
    rows = standings(ladder_entries(session, ladders, phase.challenge_id).entries)
    values = {
        row.entry.submission: {ladders.primary: value_of_key(row.entry.keys[0], ladders.direction)} for row in rows
    }
    return BoardSide(rows, values)


def _unscored(session: ReadSession, phase: Phase, of: BoardVersion) -> list[dict[str, Any]]:
    found = version_scores.unscored_of_phase(session, phase.id, target_provenance(session, of))
    return [{"submission": row.submission, "team": row.team, "failure": row.failure} for row in found]
