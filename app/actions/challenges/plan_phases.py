"""Add and edit the phases of a challenge."""

from collections.abc import Mapping
from typing import Any

from app.actions.access import Caller, is_organizer, load_visible_challenge, load_visible_phase, require_organizer
from app.actions.challenges.create_challenge import add_phase, require_valid_window
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase


def list_phases(session: ReadSession, caller: Caller, slug: str) -> list[Phase]:
    """All phases in their order."""
    return challenges.phases_of(session, load_visible_challenge(session, caller, slug).id)


def create_phase(session: WriteSession, caller: Caller, slug: str, plan: Mapping[str, Any]) -> Phase:
    """A phase at the end."""
    challenge = load_visible_challenge(session, caller, slug)
    require_organizer(session, caller, challenge)
    return add_phase(session, challenge, plan, clock.now(session))


def edit_phase(session: WriteSession, caller: Caller, slug: str, phase_slug: str, changes: Mapping[str, Any]) -> Phase:
    """Change the window, quota, visibility, reports or anonymity; the name, and so the address, stays."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge)
    for name, value in changes.items():
        setattr(phase, name, clock.now(session) if name == "opens_at" and value is None else value)
    require_valid_window(phase.opens_at, phase.closes_at)
    session.flush()
    return phase


def is_open_now(session: ReadSession, phase: Phase) -> bool:
    """Whether submissions are admitted at this moment."""
    return challenges.is_open(phase, clock.now(session))


def visible_phase_classes(session: ReadSession, caller: Caller, phase: Phase) -> list[str] | None:
    """The classes of a phase: those of its active gold, else those of the challenge.

    Classes that nobody declared are labels of the gold: until the phase opens, they are for organizers.
    """
    active = gold.active(session, phase.id)
    if active is None:
        return visible_challenge_classes(session, caller, phase.challenge)
    opened = phase.opens_at <= clock.now(session)
    shown = (
        opened
        or not gold.has_inferred_classes(session, phase.challenge_id)
        or is_organizer(session, caller, phase.challenge)
    )
    return active.classes if shown else None


def visible_challenge_classes(session: ReadSession, caller: Caller, challenge: Challenge) -> list[str] | None:
    """The classes of a challenge; those that its gold named are for organizers until a phase with gold has opened."""
    shown = (
        challenge.classes is None
        or not gold.has_inferred_classes(session, challenge.id)
        or gold.has_opened(session, challenge.id, clock.now(session))
        or is_organizer(session, caller, challenge)
    )
    return challenge.classes if shown else None
