"""Add and edit the phases of a challenge."""

from collections.abc import Mapping
from typing import Any

from app.actions import access
from app.actions.challenges.create_challenge import add_phase, require_valid_window
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase


def list_phases(session: ReadSession, caller: access.Caller, slug: str) -> list[Phase]:
    """All phases in order."""
    return challenges.phases_of(session, access.load_visible_challenge(session, caller, slug).id)


def create_phase(session: WriteSession, caller: access.Caller, slug: str, plan: Mapping[str, Any]) -> Phase:
    """Add a phase after the others."""
    return add_phase(session, access.load_organized_challenge(session, caller, slug), plan, clock.now(session))


def edit_phase(
    session: WriteSession, caller: access.Caller, slug: str, phase_slug: str, changes: Mapping[str, Any]
) -> Phase:
    """Change the window, quota, visibility, reports or anonymity.

    The name cannot change, as the address contains it.
    """
    phase = access.load_organized_phase(session, caller, slug, phase_slug)
    for name, value in changes.items():
        setattr(phase, name, clock.now(session) if name == "opens_at" and value is None else value)
    require_valid_window(phase.opens_at, phase.closes_at)
    session.flush()
    return phase


def is_open_now(session: ReadSession, phase: Phase) -> bool:
    """Whether the phase accepts submissions now."""
    return challenges.is_open(phase, clock.now(session))


def visible_phase_classes(session: ReadSession, caller: access.Caller, phase: Phase) -> list[str] | None:
    """The classes of a phase: those of its active gold, else those of the challenge.

    Undeclared classes are labels of the gold. Until the phase opens, only organizers see them.
    """
    active = gold.active(session, phase.id)
    if active is None:
        return visible_challenge_classes(session, caller, phase.challenge)
    public = phase.opens_at <= clock.now(session) or not gold.has_inferred_classes(session, phase.challenge_id)
    return active.classes if public or access.is_organizer(session, caller, phase.challenge) else None


def visible_challenge_classes(session: ReadSession, caller: access.Caller, challenge: Challenge) -> list[str] | None:
    """The classes of a challenge.

    Only organizers see those that its gold determined, until a phase with gold has opened.
    """
    declared = challenge.classes is None or not gold.has_inferred_classes(session, challenge.id)
    public = declared or gold.has_opened(session, challenge.id, clock.now(session))
    return challenge.classes if public or access.is_organizer(session, caller, challenge) else None
