"""Warnings about the rules of challenges and the names of their teams, for the checks of an installation."""

import json
from collections.abc import Iterator
from itertools import groupby

from app.actions.challenges.create_challenge import rule_warnings
from app.actions.challenges.inference_bounds import compute_inference_bounds
from app.store import clock
from app.store.queries import challenges, gold, teams
from app.store.queries.doctor_checks import unclosed_phases
from app.store.session import ReadSession
from app.store.tables import Phase
from app.text.confusable_names import group_confusable_names


def find_risky_rules(session: ReadSession, *, signup: str) -> list[str]:
    """Warnings that organizers received when they created their challenges, and that still apply."""
    return [
        f"{slug}: {warning}"
        for slug, phases in _unclosed_challenges(session)
        for warning in rule_warnings(session, phases, signup=signup)
    ]


def list_inference_bounds(session: ReadSession) -> list[str]:
    """Upper bounds on the labels that one team can infer, for each phase with gold."""
    return [
        f"{slug}/{item.phase} {item.bound.labels} of {item.bound.sizes.labels}"
        for slug, phases in _unclosed_challenges(session)
        for item in compute_inference_bounds(session, phases, organizer=True)
        if item.bound.sizes is not None
    ]


def _unclosed_challenges(session: ReadSession) -> Iterator[tuple[str, list[Phase]]]:
    """Challenges with phases that have not closed: slug and those phases."""
    for challenge, phases in groupby(unclosed_phases(session, clock.now(session)), key=lambda phase: phase.challenge):
        yield challenge.slug, list(phases)


def phases_without_gold(session: ReadSession) -> list[str]:
    """Open phases without gold, which refuse every submission."""
    now = clock.now(session)
    opened = [phase for phase in unclosed_phases(session, now) if challenges.is_open(phase, now)]
    return [f"{phase.challenge.slug}/{phase.slug}" for phase in opened if gold.active(session, phase.id) is None]


def find_confusable_team_names(session: ReadSession) -> list[str]:
    """Groups of teams of one challenge whose names look alike, one sentence for each group."""
    return [
        f"In '{slug}' these names look alike: {', '.join(json.dumps(name) for name in group)}."
        for slug, names in teams.names_by_challenge(session).items()
        for group in group_confusable_names(names)
    ]
