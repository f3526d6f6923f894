"""What an organizer should still do before participants can take part, and what is doubtful about the rules."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from app.actions import access
from app.actions.access import Caller
from app.actions.challenges.create_challenge import group_rule_warnings
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import ReadSession
from app.store.tables import Challenge, Phase

PointKind = Literal[
    "draft",
    "description",
    "contact",
    "gold",
    "gold_inactive",
    "paused",
    "no_close",
    "hidden_forever",
    "all_closed",
    "release",
    "quota",
    "inference",
    "curves",
    "ladder",
    "accounts",
]
BLOCKING: frozenset[PointKind] = frozenset({"draft", "gold", "gold_inactive", "hidden_forever"})
"""Until these are mended, participants cannot take part or see no result; the others are advice."""


class OpenPoint(NamedTuple):
    """One thing to do or to consider, as a sentence; `phase` is the slug of the phase that it concerns."""

    kind: PointKind
    detail: str
    phase: str | None = None

    @property
    def is_blocking(self) -> bool:
        """Whether participants cannot take part, or see no result, before it is mended."""
        return self.kind in BLOCKING


def find_open_points(session: ReadSession, caller: Caller, slug: str, *, signup: str) -> list[OpenPoint]:
    """The open points of a challenge for its organizers, the blocking ones first; none of an archived challenge.

    `signup` says who may create an account on this site. Raises NotFound, and Forbidden for everybody else.
    """
    challenge = access.load_organized_challenge(session, caller, slug, writes=False)
    if challenge.archived_at is not None:
        return []
    now = clock.now(session)
    phases = challenges.phases_of(session, challenge.id)
    points = [*_challenge_points(challenge, phases, now)]
    for phase in phases:
        points += _phase_points(session, phase, now)
    unclosed = [phase for phase in phases if not _is_closed(phase, now)]
    for kind, phase_slug, detail in group_rule_warnings(session, unclosed, signup=signup):
        points.append(OpenPoint(kind, detail, phase_slug))
    return sorted(points, key=lambda point: not point.is_blocking)


def _challenge_points(challenge: Challenge, phases: list[Phase], now: datetime) -> Iterator[OpenPoint]:
    if challenge.status == "draft":
        yield OpenPoint("draft", "The challenge is a draft, which only its organizers see. Publish it.")
    if not challenge.description.strip():
        yield OpenPoint("description", "The challenge has no description.")
    if challenge.contact is None:
        yield OpenPoint("contact", "Participants do not learn whom they can ask. Add a contact.")
    if phases and all(_is_closed(phase, now) for phase in phases):
        yield OpenPoint("all_closed", "All phases have closed, so nobody can submit any more.")


def _phase_points(session: ReadSession, phase: Phase, now: datetime) -> Iterator[OpenPoint]:
    active = gold.active(session, phase.id)
    if active is None and gold.versions(session, phase.id):
        detail = f"The gold of phase '{phase.slug}' is not active, so files are refused. Activate a version."
        yield OpenPoint("gold_inactive", detail, phase.slug)
    elif active is None:
        detail = f"Phase '{phase.slug}' has no gold labels, so files are refused. Upload the gold."
        yield OpenPoint("gold", detail, phase.slug)
    if phase.closes_at is None and phase.leaderboard == "after_close":
        detail = f"Phase '{phase.slug}' shows its board after the close, but it never closes. Set a closing time."
        yield OpenPoint("hidden_forever", detail, phase.slug)
    elif phase.closes_at is None:
        yield OpenPoint("no_close", f"Phase '{phase.slug}' never closes. Set a closing time if it should.", phase.slug)
    if phase.paused_at is not None and not _is_closed(phase, now):
        yield OpenPoint("paused", f"Phase '{phase.slug}' is paused, so participants cannot submit.", phase.slug)
    if active is not None and active.has_splits and _is_closed(phase, now) and phase.released_at is None:
        detail = f"Phase '{phase.slug}' has closed, but its private scores are not released yet."
        yield OpenPoint("release", detail, phase.slug)


def _is_closed(phase: Phase, now: datetime) -> bool:
    return phase.closes_at is not None and phase.closes_at <= now
