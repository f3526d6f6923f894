"""Bound how much of its gold a phase gives away by the scores that participants are shown; no label is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, cast

from app.actions.access import Caller, organizes, see_phase
from app.actions.challenges.change_recipe import scoring_recipe
from app.actions.submissions.check_quota import quota_day
from app.scoring.declaration.granularity import Sizes
from app.scoring.declaration.recipe import Recipe as ScoringRecipe
from app.scoring.disclosure.inference_bound import LEAST_TEAMS, Board, Bound, Rules, bound
from app.store import clock
from app.store.queries import challenges, gold, submissions, teams
from app.store.session import ReadSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe

DIVIDED = ("folds", "groups")


@dataclass(frozen=True, slots=True)
class Inference:
    """The bound of one phase, and the split that it speaks of; None while the reader does not see the gold's ids."""

    phase: str
    split: str | None
    bound: Bound


def bounds_for(session: ReadSession, caller: Caller, challenge: Challenge, recipe: Recipe) -> list[Inference]:
    """The bounds of all phases, as far as this reader knows the gold.

    Participants count with all ids that they are to predict: which of these are public is for organizers.
    """
    phases = challenges.phases_of(session, challenge.id)
    organizer = organizes(session, caller, challenge)
    return bounds_of(session, scoring_recipe(challenge, recipe), phases, organizer=organizer)


def bound_for(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Inference:
    """The bound of one phase, as far as this reader knows its gold; raises NotFound."""
    phase = see_phase(session, caller, slug, phase_slug)
    recipe = scoring_recipe(phase.challenge, challenges.active_recipe(session, phase.challenge_id))
    return bounds_of(session, recipe, [phase], organizer=organizes(session, caller, phase.challenge))[0]


def bounds_of(
    session: ReadSession, recipe: ScoringRecipe, phases: Sequence[Phase], *, organizer: bool
) -> list[Inference]:
    """The bounds of these phases of one challenge, as an organizer or as a participant knows them."""
    if not phases:
        return []
    rules = _rules(session, phases[0].challenge)
    return [_inference(session, recipe, phase, rules, organizer=organizer) for phase in phases]


def _rules(session: ReadSession, challenge: Challenge) -> Rules:
    """What holds for all phases of a challenge."""
    rows = teams.number_of(session, challenge.id)
    rows += submissions.baselines_of(session, challenge.id)  # each has a row of its own
    rivals = LEAST_TEAMS
    while rivals < rows:  # doubled, as how many there are may be for organizers to know
        rivals *= 2
    return Rules(
        submissions=None,
        board="hidden",
        reports=(),
        rivals=rivals,
        closed_teams=challenge.registration != "open",
        sets=challenge.task == "multilabel",
        phases=len(challenges.phases_of(session, challenge.id)),
    )


def _inference(
    session: ReadSession, recipe: ScoringRecipe, phase: Phase, rules: Rules, *, organizer: bool
) -> Inference:
    version = gold.active(session, phase.id)
    if not organizer and clock.now(session) < phase.opens_at:
        version = None
    rules = replace(
        rules,
        submissions=submissions_of(phase),
        board=cast("Board", phase.leaderboard),
        reports=tuple(phase.reports),
        divided=version is not None and any(version.accessories.get(name) for name in DIVIDED),
    )
    if version is None:
        return Inference(phase.slug, None, bound(recipe, rules))
    sizes = _sizes(phase, version, organizer=organizer)
    split = "public" if version.has_splits else "all"
    return Inference(phase.slug, split, bound(recipe, rules, sizes, weighted=bool(version.weighted)))


def _sizes(phase: Phase, version: GoldVersion, *, organizer: bool) -> Sizes:
    public = version.public_instances if organizer else None
    instances = version.instances if public is None else public
    return Sizes(instances, len(version.classes), phase.challenge.task == "multilabel")


def submissions_of(phase: Phase) -> int | None:
    """How many submissions a team can have scored in the window of a phase by its quota; None where nothing ends them."""
    limits: dict[str, Any] = phase.quota
    found = [limits["total"]] if limits.get("total") else []
    if limits.get("per_day") and phase.closes_at is not None:
        first, _ = quota_day(phase.challenge.timezone, phase.opens_at)
        _, end = quota_day(phase.challenge.timezone, phase.closes_at - timedelta(microseconds=1))
        days = (end.date() - date.fromisoformat(first)).days
        found.append(limits["per_day"] * days)
    return min(found, default=None)
