"""The board as a pure function of all scores of a phase, read whole: slow, and the oracle of the one that is served."""

from typing import Any

from sqlalchemy import select

from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.submissions.read_leaderboard import BoardAudience
from app.actions.submissions.score_visibility import resolve_split, score_view_for
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges, gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Recipe, Score, Submission
from tests.oracles.pure_standings import ScoredEntry, Standing, standings

BoardScores = dict[str, dict[str, dict[str, Any]]]
"""Metric values by the id of the submission, then by the canonical string of the metric."""


def pure_board(
    session: ReadSession, audience: BoardAudience, *, split: str | None = None, metric: str | None = None
) -> dict[str, Any]:
    """The whole board of an audience, in the shape of the API."""
    phase, organizer = audience.phase, audience.organizer
    version = gold.active(session, phase.id)
    assert version is not None
    stored = challenges.active_recipe(session, phase.challenge_id)
    recipe = parse_stored_recipe(phase.challenge, stored)
    shown_split = resolve_split(phase, version, split, organizer=organizer)
    ranked_by = metric or recipe.primary
    finished = select(Submission).where(Submission.phase_id == phase.id, Submission.status == "finished")
    on_board = finished.where(Submission.withdrawn_at.is_(None), Submission.disqualified_at.is_(None))
    entries = list(session.scalars(on_board.order_by(Submission.id)))
    scores = _load_board_scores(session, phase, version, stored, shown_split)
    selection_scores = _load_board_scores(session, phase, version, stored, "public") if version.has_splits else scores
    board_standings = _rank_entries(entries, scores, selection_scores, recipe, ranked_by)
    names = _anonymous_names(board_standings, audience)
    view = score_view_for(recipe, organizer=organizer)
    by_id = {entry.id: entry for entry in entries}
    primary = next(call for call in recipe.metrics if call.text == ranked_by)
    return {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": shown_split,
        "primary": ranked_by,
        "direction": primary.metric.direction,
        "gold_version": version.version,
        "recipe_version": stored.version,
        "scorer_version": phase.scorer_version,
        # Never the end of a scoring, as its duration depends on the gold.
        "as_of": max(
            [version.activated_at or version.created_at, stored.created_at, *(row.submitted_at for row in entries)]
        ),
        "metrics": [describe_call(call) for call in recipe.metrics],
        "total": len(board_standings),
        "next": None,
        "rows": [
            _board_row(standing, by_id[standing.entry.key], names, view.metrics(scores[standing.entry.key]))
            for standing in board_standings
        ],
    }


def _load_board_scores(
    session: ReadSession, phase: Phase, version: GoldVersion, recipe: Recipe, split: str
) -> BoardScores:
    """Scores of one gold, one scorer version and equivalent recipes: a board never mixes incomparable scores."""
    query = select(Score.submission_id, Score.metrics).where(
        Score.gold_id == version.id,
        Score.recipe_id.in_(equivalent_recipe_ids(session, recipe)),
        Score.scorer_version == phase.scorer_version,
        Score.split == split,
    )
    return {submission: metrics for submission, metrics in session.execute(query)}  # noqa: C416 - a row is no pair to the checker


def _rank_entries(
    entries: list[Submission],
    scores: BoardScores,
    selection_scores: BoardScores,
    recipe: ScoringRecipe,
    ranked_by: str,
) -> list[Standing]:
    """The submission of each team that counts: selected by its values on the public split, ranked by those shown."""
    scored_entries = [
        ScoredEntry(
            key=row.id,
            team=row.team_id,
            submitted_at=row.id,
            values=_metric_values(scores[row.id]),
            baseline=row.baseline,
            selected=row.selected_at is not None,
            choice=_metric_values(selection_scores[row.id]),
        )
        for row in entries
        if row.id in scores and row.id in selection_scores
    ]
    # Ranking by the primary metric uses the tie-breakers; ranking by another metric does not.
    return standings(scored_entries, recipe, metric=None if ranked_by == recipe.primary else ranked_by)


def _metric_values(score: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    return {name: value["value"] for name, value in score.items()}


def _anonymous_names(ranked: list[Standing], audience: BoardAudience) -> dict[str, str]:
    """Pseudonyms by the id of the team, in the order of the board; empty where names are shown."""
    names: dict[str, str] = {}
    for standing in ranked:
        team = standing.entry.team
        if not standing.entry.baseline and team != audience.own_team and team not in names:
            names[team] = f"Anonymous {len(names) + 1}"
    return names if audience.phase.anonymous and not audience.organizer else {}


def _board_row(
    standing: Standing, submission: Submission, names: dict[str, str], scores: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    pseudonym = names.get(submission.team_id)
    row = {name: getattr(standing, name) for name in ("rank", "rank_low", "rank_high", "tie_group")}
    row |= {"team": {"id": submission.team_id, "name": submission.team.name}, "submission": submission.id}
    row |= {"method": submission.method, "submitted_at": submission.submitted_at, "entries": standing.entries}
    row |= {"baseline": submission.baseline, "scores": scores}
    return (
        row if pseudonym is None else row | {"team": {"id": None, "name": pseudonym}, "submission": None, "method": ""}
    )
