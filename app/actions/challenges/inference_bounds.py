"""Upper bounds on the gold labels that participants can infer from the scores they see; computed without the labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, cast

from app.actions.access import Caller, is_organizer, load_visible_phase
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.check_quota import quota_day
from app.scoring.declaration.distinct_value_bounds import GoldSize
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.disclosure import inference_bound
from app.scoring.disclosure.inference_bound import BoardVisibility, DisclosureRules
from app.store import clock
from app.store.queries import board_marks, challenges, gold, label_rules, quota, submissions, teams
from app.store.session import ReadSession
from app.store.tables import Challenge, GoldVersion, Phase

UNKNOWN_CELLS = "unknown_cells"
PARTITION_FIELDS = ("folds", "groups")


@dataclass(frozen=True, slots=True)
class PhaseInferenceBound:
    """The bound of one phase, and the split that it applies to.

    None while the reader cannot see the ids of the gold.
    """

    phase: str
    split: str | None
    bound: inference_bound.InferenceBound


def read_inference_bounds(
    session: ReadSession, caller: Caller, challenge: Challenge, phases: Sequence[Phase]
) -> list[PhaseInferenceBound]:
    """The bounds of some phases of a challenge, computed from what this reader knows about the gold.

    For participants, the size of the gold is all ids to predict: only organizers know which of these are public.
    """
    return compute_inference_bounds(session, phases, organizer=is_organizer(session, caller, challenge))


def read_inference_bound(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> PhaseInferenceBound:
    """The bound of one phase, computed from what this reader knows about its gold; raises NotFound."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    organizer = is_organizer(session, caller, phase.challenge)
    return compute_inference_bounds(session, [phase], organizer=organizer)[0]


def compute_inference_bounds(
    session: ReadSession,
    phases: Sequence[Phase],
    *,
    organizer: bool,
    recipe: ScoringRecipe | None = None,
) -> list[PhaseInferenceBound]:
    """The bounds of these phases of one challenge, for an organizer or for participants.

    With `recipe`, those that the phases would have with it instead of their active one.
    """
    if not phases:
        return []
    rules = _challenge_rules(session, phases[0].challenge)
    return [_phase_bound(session, phase, rules, organizer=organizer, recipe=recipe) for phase in phases]


def _challenge_rules(session: ReadSession, challenge: Challenge) -> DisclosureRules:
    """The rules that all phases of a challenge share."""
    phases = challenges.phases_of(session, challenge.id)
    late = any(phase.late == "unofficial" for phase in phases)
    rows = teams.count_teams(session, challenge.id) * (2 if late else 1)  # a team's unofficial entry has its own row
    rows += submissions.count_baseline_entries(session, challenge.id)  # and so has each baseline
    rows += board_marks.count_off_board(session, challenge.id)
    rivals = inference_bound.MIN_RIVALS
    while rivals < rows:  # rounded up to a power of two times the minimum, as the exact number may be confidential
        rivals *= 2
    return DisclosureRules(
        submissions=None,
        board="hidden",
        reports=(),
        rivals=rivals,
        closed_teams=challenge.registration != "open",
        sets=False,
        phases=len(phases),
    )


def _phase_bound(
    session: ReadSession, phase: Phase, rules: DisclosureRules, *, organizer: bool, recipe: ScoringRecipe | None = None
) -> PhaseInferenceBound:
    recipe = recipe or parse_stored_recipe(phase, challenges.active_recipe(session, phase))
    version = gold.active(session, phase.id)
    if not organizer and clock.now(session) < phase.opens_at:
        version = None
    late = phase.late == "unofficial"
    # With late entries a board that is shown after the close is shown while files are still sent.
    board = "public" if late and phase.leaderboard == "after_close" else phase.leaderboard
    rules = replace(
        rules,
        submissions=_max_submissions(session, phase, organizer=organizer),
        board=cast("BoardVisibility", board),
        reports=tuple(phase.reports),
        sets=label_rules.of_phase(phase).task == "multilabel",
        has_partitions=version is not None and any(version.accessories.get(name) for name in PARTITION_FIELDS),
    )
    if version is None:
        return PhaseInferenceBound(phase.slug, None, inference_bound.compute_inference_bound(recipe, rules))
    sizes = _gold_sizes(version, organizer=organizer)
    split = "public" if version.has_splits else "all"
    free_divisors = bool(version.weighted) or bool(version.accessories.get(UNKNOWN_CELLS))
    bound = inference_bound.compute_inference_bound(recipe, rules, sizes, weighted=free_divisors)
    return PhaseInferenceBound(phase.slug, split, bound)


def _gold_sizes(version: GoldVersion, *, organizer: bool) -> GoldSize:
    public = version.public_instances if organizer else None
    instances = version.instances if public is None else public
    return GoldSize(instances, len(version.classes), version.task == "multilabel")


def _max_submissions(session: ReadSession, phase: Phase, *, organizer: bool) -> int | None:
    """Submissions that any team can make in a phase; None if their number is unlimited.

    Participants learn that number without the grants, because those of other teams are not told.
    """
    granted = quota.granted_by_team(session, phase.id) if organizer else []
    numbers = [_max_submissions_of_team(phase, *of_team) for of_team in [(0, 0), *granted]]
    return None if None in numbers else max(number for number in numbers if number is not None)


def _max_submissions_of_team(phase: Phase, per_day: int, total: int) -> int | None:
    """Submissions that the quota of a phase allows a team with these grants.

    A daily limit bounds it only where the close ends all submissions.
    """
    limits: dict[str, Any] = phase.quota
    bounds = [limits["total"] + total] if limits.get("total") else []
    if limits.get("per_day") and phase.closes_at is not None and phase.late != "unofficial":
        first, _ = quota_day(phase.challenge.timezone, phase.opens_at)
        _, end = quota_day(phase.challenge.timezone, phase.closes_at - timedelta(microseconds=1))
        days = (end.date() - date.fromisoformat(first)).days
        bounds.append((limits["per_day"] + per_day) * days)
    return min(bounds, default=None)
