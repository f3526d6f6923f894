"""The board as a pure function of all scores of a phase, read whole: slow, and the oracle of the one that is served."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.submissions.read_leaderboard import BoardAudience
from app.actions.submissions.score_visibility import resolve_split, score_view_for
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges, gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Recipe, Score, Submission, Team
from tests.oracles.pure_standings import ScoredEntry, Standing, standings


class BoardSubmission(NamedTuple):
    """The columns of a submission that a board needs."""

    id: str
    team_id: str
    team_name: str
    method: str
    baseline: bool
    submitted_at: datetime
    selected_at: datetime | None


MetricValues = Mapping[str, Mapping[str, Any]]  # of one score, by the canonical string of the metric


def board_submissions(session: ReadSession, phase_id: str) -> list[BoardSubmission]:
    """Finished submissions that were neither withdrawn nor disqualified: the rows of a board.

    Columns instead of mapped objects, because a board reads thousands of rows after each change.
    """
    query = select(
        Submission.id,
        Submission.team_id,
        Team.name,
        Submission.method,
        Submission.baseline,
        Submission.submitted_at,
        Submission.selected_at,
    ).join(Team, Team.id == Submission.team_id)
    shown = query.where(
        Submission.phase_id == phase_id,
        Submission.status == "finished",
        Submission.withdrawn_at.is_(None),
        Submission.disqualified_at.is_(None),
    )
    return [BoardSubmission(*row) for row in session.execute(shown.order_by(Submission.id))]


def scores_for_board(
    session: ReadSession, phase_id: str, *, gold_id: str, recipe_ids: Iterable[str], scorer_version: int, split: str
) -> dict[str, MetricValues]:
    """Metric values by submission id, of one gold, recipe family, scorer version and split."""
    query = (
        select(Score.submission_id, Score.metrics)
        .join(Submission, Submission.id == Score.submission_id)
        .where(
            Submission.phase_id == phase_id,
            Score.gold_id == gold_id,
            Score.recipe_id.in_(list(recipe_ids)),
            Score.scorer_version == scorer_version,
            Score.split == split,
        )
    )
    return {row.submission_id: row.metrics for row in session.execute(query)}


BoardScores = dict[str, MetricValues]
"""Metric values by the id of the submission."""


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
    entries = board_submissions(session, phase.id)
    scores = _load_board_scores(session, phase, version, stored, shown_split)
    selection_scores = _load_board_scores(session, phase, version, stored, "public") if version.has_splits else scores
    board_standings = _rank_entries(entries, scores, selection_scores, recipe, ranked_by)
    names = _anonymous_names(board_standings, phase, own_team=audience.own_team, organizer=organizer)
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
        "as_of": _as_of(entries, version, stored),
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
    recipe_ids, scorer_version = equivalent_recipe_ids(session, recipe), phase.scorer_version
    return scores_for_board(
        session, phase.id, gold_id=version.id, recipe_ids=recipe_ids, scorer_version=scorer_version, split=split
    )


def _rank_entries(
    entries: list[BoardSubmission],
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


def _metric_values(score: MetricValues) -> dict[str, float | None]:
    return {name: value["value"] for name, value in score.items()}


def _anonymous_names(
    ranked: list[Standing], phase: Phase, *, own_team: str | None, organizer: bool
) -> dict[str, str] | None:
    """Pseudonyms of the teams in an anonymous phase, except the own team; None where names are shown."""
    if not phase.anonymous or organizer:
        return None
    rivals = [standing.entry for standing in ranked if not standing.entry.baseline]
    others = [entry.team for entry in rivals if entry.team != own_team]
    return {team: f"Anonymous {number}" for number, team in enumerate(dict.fromkeys(others), 1)}


def _as_of(entries: list[BoardSubmission], version: GoldVersion, recipe: Recipe) -> datetime:
    """The newest time among the inputs of the board.

    Never the end of a scoring, as its duration depends on the gold.
    """
    activated_at = version.activated_at or version.created_at
    return max(activated_at, recipe.created_at, *(row.submitted_at for row in entries))


def _board_row(
    standing: Standing, submission: BoardSubmission, names: dict[str, str] | None, scores: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    hidden = names is not None and submission.team_id in names
    name = names[submission.team_id] if names is not None and hidden else submission.team_name
    return {
        "rank": standing.rank,
        "rank_low": standing.rank_low,
        "rank_high": standing.rank_high,
        "tie_group": standing.tie_group,
        "team": {"id": None if hidden else submission.team_id, "name": name},
        "submission": None if hidden else submission.id,
        "method": "" if hidden else submission.method,
        "submitted_at": submission.submitted_at,
        "entries": standing.entries,
        "baseline": submission.baseline,
        "scores": scores,
    }
