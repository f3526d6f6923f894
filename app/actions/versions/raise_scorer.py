"""Request the switch of each phase to the scorer version of this program: no organizer need do anything."""

from app.actions.versions.request_switch import request_switch
from app.scoring import SCORER_VERSION
from app.store import clock, locks
from app.store.queries import board_switches, target_scores
from app.store.queries.board_versions import active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase


def outdated_phases(session: ReadSession) -> list[tuple[str, str]]:
    """Phases whose active scorer version is older, each with the slug of its challenge."""
    return [(phase.id, phase.challenge.slug) for phase in target_scores.outdated_phases(session, SCORER_VERSION)]


def phases_to_raise(session: ReadSession) -> list[tuple[str, str]]:
    """Those of them that no pending switch leads to this version."""
    return [(phase_id, slug) for phase_id, slug in outdated_phases(session) if _is_to_be_raised(session, phase_id)]


def _is_to_be_raised(session: ReadSession, phase_id: str) -> bool:
    row = board_switches.pending(session, phase_id)
    return row is None or row.to_scorer_version < SCORER_VERSION


def has_superseded_tasks(session: ReadSession) -> bool:
    """Whether tasks of an older version wait that a task of a newer version has superseded."""
    return target_scores.has_superseded(session, SCORER_VERSION)


def cancel_superseded_tasks(session: WriteSession) -> None:
    """Cancel the tasks that newer ones have superseded."""
    target_scores.cancel_superseded(session, SCORER_VERSION, clock.now(session))


def raise_scorer_version(session: WriteSession, phase_id: str, slug: str) -> None:
    """Request the switch of a phase; one that an organizer requested leads to the new scorer version too.

    A phase without gold has no scores, so it is at the new version at once.
    """
    locks.challenge(session, slug)
    phase = session.get(Phase, phase_id, populate_existing=True)
    if phase is None or phase.challenge.slug != slug or phase.scorer_version >= SCORER_VERSION:
        return
    row, before = board_switches.pending(session, phase_id), active_version(session, phase)
    if before is None:
        phase.scorer_version = SCORER_VERSION
    elif row is not None:
        row.to_scorer_version = max(row.to_scorer_version, SCORER_VERSION)
    else:
        request_switch(session, None, phase, before, before._replace(scorer_version=SCORER_VERSION))
    session.flush()
