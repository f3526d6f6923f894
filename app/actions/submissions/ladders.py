"""The Ladders of a phase: what each submission is answered while feedback is limited, and the board of those answers.

Outputs are derived from the stored scores whenever they are read: a pure fold over the submissions of a team in the
order of acceptance. So they cannot disagree with the scores, and nothing has to be rebuilt.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.scoring.declaration.ladder_rule import LadderRule
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.uncertainty.ladder import LadderOutput, fold_ladder
from app.store.queries import challenges
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.queries.ladder_entries import LadderEntry, entries_in_order
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase


def ladder_in_force(recipe: ScoringRecipe, released_at: datetime | None, *, organizer: bool) -> LadderRule | None:
    """The Ladder whose outputs this reader is shown instead of scores; None for a reader who is shown scores.

    Organizers always see scores, and so does everybody after the final release.
    """
    return None if organizer or released_at is not None else recipe.ladder


def limits_feedback(session: ReadSession, phase: Phase, *, organizer: bool) -> bool:
    """Whether this reader is shown the outputs of a Ladder instead of scores."""
    if organizer or phase.released_at is not None:
        return False
    return bool(challenges.active_recipe(session, phase).body.get("ladder"))


@dataclass(frozen=True, slots=True)
class LadderStep:
    """A submission and what it is answered; no output while an earlier one of the team has no final status."""

    entry: LadderEntry
    output: LadderOutput | None


@dataclass(frozen=True, slots=True)
class PhaseLadders:
    """The Ladders of a phase or of some of its teams."""

    rule: LadderRule
    primary: str
    direction: str
    instances: int
    steps: dict[str, LadderStep]
    """By submission, in the order of acceptance."""


def scored_instances(version: GoldVersion) -> int:
    """How many instances the split of the Ladder has."""
    return version.instances if version.public_instances is None else version.public_instances


def read_ladders(
    session: ReadSession, phase: Phase, of: BoardVersion, teams: Collection[str] | None = None
) -> PhaseLadders | None:
    """The Ladders of a phase, or of these teams; None if its recipe has none."""
    recipe = parse_stored_recipe(phase, of.recipe)
    if recipe.ladder is None:
        return None
    provenance = ScoreProvenance(of.gold.id, equivalent_recipe_ids(session, of.recipe), of.scorer_version)
    split = "public" if of.gold.has_splits else "all"
    entries = entries_in_order(session, phase.id, provenance, split=split, metric=recipe.primary, teams=teams)
    direction = next(call.metric.direction for call in recipe.metrics if call.text == recipe.primary)
    size = scored_instances(of.gold)
    steps = {step.entry.submission: step for step in fold_entries(entries, recipe.ladder, direction, size)}
    return PhaseLadders(recipe.ladder, recipe.primary, direction, size, steps)


def read_team_ladders(session: ReadSession, phase_id: str, teams: Collection[str]) -> PhaseLadders | None:
    """The Ladders of these teams in a phase; None if it has none, or no gold."""
    phase = session.get_one(Phase, phase_id)
    of = active_version(session, phase)
    return None if of is None else read_ladders(session, phase, of, teams)


def fold_entries(
    entries: Iterable[LadderEntry], rule: LadderRule, direction: str, instances: int
) -> Iterator[LadderStep]:
    """Each submission with its output, Ladder by Ladder. A baseline is on a Ladder of its own."""
    ordered = sorted(entries, key=lambda entry: (_ladder_of(entry), entry.submission))
    for _, group in groupby(ordered, key=_ladder_of):
        own = list(group)
        settled = next((place for place, entry in enumerate(own) if entry.is_awaited), len(own))
        values = [_value_of(entry, direction) for entry in own[:settled]]
        outputs: list[LadderOutput | None] = [*fold_ladder(values, rule, direction, instances)]
        outputs += [None] * (len(own) - settled)
        yield from map(LadderStep, own, outputs)


def _ladder_of(entry: LadderEntry) -> str:
    return entry.submission if entry.baseline else entry.sender


def _value_of(entry: LadderEntry, direction: str) -> float | None:
    if entry.key is None or entry.key[0]:
        return None
    return (-entry.key[1] if direction == "higher" else entry.key[1]) + 0.0
