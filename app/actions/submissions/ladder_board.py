"""The board of a phase that limits feedback: what the Ladder of each team told last, instead of scores."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.board_scores import counting_submissions
from app.actions.submissions.ladders import (
    LadderStep,
    PhaseLadders,
    ladder_in_force,
    limits_feedback,
    read_ladders,
    read_team_ladders,
)
from app.actions.submissions.score_visibility import ScoreView, score_view_for
from app.errors import BadRequest
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.ladder_rule import parse_ladder
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import UNDEFINED, BoardEntry, Standing, ranking_key
from app.scoring.uncertainty.ladder_wording import describe_ladder
from app.store.queries import board_entries, board_marks
from app.store.queries.board_entries import BoardEntries
from app.store.queries.board_rows import BoardRow
from app.store.queries.board_versions import BoardVersion
from app.store.queries.entry_choice import BoardScores
from app.store.session import ReadSession
from app.store.tables import Phase


@dataclass(frozen=True, slots=True)
class BoardView:
    """What a reader sees of a board: scores, or the outputs of the Ladders alone."""

    recipe: ScoringRecipe
    scores: ScoreView
    ladders: PhaseLadders | None

    def entries(self, session: ReadSession, board: BoardScores, rows: int | None) -> BoardEntries:
        """What the board shows, as `board_entries.entries` returns it."""
        if self.ladders is None:
            return board_entries.entries(session, board, rows)
        return ladder_entries(session, self.ladders, board.challenge_id)

    def shown_scores(self, standing: Standing, row: BoardRow) -> dict[str, dict[str, Any]]:
        """The scores in a row, in the shape of the API."""
        if self.ladders is None:
            return self.scores.metrics(row.metrics)
        value = value_of(standing.entry.keys[0], self.ladders.direction)
        return self.scores.told(self.ladders.primary, value)

    def with_digits_of(self, other: ScoringRecipe) -> "BoardView":
        """The same with at most as many digits as another recipe discloses."""
        known = [digits for digits in (self.scores.digits, other.digits) if digits is not None]
        return replace(self, scores=replace(self.scores, digits=min(known, default=None)))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the board that say which scores its rows have."""
        told = self.ladders
        calls = [call for call in self.recipe.metrics if told is None or call.text == told.primary]
        return {
            "metrics": [describe_call(call) for call in calls],
            "ladder": None if told is None else describe_feedback(self.recipe),
        }


def describe_feedback(recipe: ScoringRecipe) -> dict[str, Any] | None:
    """The Ladder of a recipe with its explanation, in the shape of the API; None without one."""
    if recipe.ladder is None:
        return None
    return {"step": recipe.ladder.value, "meaning": describe_ladder(recipe.ladder, recipe.primary)}


def stored_ladder_meaning(stored: Mapping[str, Any]) -> str | None:
    """What a stored recipe shows instead of scores, in words; None without a Ladder."""
    if not stored.get("ladder"):
        return None
    primary = stored["primary"]
    rule = parse_ladder(stored["ladder"], "best", None, lambda _pointer, _detail: None)
    name = primary if isinstance(primary, str) else primary.get("name") or primary.get("key")
    return None if rule is None else describe_ladder(rule, str(name))


def board_view(session: ReadSession, phase: Phase, of: BoardVersion, *, ranked_by: str, organizer: bool) -> BoardView:
    """The view of organizers, or that of everybody else; raises BadRequest for an order that the Ladder does not show."""
    recipe = parse_stored_recipe(phase, of.recipe)
    rule = ladder_in_force(recipe, phase.released_at, organizer=organizer)
    if rule is not None and ranked_by != recipe.primary:
        detail = f"While the Ladder limits feedback, the board is ranked by '{recipe.primary}' alone."
        raise BadRequest(detail, remedy="Leave out 'metric'. Other metrics are shown after the final release.")
    ladders = None if rule is None else read_ladders(session, phase, of)
    return BoardView(recipe, score_view_for(recipe, organizer=organizer), ladders)


def value_of(key: tuple[bool, float], direction: str) -> float | None:
    """The value that a ranking key stands for; None if it is undefined."""
    undefined, number = key
    return None if undefined else (-number if direction == "higher" else number) + 0.0


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
        own = list(group)
        found = ladder_rows(ladders, own, marks.get(team))
        if found:
            names[team] = own[0].entry.team_name
        rows += found
    return BoardEntries(rows, names, len(rows))


def ladder_rows(
    ladders: PhaseLadders, steps: Sequence[LadderStep], team_mark: board_marks.Mark | None
) -> list[BoardEntry]:
    """The rows of one team after these steps of its Ladder, and its baselines."""
    known = [step for step in steps if step.output is not None and step.entry.key is not None]
    own = [step for step in known if not step.entry.baseline]
    return [*_team_rows(ladders, own, team_mark), *_baseline_rows(ladders, known)]


def counting_for_reader(session: ReadSession, phase_id: str, teams: Collection[str], *, organizer: bool) -> set[str]:
    """The submissions of these teams that count on the board that this reader is shown."""
    phase = session.get_one(Phase, phase_id)
    if not limits_feedback(session, phase, organizer=organizer):
        return counting_submissions(session, phase_id, teams)
    ladders = read_team_ladders(session, phase_id, teams)
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
