"""The board as a pure function of all scores of a phase, read whole: slow, and the oracle of the one that is served."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.submissions.board_scores import describe_selection
from app.actions.submissions.pseudonyms import team_code
from app.actions.submissions.read_leaderboard import BoardAudience
from app.actions.submissions.score_visibility import resolve_split, score_view_for
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges, gold
from app.store.queries.board_versions import BoardVersion
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Recipe, Registration, Score, Submission
from tests.oracles.pure_standings import ScoredEntry, Standing, standings

BoardScores = dict[str, dict[str, dict[str, Any]]]
"""Metric values by the id of the submission, then by the canonical string of the metric."""


def pure_board(
    session: ReadSession, audience: BoardAudience, *, split: str | None = None, metric: str | None = None
) -> dict[str, Any]:
    """The whole board of an audience in the shape of the API, before its rows are compared; without `significance`."""
    phase, organizer = audience.phase, audience.organizer
    version = gold.active(session, phase.id)
    assert version is not None
    stored = challenges.active_recipe(session, phase)
    recipe = parse_stored_recipe(phase, stored)
    shown_split = resolve_split(phase, version, split, organizer=organizer)
    ranked_by = metric or recipe.primary
    finished = select(Submission).where(Submission.phase_id == phase.id, Submission.status == "finished")
    entries = [row for row in session.scalars(finished.order_by(Submission.id)) if not row.test]
    scores = _load_board_scores(session, phase, version, stored, shown_split)
    selection_scores = _load_board_scores(session, phase, version, stored, "public") if version.has_splits else scores
    own_choice = scores if shown_split == "private" else selection_scores
    scored = [row for row in entries if row.id in scores and row.id in selection_scores]
    marks = _marks(scored, _barred_teams(session, phase))
    board_standings = _rank_entries(scored, marks, scores, (selection_scores, own_choice), recipe, ranked_by)
    before: dict[str, int | None] = {}
    if phase.released_at is not None and shown_split == "private":
        public = _load_board_scores(session, phase, version, stored, "public")
        ranked = _rank_entries(scored, marks, public, (public, public), recipe, ranked_by)
        before = {standing.entry.team: standing.rank for standing in ranked if standing.rank is not None}
    attempts = [row.team_id for row in scored if not row.baseline]
    names = _anonymous_names(board_standings, audience)
    view = score_view_for(recipe, organizer=organizer)
    by_id = {entry.id: entry for entry in entries}
    ends = dict.fromkeys(("low", "high")) if organizer or "intervals" in phase.reports else {}
    primary = next(call for call in recipe.metrics if call.text == ranked_by)
    return {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": shown_split,
        "primary": ranked_by,
        "direction": primary.metric.direction,
        "selection": describe_selection(recipe.selection, recipe.selection_max, recipe.tie_breakers),
        "gold_version": version.version,
        "recipe_version": stored.version,
        "scorer_version": phase.scorer_version,
        # Never the end of a scoring, as its duration depends on the gold.
        "as_of": max(
            [version.activated_at or version.created_at, stored.created_at, *(row.submitted_at for row in entries)]
        ),
        "draw_seed": version.draw_seed,
        "metrics": [describe_call(call) for call in recipe.metrics],
        "ladder": None,
        "unscored": 0,
        "former": None,
        "total": len(board_standings),
        "next": None,
        "rows": [
            _board_row(
                standing, by_id[standing.entry.key], names, _with(ends, view.metrics(scores[standing.entry.key]))
            )
            | {"public_rank": None if standing.rank is None else before.get(standing.entry.team)}
            | ({} if standing.entry.baseline else {"entries": attempts.count(standing.entry.team)})
            for standing in board_standings
        ],
    }


def pure_rows(session: ReadSession, phase: Phase, of: BoardVersion, split: str) -> dict[Any, dict[str, Any]]:
    """The rows of the board of these versions, by team, mark and, for a baseline, submission."""
    recipe = parse_stored_recipe(phase, of.recipe)
    finished = select(Submission).where(Submission.phase_id == phase.id, Submission.status == "finished")
    entries = [row for row in session.scalars(finished.order_by(Submission.id)) if not row.test]
    shown = split if of.gold.has_splits else "all"
    scores = _load_board_scores(session, phase, of.gold, of.recipe, shown, of.scorer_version)
    chosen_by = "public" if of.gold.has_splits else shown
    choice = _load_board_scores(session, phase, of.gold, of.recipe, chosen_by, of.scorer_version)
    scored = [row for row in entries if row.id in scores and row.id in choice]
    marks = _marks(scored, _barred_teams(session, phase))
    choices = (choice, scores if shown == "private" else choice)
    ranked = _rank_entries(scored, marks, scores, choices, recipe, recipe.primary)
    return {
        (each.entry.team, each.entry.mark, each.entry.key if each.entry.baseline else None): {
            "submission": each.entry.key,
            "rank": each.rank,
            "tied": each.tied,
            "scores": {call.text: each.entry.values.get(call.text) for call in recipe.metrics},
        }
        for each in ranked
    }


def _with(ends: Mapping[str, None], scores: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {**score, **ends} for name, score in scores.items()}


def _load_board_scores(  # noqa: PLR0917 - what scores depend on
    session: ReadSession,
    phase: Phase,
    version: GoldVersion,
    recipe: Recipe,
    split: str,
    scorer_version: int | None = None,
) -> BoardScores:
    """Scores of one gold, one scorer version and equivalent recipes: a board never mixes incomparable scores."""
    query = select(Score.submission_id, Score.metrics).where(
        Score.gold_id == version.id,
        Score.recipe_id.in_(equivalent_recipe_ids(session, recipe)),
        Score.scorer_version == (phase.scorer_version if scorer_version is None else scorer_version),
        Score.split == split,
    )
    return {submission: metrics for submission, metrics in session.execute(query)}  # noqa: C416 - a row is no pair to the checker


def _barred_teams(session: ReadSession, phase: Phase) -> set[str]:
    """The teams all of whose members are barred; a deleted account is none, unless it was barred itself."""
    members: dict[str, set[str]] = {}
    for row in session.scalars(select(Registration).where(Registration.challenge_id == phase.challenge_id)):
        if row.team_id is not None and row.status != "ended" and (row.status == "barred" or not row.user.deleted_at):
            members.setdefault(row.team_id, set()).add(row.status)
    return {team for team, statuses in members.items() if statuses == {"barred"}}


def _marks(entries: list[Submission], barred: set[str]) -> dict[str, str | None]:
    """The mark of each submission that can have a row, by id.

    Of a marked team those are the entries that would be ranked without the mark, else all others.
    """
    own: dict[str, str | None] = {}
    for row in entries:
        mark = "unofficial" if row.unofficial else None
        mark = "withdrawn" if row.withdrawn_at else mark
        own[row.id] = "disqualified" if row.disqualified_at else mark
    marks: dict[str, str | None] = {}
    for row in entries:
        if row.baseline:
            if own[row.id] in {None, "unofficial"}:
                marks[row.id] = own[row.id]
            continue
        team_mark = "barred" if row.team_id in barred else None
        team_mark = "disqualified" if row.team.disqualified_at else team_mark
        if team_mark is None:
            marks[row.id] = own[row.id]
        elif own[row.id] is None or all(
            own[each.id] is not None for each in entries if each.team_id == row.team_id and not each.baseline
        ):
            marks[row.id] = team_mark
    return marks


def _rank_entries(  # noqa: PLR0917 - called once
    entries: list[Submission],
    marks: Mapping[str, str | None],
    scores: BoardScores,
    choices: tuple[BoardScores, BoardScores],
    recipe: ScoringRecipe,
    ranked_by: str,
) -> list[Standing]:
    """The submission of each team that counts, ranked by the values shown.

    The first of `choices` has the values by which it is chosen among all, the second among those the team selected.
    """
    selection_scores, own_choice = choices
    allowed: set[str] = set()
    for team in {row.team_id for row in entries}:
        own = [row for row in entries if row.team_id == team and row.id in scores and _is_choice(row)]
        chosen = sorted((row.selected_at, row.id) for row in own if row.selected_at is not None)
        allowed |= {key for _, key in chosen[: recipe.selection_max]}
    scored_entries = [
        ScoredEntry(
            key=row.id,
            team=row.team_id,
            submitted_at=row.id,
            values=_metric_values(scores[row.id]),
            baseline=row.baseline,
            selected=row.id in allowed,
            mark=marks[row.id],
            choice=_metric_values(selection_scores[row.id]),
            selected_choice=_metric_values(own_choice[row.id]),
        )
        for row in entries
        if row.id in marks
    ]
    # Ranking by the primary metric uses the tie-breakers; ranking by another metric does not.
    return standings(scored_entries, recipe, metric=None if ranked_by == recipe.primary else ranked_by)


def _is_choice(row: Submission) -> bool:
    """Whether the team's selection counts: not that of a baseline, or of an entry which has a mark of its own."""
    is_out = row.baseline or row.withdrawn_at or row.disqualified_at or row.unofficial
    return row.selected_at is not None and not is_out


