"""A later version of the gold of a phase that has submissions: it is read against the active version, and follows it."""

from typing import Any

from app.actions.access import Caller, load_organized_phase
from app.actions.challenges.upload_gold import FollowedGold, load_gold_version
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.errors import NotFound
from app.store.queries import challenges, gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase


def find_followed_gold(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> FollowedGold | None:
    """The active version that an upload must follow, for organizers; None before the first submission."""
    return followed_gold(session, load_organized_phase(session, caller, slug, phase_slug))


def followed_gold(session: ReadSession, phase: Phase) -> FollowedGold | None:
    """The active version that later gold must follow; None while nothing was submitted, except for tests."""
    active = gold.active(session, phase.id)
    if active is None or not challenges.has_submissions(session, phase.id):
        return None
    # What a scoring process needs of it is read now, because the session ends before.
    _ = active.classes, active.accessories, active.void_ids
    return FollowedGold(active, gold_reference(active).name, keeps_splits=phase.released_at is not None)


def read_changes(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int
) -> tuple[GoldVersion, dict[str, Any], list[dict[str, Any]]]:
    """A version with its difference from the one that it follows and the changed instances, for organizers.

    Raises NotFound for a version that follows none.
    """
    _, version = load_gold_version(session, caller, slug, phase_slug, number)
    if version.difference is None:
        raise NotFound(f"Gold version {number} was not compared with another one: nothing had been submitted yet.")
    return version, version.difference, version.changes or []
