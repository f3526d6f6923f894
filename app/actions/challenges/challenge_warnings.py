"""What challenges invite by their rules and the names of their teams, for whoever checks an installation."""

import json
from itertools import groupby

from app.actions.challenges.change_recipe import scoring_recipe
from app.actions.challenges.create_challenge import warnings_of
from app.actions.challenges.inference_bounds import bounds_of
from app.store import clock
from app.store.queries import challenges, gold, teams
from app.store.queries.diagnostics import phases_to_come
from app.store.session import ReadSession
from app.text.confusable_names import alike


def dubious_rules(session: ReadSession) -> list[str]:
    """What their organizers were warned of when they made the challenges, and have not changed since."""
    found = []
    for challenge, phases in groupby(phases_to_come(session, clock.now(session)), key=lambda phase: phase.challenge):
        recipe = scoring_recipe(challenge, challenges.active_recipe(session, challenge.id))
        found += [f"{challenge.slug}: {warning}" for warning in warnings_of(session, recipe, list(phases))]
    return found


def inference(session: ReadSession) -> list[str]:
    """How many labels of each phase that has gold one team can come to know at most."""
    found = []
    for challenge, phases in groupby(phases_to_come(session, clock.now(session)), key=lambda phase: phase.challenge):
        recipe = scoring_recipe(challenge, challenges.active_recipe(session, challenge.id))
        found += [
            f"{challenge.slug}/{one.phase} {one.bound.labels} of {one.bound.sizes.labels}"
            for one in bounds_of(session, recipe, list(phases), organizer=True)
            if one.bound.sizes is not None
        ]
    return found


def phases_without_gold(session: ReadSession) -> list[str]:
    """Open phases that have to refuse whatever is submitted."""
    now = clock.now(session)
    opened = [phase for phase in phases_to_come(session, now) if challenges.is_open(phase, now)]
    return [f"{phase.challenge.slug}/{phase.slug}" for phase in opened if gold.active(session, phase.id) is None]


def names_alike(session: ReadSession) -> list[str]:
    """Groups of teams of one challenge whose names look the same, each with where they stand, as a sentence."""
    return [
        f"In '{slug}' these look the same: {', '.join(json.dumps(name) for name in group)}."
        for slug, names in teams.names_by_challenge(session).items()
        for group in alike(names)
    ]
