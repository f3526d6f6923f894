"""Bound how much of its gold a phase gives away by the scores that participants are shown; no label is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, cast

from app.actions.access import Caller, is_organizer, load_visible_phase
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.check_quota import quota_day
from app.scoring.declaration.granularity import GoldSize
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.disclosure.inference_bound import (
    MIN_RIVALS,
    BoardVisibility,
    DisclosureRules,
    InferenceBound,
    compute_inference_bound,
)
from app.store import clock
from app.store.queries import challenges, gold, submissions, teams
from app.store.session import ReadSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe

PARTITION_ACCESSORIES = ("folds", "groups")


@dataclass(frozen=True, slots=True)
class PhaseInferenceBound:
    """The bound of one phase, and the split that it speaks of; None while the reader does not see the gold's ids."""

    phase: str
    split: str | None
    bound: InferenceBound


def read_inference_bounds(
    session: ReadSession, caller: Caller, challenge: Challenge, recipe: Recipe
) -> list[PhaseInferenceBound]:
    """The bounds of all phases, as far as this reader knows the gold.

    Participants count with all ids that they are to predict: which of these are public is for organizers.
    """
    phases = challenges.phases_of(session, challenge.id)
    organizer = is_organizer(session, caller, challenge)
    return compute_inference_bounds(session, parse_stored_recipe(challenge, recipe), phases, organizer=organizer)


def read_inference_bound(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> PhaseInferenceBound:
    """The bound of one phase, as far as this reader knows its gold; raises NotFound."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    recipe = parse_stored_recipe(phase.challenge, challenges.active_recipe(session, phase.challenge_id))
    return compute_inference_bounds(session, recipe, [phase], organizer=is_organizer(session, caller, phase.challenge))[
        0
    ]


def compute_inference_bounds(
    session: ReadSession, recipe: ScoringRecipe, phases: Sequence[Phase], *, organizer: bool
) -> list[PhaseInferenceBound]:
    """The bounds of these phases of one challenge, as an organizer or as a participant knows them."""
    if not phases:
        return []
    rules = _challenge_rules(session, phases[0].challenge)
    return [_phase_bound(session, recipe, phase, rules, organizer=organizer) for phase in phases]


def _challenge_rules(session: ReadSession, challenge: Challenge) -> DisclosureRules:
    """What holds for all phases of a challenge."""
    rows = teams.count_teams(session, challenge.id)
    rows += submissions.count_baseline_entries(session, challenge.id)  # each has a row of its own
    rivals = MIN_RIVALS
    while rivals < rows:  # doubled, as how many there are may be for organizers to know
        rivals *= 2
    return DisclosureRules(
        submissions=None,
        board="hidden",
        reports=(),
        rivals=rivals,
        closed_teams=challenge.registration != "open",
        sets=challenge.task == "multilabel",
        phases=len(challenges.phases_of(session, challenge.id)),
    )


def _phase_bound(
    session: ReadSession, recipe: ScoringRecipe, phase: Phase, rules: DisclosureRules, *, organizer: bool
) -> PhaseInferenceBound:
    version = gold.active(session, phase.id)
    if not organizer and clock.now(session) < phase.opens_at:
        version = None
    rules = replace(
        rules,
        submissions=max_submissions_per_team(phase),
        board=cast("BoardVisibility", phase.leaderboard),
        reports=tuple(phase.reports),
        has_partitions=version is not None and any(version.accessories.get(name) for name in PARTITION_ACCESSORIES),
    )
    if version is None:
        return PhaseInferenceBound(phase.slug, None, compute_inference_bound(recipe, rules))
    sizes = _gold_sizes(phase, version, organizer=organizer)
    split = "public" if version.has_splits else "all"
    return PhaseInferenceBound(
        phase.slug, split, compute_inference_bound(recipe, rules, sizes, weighted=bool(version.weighted))
    )


def _gold_sizes(phase: Phase, version: GoldVersion, *, organizer: bool) -> GoldSize:
    public = version.public_instances if organizer else None
    instances = version.instances if public is None else public
    return GoldSize(instances, len(version.classes), phase.challenge.task == "multilabel")


def max_submissions_per_team(phase: Phase) -> int | None:
    """How many submissions a team can have scored in the window of a phase by its quota; None where nothing ends them."""
    limits: dict[str, Any] = phase.quota
    found = [limits["total"]] if limits.get("total") else []
    if limits.get("per_day") and phase.closes_at is not None:
        first, _ = quota_day(phase.challenge.timezone, phase.opens_at)
        _, end = quota_day(phase.challenge.timezone, phase.closes_at - timedelta(microseconds=1))
        days = (end.date() - date.fromisoformat(first)).days
        found.append(limits["per_day"] * days)
    return min(found, default=None)
