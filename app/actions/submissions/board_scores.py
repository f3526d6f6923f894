"""Which scores a board is computed from, and by which split the entry of each team is chosen."""

from collections.abc import Collection, Sequence

from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.submissions.score_visibility import visible_split
from app.scoring.standings import Standing, standings
from app.store.queries import board_entries, board_marks, entry_choice
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.queries.entry_choice import BoardScores
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import Phase

SELECTION_RULES = {
    "best": "The best submission of each team by its public value counts.",
    "latest": "The latest scored submission of each team counts.",
    "selected": "Of the submissions that a team selected{limit}, the best by the public value counts, after the final "
    "release the best by the private one. Without a selection, its best submission by the public value counts.",
}
EARLIEST = "Of equal ones the earliest counts."
TIE_BREAKERS = "Equal ones are compared by the tie-breakers; of those that stay equal the earliest counts."


def describe_selection(
    selection: str, maximum: int | None, tie_breakers: Sequence[object]
) -> dict[str, str | int | None]:
    """The selection rule of a recipe with sentences that say which submission of a team counts."""
    sentences = [SELECTION_RULES[selection].format(limit="" if maximum is None else f" (at most {maximum})")]
    if selection != "latest":
        sentences.append(TIE_BREAKERS if tie_breakers else EARLIEST)
    return {"rule": selection, "max": maximum, "meaning": " ".join(sentences)}


def board_scores(
    session: ReadSession, phase: Phase, of: BoardVersion, *, shown_split: str, ranked_by: str
) -> BoardScores:
    """Scores of one gold, one scorer version and equivalent recipes: a board never mixes incomparable scores.

    The submission of each team that counts is chosen by its values on the public split; of several that the team
    selected, the board of the private split takes the best private one. Ranking by the primary metric uses the
    tie-breakers; ranking by another metric does not.
    """
    recipe, recipe_ids = parse_stored_recipe(phase, of.recipe), equivalent_recipe_ids(session, of.recipe)
    chosen_by = "public" if of.gold.has_splits else shown_split
    return BoardScores(
        challenge_id=phase.challenge_id,
        phase_id=phase.id,
        provenance=ScoreProvenance(of.gold.id, recipe_ids, of.scorer_version),
        fingerprint=of.recipe.fingerprint,
        primary=recipe.primary,
        tie_breakers=tuple(recipe.tie_breakers),
        ranked_by=(ranked_by, *(recipe.tie_breakers if ranked_by == recipe.primary else ())),
        chosen_by=chosen_by,
        selected_by="private" if shown_split == "private" else chosen_by,
        shown=shown_split,
        selection=recipe.selection,
        selection_max=recipe.selection_max,
        digits=recipe.digits,
    )


def public_ranks(session: ReadSession, phase: Phase, of: BoardVersion, *, ranked_by: str) -> dict[str, int]:
    """The rank of each team on the public split, by the same metric as the board that shows it."""
    scores = board_scores(session, phase, of, shown_split="public", ranked_by=ranked_by)
    found = board_entries.entries(session, scores)
    return {standing.entry.team: standing.rank for standing in standings(found.entries) if standing.rank is not None}


def split_standings(
    session: ReadSession, phase: Phase, of: BoardVersion, split: str
) -> tuple[list[Standing], dict[str, str]]:
    """The board of a split by the primary metric, best first, and the names of its teams by id."""
    primary = parse_stored_recipe(phase, of.recipe).primary
    scores = board_scores(session, phase, of, shown_split=split, ranked_by=primary)
    found = board_entries.entries(session, scores)
    return standings(found.entries), found.names


def counting_submissions(session: ReadSession, phase_id: str, teams: Collection[str]) -> set[str]:
    """The submissions of these teams that count now in a phase, as the board of the visible split chooses them.

    A team that is disqualified or barred has none.
    """
    phase = session.get_one(Phase, phase_id)
    of = active_version(session, phase)
    ranked = set(teams) - board_marks.marked_teams(session, phase.challenge_id).keys()
    if of is None or not ranked:
        return set()
    primary, shown = parse_stored_recipe(phase, of.recipe).primary, visible_split(phase, of.gold)
    scores = board_scores(session, phase, of, shown_split=shown, ranked_by=primary)
    return {choice.submission for choice in entry_choice.chosen_entries(session, scores, sorted(ranked)).values()}
