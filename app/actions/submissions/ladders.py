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
from app.scoring.standings import UNDEFINED, BoardEntry, ranking_key
from app.scoring.uncertainty.ladder import LadderOutput, fold_ladder
from app.store.queries import board_marks, challenges, gold
from app.store.queries.board_entries import BoardEntries
from app.store.queries.ladder_entries import LadderEntry, entries_in_order
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Recipe


def ladder_in_force(recipe: ScoringRecipe, released_at: datetime | None, *, organizer: bool) -> LadderRule | None:
    """The Ladder whose outputs this reader is shown instead of scores; None for a reader who is shown scores.

    Organizers always see scores, and so does everybody after the final release.
    """
    return None if organizer or released_at is not None else recipe.ladder


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
    session: ReadSession, phase: Phase, version: GoldVersion, stored: Recipe, teams: Collection[str] | None = None
) -> PhaseLadders | None:
    """The Ladders of a phase, or of these teams; None if its recipe has none."""
    recipe = parse_stored_recipe(phase, stored)
    if recipe.ladder is None:
        return None
    provenance = ScoreProvenance(version.id, equivalent_recipe_ids(session, stored), phase.scorer_version)
    split = "public" if version.has_splits else "all"
    entries = entries_in_order(session, phase.id, provenance, split=split, metric=recipe.primary, teams=teams)
    direction = next(call.metric.direction for call in recipe.metrics if call.text == recipe.primary)
    size = scored_instances(version)
    steps = {step.entry.submission: step for step in fold_entries(entries, recipe.ladder, direction, size)}
    return PhaseLadders(recipe.ladder, recipe.primary, direction, size, steps)


def read_team_ladders(session: ReadSession, phase_id: str, teams: Collection[str]) -> PhaseLadders | None:
    """The Ladders of these teams in a phase; None if it has none, or no gold."""
    phase = session.get_one(Phase, phase_id)
    version = gold.active(session, phase_id)
    return None if version is None else read_ladders(session, phase, version, challenges.active_recipe(session, phase), teams)


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


def value_of_key(key: tuple[bool, float], direction: str) -> float | None:
    """The value that a ranking key stands for."""
    undefined, number = key
    return None if undefined else (-number if direction == "higher" else number) + 0.0


# ---- the board


def ladder_entries(session: ReadSession, ladders: PhaseLadders, challenge_id: str) -> BoardEntries:
    """What the board shows: of each team its last output, with the submission that was released for it, and baselines.

    A release of a submission that was withdrawn or disqualified since, or that is unofficial, has a row with its mark.
    The Ladder is not rewound by that: the team's next release has to be better than it.
    """
    marks = board_marks.marked_teams(session, challenge_id)
    rows: list[BoardEntry] = []
    names: dict[str, str] = {}
    steps = sorted(ladders.steps.values(), key=lambda step: step.entry.team)
    for team, group in groupby(steps, key=lambda step: step.entry.team):
        known = [step for step in group if step.output is not None and step.entry.key is not None]
        own = [step for step in known if not step.entry.baseline]
        found = [*_team_rows(ladders, own, marks.get(team)), *_baseline_rows(ladders, known)]
        if found:
            names[team] = known[0].entry.team_name
        rows += found
    return BoardEntries(rows, names, len(rows))


def counting_on_ladder(session: ReadSession, phase: Phase, teams: Collection[str]) -> set[str]:
    """The submissions of these teams whose outputs the board shows with a rank."""
    ladders = read_team_ladders(session, phase.id, teams)
    if ladders is None:
        return set()
    entries = ladder_entries(session, ladders, phase.challenge_id).entries
    return {entry.submission for entry in entries if entry.competes}


def _team_rows(
    ladders: PhaseLadders, own: list[LadderStep], team_mark: board_marks.Mark | None
) -> Iterator[BoardEntry]:
    by_mark: dict[board_marks.Mark | None, list[LadderStep]] = {}
    for step in own:
        by_mark.setdefault(team_mark or step.entry.mark, []).append(step)
    for mark, steps in by_mark.items():
        released = [_row(ladders, step, mark) for step in steps if step.output is not None and step.output.released]
        if released:
            yield min(released, key=lambda row: (row.keys, row.submission))
        elif mark is None or mark == team_mark:
            first = steps[0].entry
            yield BoardEntry(first.submission, first.team, baseline=False, keys=(UNDEFINED,), mark=mark)


def _baseline_rows(ladders: PhaseLadders, known: list[LadderStep]) -> Iterator[BoardEntry]:
    for step in known:
        if step.entry.baseline and step.entry.mark in {None, "unofficial"}:
            yield _row(ladders, step, step.entry.mark)


def _row(ladders: PhaseLadders, step: LadderStep, mark: board_marks.Mark | None) -> BoardEntry:
    assert step.output is not None
    key = ranking_key(ladders.direction, step.output.value)
    return BoardEntry(step.entry.submission, step.entry.team, step.entry.baseline, (key,), mark)
