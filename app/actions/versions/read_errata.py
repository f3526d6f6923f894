"""Read the errata of a challenge: what each switch of its boards to other versions changed, and why."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from app.actions.access import Caller, load_visible_challenge, load_visible_phase
from app.actions.submissions.ladders import ladder_in_force
from app.actions.submissions.pseudonyms import pseudonyms
from app.actions.submissions.read_leaderboard import BoardAudience, ResolvedBoard, board_audience, resolve_board
from app.actions.versions.gold_changes import changed_ids, gold_difference_between
from app.actions.versions.recipe_changes import recipe_changes
from app.actions.versions.show_comparison import (
    ReaderOfComparison,
    has_moved,
    organizer_comparison,
    show_difference,
    teams_of,
)
from app.errors import LeaderboardHidden, NoGold, SplitHidden
from app.store.queries import board_previews, board_switches, challenges
from app.store.queries.board_versions import BoardVersion
from app.store.session import ReadSession
from app.store.tables import BoardSwitch, GoldVersion, Phase, Recipe

HIDDEN_BOARD = "The ranks that moved are shown once the board is."
HIDDEN_SCORES = "The boards were ranked by scores, which are shown after the final release."
NOT_COMPARED = "The boards were not compared."


class Erratum(NamedTuple):
    """What one switch changed, as a reader sees it."""

    phase: Phase
    row: BoardSwitch
    before: dict[str, int]
    target: dict[str, int]
    gold: dict[str, Any] | None
    """How many instances changed in which way; None if the gold stayed."""
    instances: dict[str, list[str]] | None
    """The ids of these by kind, if the organizers list them."""
    recipe: dict[str, Any] | None
    boards: dict[str, Any]
    """By split, what the reader is shown of the boards."""
    ladder: bool
    """Whether the boards are those of the outputs of a Ladder."""
    withheld: str | None
    unscored: list[dict[str, Any]]


def list_corrections(session: ReadSession, caller: Caller, slug: str, phase_slug: str | None) -> list[BoardSwitch]:
    """The switches that corrected boards of a challenge or of one phase, newest first; raises NotFound.

    The first gold of a phase corrects nothing.
    """
    challenge = load_visible_challenge(session, caller, slug)
    if phase_slug is not None:
        load_visible_phase(session, caller, slug, phase_slug)
    phases = [each for each in challenges.phases_of(session, challenge.id) if phase_slug in {None, each.slug}]
    return board_switches.corrections(session, [phase.id for phase in phases])


def read_errata(session: ReadSession, caller: Caller, rows: Sequence[BoardSwitch]) -> list[Erratum]:
    """What these switches changed, as the caller sees it, in their order."""
    boards: dict[str, tuple[BoardAudience, ResolvedBoard | None]] = {}
    found = []
    for row in rows:
        if row.phase_id not in boards:
            phase = session.get_one(Phase, row.phase_id)
            audience = board_audience(session, caller, phase.challenge.slug, phase.slug)
            boards[row.phase_id] = audience, _visible_board(session, audience)
        found.append(_erratum(session, *boards[row.phase_id], row))
    return found


def last_correction(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> datetime | None:
    """When the board of a phase was last corrected; None if it never was. Raises NotFound."""
    return board_switches.last_correction(session, load_visible_phase(session, caller, slug, phase_slug).id)


def _visible_board(session: ReadSession, audience: BoardAudience) -> ResolvedBoard | None:
    """The board that this reader may see now; None while it is hidden."""
    try:
        return resolve_board(session, audience, split=None, metric=None)
    except (LeaderboardHidden, NoGold, SplitHidden):
        return None


def _erratum(session: ReadSession, audience: BoardAudience, board: ResolvedBoard | None, row: BoardSwitch) -> Erratum:
    phase, stored = audience.phase, row.errata
    assert stored is not None
    before, target = _versions(session, row, after=False), _versions(session, row, after=True)
    changed = before.gold.id != target.gold.id
    gold = gold_difference_between(session, before.gold, target.gold) if changed else None
    if gold is not None and not audience.organizer:
        gold = {"counts": gold["counts"], "metadata": gold["metadata"]}  # counts by class would tell labels
    lists = changed and (row.lists_instances or audience.organizer)
    known = organizer_comparison(session, phase, stored) if audience.organizer else None
    boards, is_ladder, withheld = (
        _boards(session, audience, board, stored) if known is None else (known["splits"], False, None)
    )
    return Erratum(
        phase,
        row,
        _numbers(before),
        _numbers(target),
        gold,
        changed_ids(session, before.gold, target.gold) if lists else None,
        recipe_changes(phase, before.recipe, target.recipe),
        boards,
        is_ladder,
        withheld,
        [] if known is None else known["unscored"],
    )


def _versions(session: ReadSession, row: BoardSwitch, *, after: bool) -> BoardVersion:
    gold, recipe, scorer = (
        (row.to_gold_id, row.to_recipe_id, row.to_scorer_version)
        if after
        else (row.from_gold_id, row.from_recipe_id, row.from_scorer_version)
    )
    return BoardVersion(session.get_one(GoldVersion, gold), session.get_one(Recipe, recipe), scorer or 1)


def _numbers(of: BoardVersion) -> dict[str, int]:
    return {"gold": of.gold.version, "recipe": of.recipe.version, "scorer_version": of.scorer_version}


def _boards(
    session: ReadSession, audience: BoardAudience, board: ResolvedBoard | None, stored: Mapping[str, Any]
) -> tuple[dict[str, Any], bool, str | None]:
    """What participants see of the boards by split, whether that is a Ladder, and why something is withheld."""
    phase = audience.phase
    if board is None:
        return {}, False, HIDDEN_BOARD
    splits = _visible_splits(board, stored)
    rule = ladder_in_force(board.recipe, phase.released_at, organizer=False)
    was_told = stored["ladder"] is not None and phase.released_at is None
    if was_told:
        parts = dict.fromkeys(splits[:1], stored["ladder"])
    elif rule is not None:
        return {}, False, HIDDEN_SCORES
    else:
        parts = {split: stored["splits"][split] for split in splits}
    reader = _reader(session, audience, board, parts)
    shown = {split: show_difference(part, stored, reader, has_moved) for split, part in parts.items()}
    return shown, was_told, None


def _visible_splits(board: ResolvedBoard, stored: Mapping[str, Any]) -> list[str]:
    """The splits that are visible now, the one that the board shows first."""
    if "all" in stored["splits"]:
        return ["all"]
    return ["private", "public"] if board.scores.shown == "private" else ["public"]


def _reader(
    session: ReadSession, audience: BoardAudience, board: ResolvedBoard, parts: Mapping[str, Any]
) -> ReaderOfComparison:
    phase, names = audience.phase, board_previews.team_names(session, audience.phase.challenge_id)
    digits = board.recipe.digits
    if not phase.anonymous:
        return ReaderOfComparison(names, digits=digits)
    found = _teams_on_board(session, board)
    teams = teams_of(list(parts.values()))
    # The board's own pseudonyms; a team that is no longer on it has one that differs from all of them.
    hidden = pseudonyms(phase.pseudonym_key, found | set(teams)) | pseudonyms(phase.pseudonym_key, found)
    shown = {team: name for team, name in hidden.items() if team != audience.own_team}
    return ReaderOfComparison(names, shown, digits)


def _teams_on_board(session: ReadSession, board: ResolvedBoard) -> set[str]:
    found = board.view.entries(session, board.scores, None)
    return {entry.team for entry in found.entries if not entry.baseline}
