"""The final release of a phase: preview it, and show the private scores from then on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.actions.access import Caller, load_organized_phase
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.receipts.log_receipts import log_receipts_of
from app.actions.submissions.board_scores import describe_selection, split_standings
from app.actions.submissions.select_submission import choices_open_until
from app.actions.transparency.add_record import add_record
from app.errors import NotReleasable
from app.scoring.declaration.metric_syntax import pluralize
from app.store import clock
from app.store.queries import challenges, gold, submissions
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase
from app.store.types import format_timestamp

Obstacle = dict[str, str]
"""What stands in the way of a release: a stable `code` and a sentence in `detail`."""


@dataclass(frozen=True, slots=True)
class ReleasePreview:
    """The ranks of all teams on both splits, and what stands in the way of the release."""

    phase: Phase
    selection: Mapping[str, Any]
    obstacles: list[Obstacle]
    choices_until: datetime | None
    """Until when teams may still select entries that were not scored at the close, unless it is released before."""
    rows: list[dict[str, Any]]


def preview_release(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> ReleasePreview:
    """What the final release would show, for organizers, at any time; raises NotFound and Forbidden."""
    return _preview(session, load_organized_phase(session, caller, slug, phase_slug, writes=False))


def release_phase(session: WriteSession, caller: Caller, slug: str, phase_slug: str) -> ReleasePreview:
    """Show the private scores of a phase from now on; it cannot be undone. Raises NotReleasable with all obstacles.

    The lock on the challenge is held, so every submission that was admitted before the close is known. A released phase
    stays as it is.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    if phase.released_at is None:
        obstacles = _obstacles(session, phase, gold.active(session, phase.id))
        if obstacles:
            details = " ".join(obstacle["detail"] for obstacle in obstacles)
            raise NotReleasable(details, obstacles=obstacles)
        now = clock.now(session)
        changes = {"released_at": (None, now)}
        record(session, caller, "phase.release", challenge=phase.challenge, of=phase, changes=changes)
        phase.released_at = now
        session.flush()
        of = active_version(session, phase)
        assert of is not None  # without gold it is not releasable
        _log_release(session, phase, of)
        log_receipts_of(session, phase, splits=("public", "private"), version=of)
    return _preview(session, phase)


def _log_release(session: WriteSession, phase: Phase, of: BoardVersion) -> None:
    """Record in the transparency log when the phase was released, and with which versions."""
    assert phase.released_at is not None
    record: dict[str, Any] = {"phase_id": phase.id, "released_at": format_timestamp(phase.released_at)}
    record |= {"gold_version": of.gold.version, "gold_commitment": of.gold.commitment}
    record |= {"recipe_version": of.recipe.version, "scorer_version": of.scorer_version}
    add_record(session, "release", record, challenge_id=phase.challenge_id, object_id=phase.id)


def _preview(session: ReadSession, phase: Phase) -> ReleasePreview:
    of = active_version(session, phase)
    version = None if of is None else of.gold
    obstacles = [] if phase.released_at is not None else _obstacles(session, phase, version)
    rows = [] if of is None or not of.gold.has_splits else _rows(session, phase, of)
    recipe = parse_stored_recipe(phase, challenges.active_recipe(session, phase))
    meaning = describe_selection(recipe.selection, recipe.selection_max, recipe.tie_breakers)
    until = choices_open_until(session, phase) if recipe.selection == "selected" else None
    return ReleasePreview(phase, meaning, obstacles, until, rows)


def _obstacles(session: ReadSession, phase: Phase, version: GoldVersion | None) -> list[Obstacle]:
    found: list[Obstacle] = []
    if version is None:
        found.append({"code": "no_gold", "detail": "The phase has no active gold."})
    elif not version.has_splits:
        detail = "The gold has no splits: all scores are shown already, so there is nothing to release."
        found.append({"code": "no_splits", "detail": detail})
    if phase.closes_at is None or clock.now(session) < phase.closes_at:
        found.append({"code": "not_closed", "detail": "The phase has not closed."})
        return found
    waiting = submissions.count_unsettled(session, phase.id, phase.closes_at)
    if waiting:
        count = pluralize(waiting, "submission from before the close is", "submissions from before the close are")
        found.append({"code": "unsettled", "detail": f"{count} not scored yet."})
    return found


def _rows(session: ReadSession, phase: Phase, of: BoardVersion) -> list[dict[str, Any]]:
    """The teams in the order of the private board, with both ranks; a positive move is a rise."""
    # A team has a row for the entry that counts, and one for each mark.
    standings = split_standings(session, phase, of, "public")[0]
    public = {(each.entry.team, each.entry.mark): each for each in standings}
    private, names = split_standings(session, phase, of, "private")
    rows = []
    for standing in private:
        team = standing.entry.team
        before = public.get((team, standing.entry.mark))
        public_rank = None if before is None or standing.entry.baseline else before.rank
        moves = public_rank is not None and standing.rank is not None
        rows.append(
            {
                "team": {"id": team, "name": names[team]},
                "baseline": standing.entry.baseline,
                "mark": standing.entry.mark,
                "submission": standing.entry.submission,
                "public_submission": None if before is None else before.entry.submission,
                "public_rank": public_rank,
                "private_rank": standing.rank,
                "move": (public_rank or 0) - (standing.rank or 0) if moves else None,
            }
        )
    return rows
