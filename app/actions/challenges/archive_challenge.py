"""Archive a challenge, which makes it read-only, and undo that."""

from app.actions.access import Caller, load_visible_challenge, require_owner
from app.actions.audit.record import record
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge


def archive_challenge(session: WriteSession, caller: Caller, slug: str) -> tuple[Challenge, list[str]]:
    """Make a challenge read-only, as an owner; returns it with warnings about what archiving holds up.

    Nobody registers, submits or changes anything any more, organizers included, until an owner unarchives it. What was
    submitted before is still scored. Boards, reports and files stay readable. An archived one stays as it is.
    """
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge, archived=True)
    if challenge.archived_at is None:
        now = clock.now(session)
        changes = {"archived_at": (None, now)}
        record(session, caller, "challenge.archive", challenge=challenge, of=challenge, changes=changes)
        challenge.archived_at = now
        session.flush()
    return challenge, _warnings(session, challenge)


def unarchive_challenge(session: WriteSession, caller: Caller, slug: str) -> Challenge:
    """Let a challenge go on, as an owner. Times of phases have not moved, so what has closed stays closed."""
    challenge = load_visible_challenge(session, caller, slug)
    require_owner(session, caller, challenge, archived=True)
    if challenge.archived_at is not None:
        changes = {"archived_at": (challenge.archived_at, None)}
        record(session, caller, "challenge.unarchive", challenge=challenge, of=challenge, changes=changes)
        challenge.archived_at = None
        session.flush()
    return challenge


def _warnings(session: ReadSession, challenge: Challenge) -> list[str]:
    now, warnings = clock.now(session), []
    for phase in challenges.phases_of(session, challenge.id):
        if phase.closes_at is None or phase.closes_at > now:
            warnings.append(f"Phase '{phase.slug}' has not closed; while the challenge is archived it accepts nothing.")
        version = gold.active(session, phase.id)
        if version is not None and version.has_splits and phase.released_at is None:
            warnings.append(
                f"The private scores of phase '{phase.slug}' have not been released; unarchive the challenge to do it."
            )
    return warnings
