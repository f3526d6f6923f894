"""Pause and resume a phase: meanwhile it accepts no submissions, and its close does not move."""

from app.actions.access import Caller, load_organized_phase
from app.actions.audit.record import record
from app.store import clock
from app.store.session import WriteSession
from app.store.tables import Phase


def pause_phase(session: WriteSession, caller: Caller, slug: str, phase_slug: str, *, reason: str) -> Phase:
    """Refuse submissions of participants from now on, with this reason; a paused phase gets the new reason."""
    phase = load_organized_phase(session, caller, slug, phase_slug)
    if phase.pause_reason != reason or phase.paused_at is None:
        now = clock.now(session)
        changes = {"paused_at": (phase.paused_at, phase.paused_at or now)}
        record(session, caller, "phase.pause", challenge=phase.challenge, of=phase, changes=changes, reason=reason)
        phase.paused_at, phase.pause_reason = phase.paused_at or now, reason
        session.flush()
    return phase


def resume_phase(session: WriteSession, caller: Caller, slug: str, phase_slug: str) -> Phase:
    """Accept submissions again, within the window of the phase."""
    phase = load_organized_phase(session, caller, slug, phase_slug)
    if phase.paused_at is not None:
        changes = {"paused_at": (phase.paused_at, None)}
        record(session, caller, "phase.resume", challenge=phase.challenge, of=phase, changes=changes)
        phase.paused_at = phase.pause_reason = None
        session.flush()
    return phase
