"""Preview what a switch to other gold or another recipe would change; organizers alone see it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from app.actions.access import Caller, load_organized_challenge
from app.actions.challenges.upload_gold import load_gold_version
from app.actions.versions.gold_changes import gold_difference_between
from app.actions.versions.recipe_versions import read_recipe_version
from app.actions.versions.show_comparison import organizer_comparison
from app.actions.versions.target_scores import TargetProgress, target_progress, target_provenance, target_scorer_version
from app.errors import AlreadyInForce, NoGold, NotFound
from app.store import clock
from app.store.queries import board_previews, rescoring_tasks, target_scores, workers
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import BoardPreview, GoldVersion, Phase, Recipe


@dataclass(frozen=True, slots=True)
class PreviewView:
    """A preview as organizers see it."""

    row: BoardPreview
    phase: Phase
    before: dict[str, int]
    target: dict[str, int]
    progress: TargetProgress
    eta: datetime | None
    outdated: bool
    """Whether the board has changed since it was compared: other submissions, marks or versions."""
    difference: dict[str, Any] | None
    """What changes from one gold to the other, where both are known to follow each other."""
    result: dict[str, Any] | None


def start_gold_preview(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, version: int, *, slots: int
) -> PreviewView:
    """Preview a version of the gold, or return the preview that is being computed; raises NoGold and AlreadyInForce."""
    phase, row = load_gold_version(session, caller, slug, phase_slug, version, writes=True)
    before = _version_in_force(session, phase)
    if before.gold.id == row.id:
        raise AlreadyInForce(f"Gold version {version} is in force, so nothing would change.")
    return view_preview(session, phase, _start(session, caller, phase, before, before._replace(gold=row)), slots=slots)


def read_gold_preview(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, version: int, *, slots: int
) -> PreviewView:
    """The last preview of a version of the gold; raises NotFound."""
    phase, row = load_gold_version(session, caller, slug, phase_slug, version)
    found = board_previews.of_gold(session, row.id)
    if found is None:
        raise NotFound(f"Gold version {version} was never previewed.")
    return view_preview(session, phase, found, slots=slots)


def start_recipe_preview(
    session: WriteSession, caller: Caller, slug: str, version: int, *, slots: int
) -> list[PreviewView]:
    """Preview a version of a recipe for each phase that it would score; raises NoGold and AlreadyInForce."""
    load_organized_challenge(session, caller, slug)
    found = read_recipe_version(session, caller, slug, version)
    if found.recipe.status == "active":
        raise AlreadyInForce(f"Recipe version {version} is in force, so nothing would change.")
    scored = [(phase, active_version(session, phase)) for phase in found.phases]
    views = [
        view_preview(session, phase, _start(session, caller, phase, of, of._replace(recipe=found.recipe)), slots=slots)
        for phase, of in scored
        if of is not None
    ]
    if not views:
        raise NoGold("No phase that this recipe scores has active gold, so there is nothing to compare.")
    return views


def read_recipe_preview(
    session: ReadSession, caller: Caller, slug: str, version: int, *, slots: int
) -> list[PreviewView]:
    """The last preview of a version of a recipe, by phase; raises NotFound."""
    load_organized_challenge(session, caller, slug, writes=False)
    found = read_recipe_version(session, caller, slug, version)
    rows = [(phase, board_previews.of_recipe(session, found.recipe.id, phase.id)) for phase in found.phases]
    views = [view_preview(session, phase, row, slots=slots) for phase, row in rows if row is not None]
    if not views:
        raise NotFound(f"Recipe version {version} was never previewed.")
    return views


def _version_in_force(session: ReadSession, phase: Phase) -> BoardVersion:
    found = active_version(session, phase)
    if found is None:
        raise NoGold("The phase has no active gold, so there is nothing to compare.")
    return found


def _start(
    session: WriteSession, caller: Caller, phase: Phase, before: BoardVersion, target: BoardVersion
) -> BoardPreview:
    """Have a worker compute a preview, anew if it was computed before; scores that exist are used again."""
    target = target._replace(scorer_version=target_scorer_version(phase.scorer_version))
    key = (phase.id, target.gold.id, target.recipe.id, target.scorer_version)
    row = board_previews.of_target(session, *key)
    if row is None:
        names = ("phase_id", "to_gold_id", "to_recipe_id", "to_scorer_version")
        row = BoardPreview(**dict(zip(names, key, strict=True)))
        session.add(row)
    elif row.status == "scoring":
        return row
    row.status, row.finished_at, row.result, row.failure = "scoring", None, None, None
    row.from_gold_id, row.from_recipe_id, row.from_scorer_version = before.gold.id, before.recipe.id, before[2]
    row.requested_by, row.requested_at = caller.user_id, clock.now(session)
    session.flush()
    target_scores.requeue_failed(session, phase.id, target_provenance(session, target))
    return row


def target_of(session: ReadSession, row: BoardPreview) -> BoardVersion:
    """The versions that a preview is of."""
    version, recipe = session.get_one(GoldVersion, row.to_gold_id), session.get_one(Recipe, row.to_recipe_id)
    return BoardVersion(version, recipe, row.to_scorer_version)


def source_of(session: ReadSession, row: BoardPreview) -> BoardVersion | None:
    """The versions that it is compared with; None if they were deleted since."""
    version, recipe = session.get(GoldVersion, row.from_gold_id), session.get(Recipe, row.from_recipe_id)
    if version is None or recipe is None or row.from_scorer_version is None:
        return None
    return BoardVersion(version, recipe, row.from_scorer_version)


def view_preview(session: ReadSession, phase: Phase, row: BoardPreview, *, slots: int) -> PreviewView:
    """A preview as organizers see it."""
    target, before = target_of(session, row), source_of(session, row)
    progress = target_progress(session, phase, target)
    result = None if row.status != "done" or row.result is None else row.result
    return PreviewView(
        row,
        phase,
        {} if before is None else _numbers(before),
        _numbers(target),
        progress,
        _estimate_end(session, row, progress, slots) if row.status == "scoring" else None,
        row.status != "scoring" and _is_outdated(session, phase, row, before),
        None if before is None else gold_difference_between(session, before.gold, target.gold),
        None if result is None else organizer_comparison(session, phase, result),
    )


def _numbers(of: BoardVersion) -> dict[str, int]:
    return {"gold": of.gold.version, "recipe": of.recipe.version, "scorer_version": of.scorer_version}


def _is_outdated(session: ReadSession, phase: Phase, row: BoardPreview, before: BoardVersion | None) -> bool:
    """Whether the board that it was compared with is no longer the board."""
    now = active_version(session, phase)
    if now is None or before is None or (now.gold.id, now.recipe.id, now[2]) != (*_ids(before), before[2]):
        return True
    if row.to_scorer_version != target_scorer_version(phase.scorer_version):
        return True
    return row.result is not None and row.result.get("inputs") != board_previews.board_inputs(session, phase)


def _ids(of: BoardVersion) -> tuple[str, str]:
    return of.gold.id, of.recipe.id


def _estimate_end(session: ReadSession, row: BoardPreview, progress: TargetProgress, slots: int) -> datetime | None:
    """When all submissions will be scored, at the pace of first scorings; None if nothing is known of that."""
    left = progress.total - progress.scored - len(progress.failed)
    seconds = rescoring_tasks.mean_scoring_seconds(session, row.phase_id)
    if seconds is None:
        return None
    return clock.now(session) + timedelta(seconds=left * seconds / (workers.slots(session) or slots))
