"""How much feedback the Ladder of a phase has given to each team, for organizers."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from app.actions.access import Caller, load_organized_phase
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.ladder_board import describe_feedback
from app.actions.submissions.ladders import LadderStep, PhaseLadders, read_ladders
from app.scoring.declaration.metric import GROUPS
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.uncertainty.ladder_wording import describe_guarantee, why_heuristic
from app.store.queries import challenges
from app.store.queries.board_versions import active_version
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase


@dataclass(frozen=True, slots=True)
class TeamFeedback:
    """What one team was told: how many of its submissions were released, and its best so far."""

    team_id: str
    team: str
    submissions: int
    releases: int
    waiting: int
    value: float | None


@dataclass(frozen=True, slots=True)
class LadderUse:
    """The Ladder of a phase with what it guarantees, and the feedback spent, most releases first."""

    phase: str
    ladder: dict[str, Any] | None
    heuristic: bool | None
    guarantee: str | None
    instances: int | None
    teams: list[TeamFeedback]


def read_ladder_use(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> LadderUse:
    """The feedback spent in a phase; without a Ladder all of it is null and empty. Raises NotFound and Forbidden."""
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=False)
    of = active_version(session, phase)
    version = None if of is None else of.gold
    recipe = parse_stored_recipe(phase, challenges.active_recipe(session, phase))
    ladders = None if of is None else read_ladders(session, phase, of)
    teams = [] if ladders is None else _teams(ladders)
    return LadderUse(
        phase=phase.slug,
        ladder=describe_feedback(recipe),
        heuristic=_is_heuristic(recipe, version),
        guarantee=_guarantee(recipe, phase, version, ladders, teams),
        instances=None if ladders is None else ladders.instances,
        teams=teams,
    )


def _dependence(version: GoldVersion | None) -> dict[str, bool]:
    """What keeps scores of this gold from being plain means over independent instances."""
    if version is None:
        return {"weighted": False, "grouped": False}
    return {"weighted": bool(version.weighted), "grouped": bool(version.accessories.get(GROUPS))}


def _is_heuristic(recipe: ScoringRecipe, version: GoldVersion | None) -> bool | None:
    primary = recipe.call(recipe.primary)
    if recipe.ladder is None or primary is None:
        return None
    return why_heuristic(recipe.ladder, primary, **_dependence(version)) is not None


def _guarantee(
    recipe: ScoringRecipe,
    phase: Phase,
    version: GoldVersion | None,
    ladders: PhaseLadders | None,
    teams: list[TeamFeedback],
) -> str | None:
    """The guarantee for as many submissions as the quota allows, or else for the most that a team has sent."""
    primary = recipe.call(recipe.primary)
    if recipe.ladder is None or primary is None:
        return None
    sent = max((team.submissions for team in teams), default=0)
    return describe_guarantee(
        recipe.ladder,
        primary,
        instances=0 if ladders is None else ladders.instances,
        submissions=max(sent, phase.quota.get("total") or 0),
        **_dependence(version),
    )


def _teams(ladders: PhaseLadders) -> list[TeamFeedback]:
    own = [step for step in ladders.steps.values() if not step.entry.baseline]
    own.sort(key=lambda step: step.entry.team)
    found = [_team(list(steps), ladders.direction) for _, steps in groupby(own, key=lambda step: step.entry.team)]
    return sorted(found, key=lambda team: (-team.releases, -team.submissions, team.team, team.team_id))


def _team(steps: list[LadderStep], direction: str) -> TeamFeedback:
    """A team has one Ladder, and another one for each team that was merged into it."""
    outputs = [step.output for step in steps if step.output is not None]
    values = [output.value for output in outputs if output.value is not None]
    return TeamFeedback(
        team_id=steps[0].entry.team,
        team=steps[0].entry.team_name,
        submissions=len(steps),
        releases=sum(output.released for output in outputs),
        waiting=len(steps) - len(outputs),
        value=(max if direction == "higher" else min)(values, default=None),
    )
