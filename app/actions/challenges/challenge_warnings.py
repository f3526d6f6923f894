"""What challenges invite by their rules and the names of their teams, for whoever checks an installation."""

import json
from itertools import groupby

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.challenges.create_challenge import rule_warnings
from app.actions.challenges.inference_bounds import compute_inference_bounds
from app.store import clock
from app.store.queries import challenges, gold, teams
from app.store.queries.diagnostics import unclosed_phases
from app.store.session import ReadSession
from app.text.confusable_names import group_confusable_names


def find_risky_rules(session: ReadSession) -> list[str]:
    """What their organizers were warned of when they made the challenges, and have not changed since."""
    found = []
    for challenge, phases in groupby(unclosed_phases(session, clock.now(session)), key=lambda phase: phase.challenge):
        recipe = parse_stored_recipe(challenge, challenges.active_recipe(session, challenge.id))
        found += [f"{challenge.slug}: {warning}" for warning in rule_warnings(session, recipe, list(phases))]
    return found


def list_inference_bounds(session: ReadSession) -> list[str]:
    """How many labels of each phase that has gold one team can come to know at most."""
    found = []
    for challenge, phases in groupby(unclosed_phases(session, clock.now(session)), key=lambda phase: phase.challenge):
        recipe = parse_stored_recipe(challenge, challenges.active_recipe(session, challenge.id))
        found += [
            f"{challenge.slug}/{one.phase} {one.bound.labels} of {one.bound.sizes.labels}"
            for one in compute_inference_bounds(session, recipe, list(phases), organizer=True)
            if one.bound.sizes is not None
        ]
    return found


def phases_without_gold(session: ReadSession) -> list[str]:
    """Open phases that have to refuse whatever is submitted."""
    now = clock.now(session)
    opened = [phase for phase in unclosed_phases(session, now) if challenges.is_open(phase, now)]
    return [f"{phase.challenge.slug}/{phase.slug}" for phase in opened if gold.active(session, phase.id) is None]


def find_confusable_team_names(session: ReadSession) -> list[str]:
    """Groups of teams of one challenge whose names look the same, each with where they stand, as a sentence."""
    return [
        f"In '{slug}' these look the same: {', '.join(json.dumps(name) for name in group)}."
        for slug, names in teams.names_by_challenge(session).items()
        for group in group_confusable_names(names)
    ]
