"""Read a board: a pure query over scores and recipe, never a flag on a submission."""

from datetime import datetime
from typing import Any

from app.actions.access import Caller, membership, organizes, see_phase
from app.actions.change_recipe import scoring_recipe
from app.actions.visibility import require_board, split_for, view_for
from app.errors import BadRequest, InvalidMetric, NoGold
from app.scoring import SCORER_VERSION
from app.scoring.asked import parse_metric
from app.scoring.catalogue import describe_call
from app.scoring.recipe import Recipe as ScoringRecipe
from app.scoring.standings import Entry, Standing, standings
from app.store import challenges, clock, gold, submissions
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Recipe, Score, Submission


def read_leaderboard(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, split: str | None, metric: str | None
) -> dict[str, Any]:
    """The board of a phase, best first, in the shape that the contract gives.

    Raises NotFound, LeaderboardHidden, SplitHidden, NoGold, and BadRequest for a metric that the recipe lacks.
    """
    phase = see_phase(session, caller, slug, phase_slug)
    organizer = organizes(session, caller, phase.challenge)
    require_board(phase, clock.now(session), organizer=organizer)
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    stored = challenges.active_recipe(session, phase.challenge_id)
    recipe = scoring_recipe(phase.challenge, stored)
    chosen = split_for(phase, version, split, organizer=organizer)
    ranked_by = _metric(recipe, metric)
    entries = submissions.counted(session, phase.id)
    scores = _scores(session, phase, version, stored, chosen)
    selecting = _scores(session, phase, version, stored, "public") if version.has_splits else scores
    ranked = _ranked(entries, scores, selecting, recipe, ranked_by)
    own = membership(session, caller, phase.challenge)
    names = _names(ranked, phase, own_team=own.team_id if own else None, organizer=organizer)
    view = view_for(recipe, organizer=organizer)
    by_id = {entry.id: entry for entry in entries}
    call = next(call for call in recipe.metrics if call.text == ranked_by)
    return {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": chosen,
        "primary": ranked_by,
        "direction": call.metric.direction,
        "gold_version": version.version,
        "recipe_version": stored.version,
        "scorer_version": SCORER_VERSION,
        "as_of": _as_of(entries, version, stored),
        "metrics": [describe_call(each) for each in recipe.metrics],
        "rows": [
            _row(standing, by_id[standing.entry.key], names, view.metrics(scores[standing.entry.key].metrics))
            for standing in ranked
        ],
    }


def _metric(recipe: ScoringRecipe, asked: str | None) -> str:
    """The canonical string to rank by; raises BadRequest."""
    if asked is None:
        return recipe.primary
    known = [call.text for call in recipe.metrics]
    try:
        text = parse_metric(asked, options=recipe.options).text
    except InvalidMetric as fault:
        raise BadRequest(fault.detail, remedy=f"This board has {', '.join(known)}.") from fault
    if text not in known:
        raise BadRequest(f"The recipe has no metric '{asked}'; it has {', '.join(known)}.")
    return text


def _scores(session: ReadSession, phase: Phase, version: GoldVersion, recipe: Recipe, split: str) -> dict[str, Score]:
    """Scores of one gold, one scorer version and recipes that compute the same: a board is never mixed."""
    same = [
        row.id for row in challenges.recipes_of(session, phase.challenge_id) if row.fingerprint == recipe.fingerprint
    ]
    return submissions.scores_for_board(
        session, phase.id, gold_id=version.id, recipe_ids=same, scorer_version=SCORER_VERSION, split=split
    )


def _ranked(
    entries: list[Submission],
    scores: dict[str, Score],
    selecting: dict[str, Score],
    recipe: ScoringRecipe,
    ranked_by: str,
) -> list[Standing]:
    """Each team's counted submission, chosen by the public values, ranked by those of the split shown."""
    chosen = [
        Entry(
            key=row.id,
            team=row.team_id,
            submitted_at=row.id,
            values=_values(scores[row.id]),
            baseline=row.baseline,
            selected=row.selected_at is not None,
            choice=_values(selecting[row.id]),
        )
        for row in entries
        if row.id in scores and row.id in selecting
    ]
    # The primary metric ranks with its tie-breakers, any other alone.
    return standings(chosen, recipe, metric=None if ranked_by == recipe.primary else ranked_by)


def _values(score: Score) -> dict[str, float | None]:
    return {name: value["value"] for name, value in score.metrics.items()}


def _names(ranked: list[Standing], phase: Phase, *, own_team: str | None, organizer: bool) -> dict[str, str] | None:
    """Stand-ins for team names where the phase is anonymous; a team still sees its own."""
    if not phase.anonymous or organizer:
        return None
    rivals = [standing.entry for standing in ranked if not standing.entry.baseline]
    others = [entry.team for entry in rivals if entry.team != own_team]
    return {team: f"Anonymous {number}" for number, team in enumerate(dict.fromkeys(others), 1)}


def _as_of(entries: list[Submission], version: GoldVersion, recipe: Recipe) -> datetime:
    """When the board last changed: the same board has the same bytes, and so the same ETag."""
    moments = [row.finished_at for row in entries if row.finished_at is not None]
    return max([*moments, version.activated_at or version.created_at, recipe.created_at])


def _row(
    standing: Standing, submission: Submission, names: dict[str, str] | None, scores: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    hidden = names is not None and submission.team_id in names
    name = names[submission.team_id] if names is not None and hidden else submission.team.name
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