def _metric_values(score: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    return {name: value["value"] for name, value in score.items()}


def _anonymous_names(ranked: list[Standing], audience: BoardAudience) -> dict[str, str]:
    """Pseudonyms by the id of the team; empty where names are shown.

    Each is the shortest beginning of the code of the team that no other has, of at least four signs.
    """
    if audience.organizer or not audience.phase.anonymous:
        return {}
    key = audience.phase.pseudonym_key
    codes = {each.entry.team: team_code(key, each.entry.team) for each in ranked if not each.entry.baseline}
    names: dict[str, str] = {}
    for team, code in codes.items():
        others = [other for rival, other in codes.items() if rival != team]
        length = next(n for n in range(4, len(code)) if not any(other.startswith(code[:n]) for other in others))
        names[team] = f"Anonymous {code[:length]}"
    names.pop(audience.own_team or "", None)
    return names


def _board_row(
    standing: Standing, submission: Submission, names: dict[str, str], scores: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    pseudonym = names.get(submission.team_id)
    row = {name: getattr(standing, name) for name in ("rank", "tied")}
    row |= {"team": {"id": submission.team_id, "name": submission.team.name}, "submission": submission.id}
    row |= {"method": submission.method, "submitted_at": submission.submitted_at, "entries": standing.entries}
    row |= {"baseline": submission.baseline, "mark": standing.entry.mark}
    row |= dict.fromkeys(("rank_low", "rank_high", "tie_group"))
    row |= {"on_behalf": submission.on_behalf and not submission.baseline, "scores": scores}
    return (
        row if pseudonym is None else row | {"team": {"id": None, "name": pseudonym}, "submission": None, "method": ""}
    )
