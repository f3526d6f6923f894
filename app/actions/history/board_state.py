"""The state of a board while attempts and acts are taken one by one: which entry of each team counts, and its marks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from app.actions.submissions.ladder_board import ladder_rows
from app.actions.submissions.ladders import LadderStep, PhaseLadders
from app.scoring.standings import UNDEFINED, BoardEntry, ValueKey, rounded_key
from app.store.queries.board_entries import BoardEntries
from app.store.queries.board_history import Act, Attempt, Values
from app.store.queries.board_marks import Mark
from app.store.queries.entry_choice import BoardScores


@dataclass(slots=True)
class _Team:
    name: str = ""
    attempts: dict[str, Attempt] = field(default_factory=dict)
    baselines: list[Attempt] = field(default_factory=list)
    entries: int = 0
    """Attempts without the baselines among them."""
    best: dict[Mark | None, Attempt] = field(default_factory=dict)
    """The attempt that stands for the team with each mark; without a mark it competes."""
    withdrawn: set[str] = field(default_factory=set)
    disqualified: set[str] = field(default_factory=set)
    selected: dict[str, datetime] = field(default_factory=dict)
    is_disqualified: bool = False
    is_barred: bool = False

    @property
    def mark(self) -> Mark | None:
        return "disqualified" if self.is_disqualified else ("barred" if self.is_barred else None)

    def mark_of(self, attempt: Attempt) -> Mark | None:
        if attempt.submission in self.disqualified:
            return "disqualified"
        if attempt.submission in self.withdrawn:
            return "withdrawn"
        return "unofficial" if attempt.unofficial else None


class BoardState:
    """A board by one BoardScores; the same rules as `board_entries.entries`, in memory and step by step.

    An attempt is compared with what stands for its team, so taking it costs the same however many there were before.
    """

    def __init__(self, board: BoardScores, values: Values) -> None:
        self.board = board
        self._values = values
        self._teams: dict[str, _Team] = {}
        self._team_of: dict[str, str] = {}

    def accept(self, attempt: Attempt) -> None:
        """Take an attempt; one without scores of these versions is not on the board."""
        if (self.board.chosen_by, self.board.primary) not in self._values.get(attempt.submission, {}):
            return
        team = self._team(attempt.team)
        team.name = attempt.team_name
        team.attempts[attempt.submission] = attempt
        self._team_of[attempt.submission] = attempt.team
        if attempt.baseline:
            team.baselines.append(attempt)
        else:
            team.entries += 1
            self._consider(team, attempt)

    def apply(self, act: Act) -> str | None:
        """Take an act; returns the team whose rows it may change."""
        if act.action.startswith("team."):
            team = self._team(act.object_id)
            if act.action in {"team.disqualify", "team.reinstate"}:
                team.is_disqualified = act.action == "team.disqualify"
            else:
                team.is_barred = act.action == "team.bar"
            return act.object_id
        owner = self._team_of.get(act.object_id)
        if owner is None:
            return None
        team = self._team(owner)
        _apply_to_submission(team, act)
        team.best.clear()
        for attempt in team.attempts.values():
            if not attempt.baseline:
                self._consider(team, attempt)
        return owner

    def rows(self, team_id: str) -> list[BoardEntry]:
        """The rows of a team: its entry, the best one for each mark, and baselines."""
        team = self._teams.get(team_id)
        if team is None:
            return []
        return [row for row in self._rows(team_id, team) if row is not None]

    def count(self, team_id: str) -> int:
        """How many attempts of a team were taken, apart from baselines."""
        team = self._teams.get(team_id)
        return 0 if team is None else team.entries

    def entries(self) -> BoardEntries:
        """The whole board."""
        rows = [row for team in self._teams for row in self.rows(team)]
        return BoardEntries(rows, {team: state.name for team, state in self._teams.items()}, len(rows))

    @property
    def teams(self) -> Iterable[str]:
        """The teams that were named so far."""
        return self._teams

    def _team(self, team_id: str) -> _Team:
        return self._teams.setdefault(team_id, _Team())

    def _consider(self, team: _Team, attempt: Attempt) -> None:
        mark = team.mark_of(attempt)
        best = team.best.get(mark)
        team.best[mark] = attempt if best is None else self._better(best, attempt)

    def _better(self, one: Attempt, other: Attempt) -> Attempt:
        if self.board.selection == "latest":
            return max(one, other, key=lambda attempt: attempt.submission)
        return min(one, other, key=lambda attempt: self._order(attempt, self.board.chosen_by))

    def _order(self, attempt: Attempt, split: str) -> tuple[tuple[ValueKey, ...], str]:
        values = self._values[attempt.submission]
        names = (self.board.primary, *self.board.tie_breakers)
        keys = tuple(rounded_key(values.get((split, name), UNDEFINED), self.board.digits) for name in names)
        return keys, attempt.submission

    def _rows(self, team_id: str, team: _Team) -> Iterator[BoardEntry | None]:
        marked = dict(team.best)
        official = marked.pop(None, None)
        if self.board.selection == "selected":
            official = self._best_selected(team) or official
        if team.mark is not None and (official or marked):
            stands = official or self._best_of(marked.values())
            marked, official = {team.mark: stands}, None
        if official is not None:
            yield self._entry(team_id, official, None)
        for mark, attempt in marked.items():
            yield self._entry(team_id, attempt, mark)
        for attempt in team.baselines:
            if team.mark_of(attempt) in {None, "unofficial"}:
                yield self._entry(team_id, attempt, team.mark_of(attempt))

    def _best_of(self, attempts: Iterable[Attempt]) -> Attempt:
        first, *others = attempts
        for other in others:
            first = self._better(first, other)
        return first

    def _best_selected(self, team: _Team) -> Attempt | None:
        """Of the attempts that the team selected first, as many as it may select, the best one."""
        split = self.board.selected_by
        chosen = [
            each
            for each in sorted(team.selected, key=lambda one: (team.selected[one], one))
            if not team.attempts[each].baseline
            and team.mark_of(team.attempts[each]) is None
            and (split, self.board.primary) in self._values[each]
        ]
        found = [team.attempts[each] for each in chosen[: self.board.selection_max]]
        return min(found, key=lambda attempt: self._order(attempt, split), default=None)

    def _entry(self, team_id: str, attempt: Attempt, mark: Mark | None) -> BoardEntry | None:
        values, shown = self._values[attempt.submission], self.board.shown
        if (shown, self.board.primary) not in values:
            return None
        keys = tuple(values.get((shown, name), UNDEFINED) for name in self.board.ranked_by)
        return BoardEntry(attempt.submission, team_id, attempt.baseline, keys, mark)


class LadderState(BoardState):
    """The same for readers to whom a Ladder tells its outputs alone: they follow from the order of acceptance."""

    def __init__(self, board: BoardScores, values: Values, ladders: PhaseLadders) -> None:
        super().__init__(board, values)
        self._ladders = ladders
        self._own: dict[str, list[LadderStep]] = {}
        for step in ladders.steps.values():
            self._own.setdefault(step.entry.team, []).append(step)

    def rows(self, team_id: str) -> list[BoardEntry]:
        """What the Ladder of a team has told so far."""
        team = self._teams.get(team_id)
        if team is None:
            return []
        steps = [
            LadderStep(step.entry._replace(mark=team.mark_of(team.attempts[step.entry.submission])), step.output)
            for step in self._own.get(team_id, [])
            if step.entry.submission in team.attempts
        ]
        return ladder_rows(self._ladders, steps, team.mark)


def _apply_to_submission(team: _Team, act: Act) -> None:
    verb = act.action.removeprefix("submission.")
    if verb == "withdraw":
        team.withdrawn.add(act.object_id)
    elif verb == "disqualify":
        team.disqualified.add(act.object_id)
    elif verb == "reinstate":
        team.withdrawn.discard(act.object_id)
        team.disqualified.discard(act.object_id)
    elif verb == "select":
        team.selected[act.object_id] = act.at
    else:
        team.selected.pop(act.object_id, None)
