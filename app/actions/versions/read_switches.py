"""Read the switches of a board: which versions were in force when, and how far a pending one has come."""

from dataclasses import dataclass
from typing import NamedTuple

from app.actions.access import Caller
from app.actions.submissions.read_leaderboard import board_audience
from app.actions.submissions.score_visibility import require_visible_board
from app.actions.versions.request_switch import target_of
from app.actions.versions.target_scores import TargetProgress, target_progress, target_provenance
from app.errors import NotFound
from app.store import clock
from app.store.queries import board_switches, rescoring_tasks, target_scores, workers
from app.store.session import ReadSession
from app.store.tables import BoardSwitch, GoldVersion, Phase, Recipe, User


class VersionNumbers(NamedTuple):
    """The versions that a board is computed from, as users name them."""

    gold: int | None
    recipe: int | None
    scorer_version: int | None


class BlockedSubmission(NamedTuple):
    """A submission whose scoring by the target failed for good, so that the switch waits for an organizer."""

    submission: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class SwitchView:
    """A switch as its readers see it; only organizers see who requested it, and pending and cancelled ones."""

    row: BoardSwitch
    phase: str
    before: VersionNumbers | None
    target: VersionNumbers
    requested_by: str | None = None
    progress: TargetProgress | None = None
    eta: float | None = None
    """Seconds until all submissions are scored; None if it is not pending, or if nothing is known of the pace."""
    blocked_by: tuple[BlockedSubmission, ...] = ()


def list_switches(session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, slots: int) -> list[SwitchView]:
    """The switches of a board that this reader sees, newest first; raises NotFound and LeaderboardHidden."""
    phase, organizer = _load_phase(session, caller, slug, phase_slug)
    rows = board_switches.of_phase(session, phase.id)
    shown = [row for row in rows if organizer or row.status == "done"]
    return [_view(session, phase, row, organizer=organizer, slots=slots) for row in shown]


def read_switch(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, slots: int
) -> SwitchView:
    """One switch; raises NotFound and LeaderboardHidden."""
    phase, organizer = _load_phase(session, caller, slug, phase_slug)
    row = board_switches.by_number(session, phase.id, number)
    if row is None or not (organizer or row.status == "done"):
        raise NotFound(f"The phase has no switch {number}.")
    return _view(session, phase, row, organizer=organizer, slots=slots)


def _load_phase(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> tuple[Phase, bool]:
    """The phase, if the caller may see its board, and whether they organize the challenge."""
    audience = board_audience(session, caller, slug, phase_slug)
    require_visible_board(audience.phase, clock.now(session), organizer=audience.organizer)
    return audience.phase, audience.organizer


def switch_of_gold(session: ReadSession, phase: Phase, version: GoldVersion, *, slots: int) -> SwitchView | None:
    """The pending switch to a version of the gold, for organizers; None if there is none."""
    row = board_switches.pending(session, phase.id)
    if row is None or version.status != "activating" or row.to_gold_id != version.id:
        return None
    return _view(session, phase, row, organizer=True, slots=slots)


def _view(session: ReadSession, phase: Phase, row: BoardSwitch, *, organizer: bool, slots: int) -> SwitchView:
    view = SwitchView(row, phase.slug, _numbers_before(session, row), _numbers_after(session, row))
    if not organizer:
        return view
    user = None if row.requested_by is None else session.get(User, row.requested_by)
    requested_by = None if user is None else user.name
    if row.status != "pending":
        return SwitchView(row, phase.slug, view.before, view.target, requested_by)
    target = target_of(session, row)
    progress = target_progress(session, phase, target)
    eta = _estimate_seconds(session, row, progress, slots)
    blocked = _blocked(session, row)
    return SwitchView(row, phase.slug, view.before, view.target, requested_by, progress, eta, blocked)


def _numbers_before(session: ReadSession, row: BoardSwitch) -> VersionNumbers | None:
    if row.from_gold_id is None:
        return None
    gold, recipe = session.get(GoldVersion, row.from_gold_id), session.get(Recipe, row.from_recipe_id)
    return VersionNumbers(
        None if gold is None else gold.version, None if recipe is None else recipe.version, row.from_scorer_version
    )


def _numbers_after(session: ReadSession, row: BoardSwitch) -> VersionNumbers:
    target = target_of(session, row)
    return VersionNumbers(target.gold.version, target.recipe.version, target.scorer_version)


def _blocked(session: ReadSession, row: BoardSwitch) -> tuple[BlockedSubmission, ...]:
    """The submissions that failed for good and that no organizer has accepted yet."""
    provenance = target_provenance(session, target_of(session, row))
    failed = target_scores.failed_tasks(session, row.phase_id, provenance)
    accepted = row.confirmed_at
    return tuple(
        BlockedSubmission(
            task.submission_id, str((task.failure or {}).get("code")), str((task.failure or {}).get("detail"))
        )
        for task in failed
        if accepted is None or (task.finished_at or accepted) > accepted
    )


def _estimate_seconds(session: ReadSession, row: BoardSwitch, progress: TargetProgress, slots: int) -> float | None:
    """Seconds for what is left, at the pace since the request, else at that of first scorings."""
    left = progress.total - progress.scored - len(progress.failed)
    if left <= 0:
        return 0.0
    provenance = target_provenance(session, target_of(session, row))
    done = board_switches.count_scored_since(session, row.phase_id, provenance, row.requested_at)
    elapsed = (clock.now(session) - row.requested_at).total_seconds()
    if done and elapsed > 0:
        return round(left * elapsed / done, 1)
    seconds = rescoring_tasks.mean_scoring_seconds(session, row.phase_id)
    return None if seconds is None else round(left * seconds / (workers.slots(session) or slots), 1)
