"""Rename challenges and phases; what had a slug before is found by it for ever."""

from sqlalchemy import delete

from app.actions.challenges.create_challenge import require_free_phase_slug, require_free_slug, require_slug
from app.store.session import WriteSession
from app.store.tables import Challenge, FormerChallengeSlug, FormerPhaseSlug, Phase


def rename_challenge(session: WriteSession, challenge: Challenge, slug: str) -> None:
    """Give a challenge another slug; raises SlugTaken. It may get a former one of its own back."""
    if slug == challenge.slug:
        return
    require_free_slug(session, slug, of=challenge.id)
    session.execute(delete(FormerChallengeSlug).where(FormerChallengeSlug.slug == slug))
    session.add(FormerChallengeSlug(slug=challenge.slug, challenge_id=challenge.id))
    challenge.slug = slug
    session.flush()


def rename_phase(session: WriteSession, phase: Phase, name: str) -> None:
    """Give a phase another name, and the slug of that name; raises PhaseNameTaken and InvalidRequest."""
    slug = require_slug(name)
    phase.name = name
    if slug == phase.slug:
        return
    require_free_phase_slug(session, phase.challenge_id, slug, of=phase.id)
    own = (FormerPhaseSlug.challenge_id == phase.challenge_id) & (FormerPhaseSlug.slug == slug)
    session.execute(delete(FormerPhaseSlug).where(own))
    session.add(FormerPhaseSlug(challenge_id=phase.challenge_id, slug=phase.slug, phase_id=phase.id))
    phase.slug = slug
    session.flush()


def order_phases(phases: list[Phase], slugs: list[str]) -> list[dict[str, str]]:
    """Put the phases of a challenge in this order; the fault of an order that does not name each of them once."""
    by_slug = {phase.slug: phase for phase in phases}
    if sorted(slugs) != sorted(by_slug):
        names = ", ".join(by_slug)
        return [{"pointer": "/phase_order", "detail": f"must name each phase once: {names}"}]
    for position, slug in enumerate(slugs):
        by_slug[slug].position = position
    return []
