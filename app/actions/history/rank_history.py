"""The ranks of the teams over time: one point for each change of a board, folded from attempts, acts and switches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from app.actions.access import Caller
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.history.board_state import BoardState, LadderState
from app.actions.history.former_board import read_values
from app.actions.history.timeline import Event, moment_of, read_events
from app.actions.submissions.board_scores import board_scores
from app.actions.submissions.ladder_board import value_of
from app.actions.submissions.ladders import ladder_in_force, read_ladders
from app.actions.submissions.pseudonyms import pseudonyms
from app.actions.submissions.read_leaderboard import (
    CURSOR_PATTERN,
    BoardAudience,
    board_audience,
    resolve_board,
)
from app.actions.submissions.score_visibility import current_split
from app.errors import BadCursor, Forbidden
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import BoardEntry, round_significant, standings
from app.store.queries import board_history
from app.store.queries.board_history import Act, Attempt
from app.store.queries.board_versions import BoardVersion
from app.store.session import ReadSession

REPORT = "history"
KINDS = {
    "submission.withdraw": "withdrawal",
    "submission.disqualify": "disqualification",
    "submission.reinstate": "reinstatement",
    "submission.select": "selection",
    "submission.unselect": "selection",
    "team.disqualify": "team_disqualification",
    "team.reinstate": "team_reinstatement",
    "team.bar": "team_bar",
    "team.unbar": "team_bar_lifted",
}


class Segment(NamedTuple):
    """The time from a switch or the release on, while boards were computed from the same scores."""

    at: datetime
    kind: str
    version: BoardVersion
    split: str
    reason: str | None


class Place(NamedTuple):
    """Where a team stands: the rank and the value of its entry, or the mark of what it has instead."""

    rank: int | None
    value: float | None
    mark: str | None


@dataclass(slots=True)
class _Fold:
    """A segment while its events are taken: the rows of each team so far."""

    segment: Segment
    recipe: ScoringRecipe
    digits: int | None
    state: BoardState
    rows: dict[str, list[BoardEntry]] = field(default_factory=dict)

    def update(self, team: str) -> bool:
        """Read the rows of a team again; whether they changed."""
        rows = self.state.rows(team)
        changed = rows != self.rows.get(team, [])
        self.rows[team] = rows
        return changed

    @property
    def direction(self) -> str:
        """That of the metric which ranks."""
        return next(call.metric.direction for call in self.recipe.metrics if call.text == self.recipe.primary)

    def places(self) -> dict[str, Place]:
        """Where each team stands now; baselines have no place."""
        direction, found = self.direction, dict[str, Place]()
        for standing in standings(row for rows in self.rows.values() for row in rows if not row.baseline):
            entry = standing.entry
            if entry.mark is None or entry.team not in found:
                value = round_significant(value_of(entry.keys[0], direction), self.digits)
                found[entry.team] = Place(standing.rank, value, entry.mark)
        return found


class Step(NamedTuple):
    """A change of the board: the attempt or act, or None for the switch or release that begins a segment."""

    event: Event | None
    fold: _Fold


def read_rank_history(
    session: ReadSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    split: str | None,
    limit: int,
    cursor: str | None = None,
    last: bool = False,
) -> dict[str, Any]:
    """The changes of a board by time, in the shape of the API; raises what reading the board raises, and Forbidden.

    A cursor is the number of points before; with `last` instead, the page ends with the newest point.
    """
    audience = board_audience(session, caller, slug, phase_slug)
    phase = audience.phase
    if not audience.organizer and REPORT not in phase.reports:
        remedy = f"Reports of this phase: {', '.join(phase.reports) or 'none'}."
        raise Forbidden(f"This phase does not show its participants the report '{REPORT}'.", remedy=remedy)
    present = resolve_board(session, audience, split=split, metric=None)
    if cursor is not None and not CURSOR_PATTERN.fullmatch(cursor):
        raise BadCursor
    history = _History(session, audience, present.recipe, split)
    start = int(cursor or 0)
    if last and history.max_points > limit:
        start = max(0, sum(1 for _ in history.steps()) - limit)
    points, total = history.points(start, limit)
    end = start + len(points)
    return {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": present.scores.shown,
        "primary": present.recipe.primary,
        "direction": next(
            call.metric.direction for call in present.recipe.metrics if call.text == present.recipe.primary
        ),
        "gold_version": present.version.gold.version,
        "recipe_version": present.version.recipe.version,
        "scorer_version": present.version.scorer_version,
        "total": total,
        "start": start,
        "points": points,
        "next": str(end) if end < total else None,
    }


class _History:
    """The changes of the board of a phase, as one reader sees them."""

    def __init__(
        self, session: ReadSession, audience: BoardAudience, present: ScoringRecipe, split: str | None
    ) -> None:
        self._session, self._audience, self._present, self._split = session, audience, present, split
        self._phase = audience.phase
        self._events = read_events(session, audience.phase)
        self._attempts = {each.submission: each for each in self._events if isinstance(each, Attempt)}
        self._names = {each.team: each.team_name for each in self._attempts.values()}
        self._hidden: dict[str, str] = {}
        if audience.phase.anonymous and not audience.organizer:
            teams = {each.team for each in self._attempts.values() if not each.baseline}
            self._hidden = pseudonyms(audience.phase.pseudonym_key, teams)
            self._hidden.pop(audience.own_team or "", None)

    @property
    def max_points(self) -> int:
        """More points there cannot be."""
        return len(self._events) + len(self._segments())

    def points(self, start: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Some points in the shape of the API, and how many there are; the first one has the places of all teams."""
        points: list[dict[str, Any]] = []
        before: dict[str, Place] = {}
        total = 0
        for total, step in enumerate(self.steps(), 1):
            if start < total <= start + limit:
                places = step.fold.places()
                changed = {team: place for team, place in places.items() if before.get(team) != place}
                changed |= dict.fromkeys(before.keys() - places.keys(), Place(None, None, None))
                points.append(self._point(step, changed))
                before = places
        return points, total

    def steps(self) -> Iterator[Step]:
        """All changes, oldest first."""
        segments = self._segments()
        taken = 0
        for number, segment in enumerate(segments):
            fold = self._new_fold(segment)
            while taken < len(self._events) and moment_of(self._events[taken]) < segment.at:
                taken += 1
            for event in self._events[:taken]:
                _take(fold.state, event)
            for team in list(fold.state.teams):
                fold.update(team)
            yield Step(None, fold)
            ends = segments[number + 1].at if number + 1 < len(segments) else None
            while taken < len(self._events) and (ends is None or moment_of(self._events[taken]) < ends):
                event = self._events[taken]
                taken += 1
                changed = _take(fold.state, event)
                if changed is not None and self._is_change(fold, changed, event):
                    yield Step(event, fold)

    def _is_change(self, fold: _Fold, team: str, event: Event) -> bool:
        """Whether the board changed: an attempt that does not count is no change, a withdrawal always is one."""
        changed = fold.update(team)
        if isinstance(event, Attempt):
            return changed and not event.baseline
        attempt = self._attempts.get(event.object_id)
        if attempt is not None and attempt.baseline:
            return False
        return changed or (KINDS[event.action] != "selection" and bool(fold.rows.get(team)))

    def _segments(self) -> list[Segment]:
        """From each switch on, and from the final release on if no split is asked for."""
        done = board_history.switches_done(self._session, self._phase.id)
        begins = [
            (each.at, "switch" if number else "activation", each.version, each.reason or None)
            for number, each in enumerate(done)
        ]
        released = self._phase.released_at if self._split is None else None
        before = [each.version for each in done if released is not None and each.at <= released]
        if released is not None and before and before[-1].gold.has_splits:
            begins.append((released, "release", before[-1], None))
        closes_at = self._phase.closes_at
        if not self._audience.organizer and self._phase.leaderboard == "after_close" and closes_at is not None:
            # Nobody else saw the boards from before the close: their history begins with it.
            before = [each.version for each in done if each.at <= closes_at]
            begins = [each for each in begins if each[0] >= closes_at]
            begins += [(closes_at, "close", of, None) for of in before[-1:]]
        begins.sort(key=lambda each: each[0])
        return [Segment(at, kind, of, self._shown(of, at), reason) for at, kind, of, reason in begins]

    def _shown(self, version: BoardVersion, at: datetime) -> str:
        released = self._phase.released_at
        if self._split is not None and version.gold.has_splits:
            return self._split
        return current_split(
            has_splits=version.gold.has_splits, released=released if released is not None and at >= released else None
        )

    def _new_fold(self, segment: Segment) -> _Fold:
        phase, of, organizer = self._phase, segment.version, self._audience.organizer
        recipe = parse_stored_recipe(phase, of.recipe)
        scores = board_scores(self._session, phase, of, shown_split=segment.split, ranked_by=recipe.primary)
        values = read_values(self._session, scores)
        digits = [each for each in (recipe.digits, self._present.digits) if each is not None and not organizer]
        ladders = None
        if ladder_in_force(recipe, phase.released_at, organizer=organizer) is not None:
            ladders = read_ladders(self._session, phase, of)
        state = BoardState(scores, values) if ladders is None else LadderState(scores, values, ladders)
        return _Fold(segment, recipe, min(digits, default=None), state)

    def _point(self, step: Step, changed: Mapping[str, Place]) -> dict[str, Any]:
        segment, event = step.fold.segment, step.event
        of = segment.version
        about: dict[str, Any] = {"at": segment.at, "kind": segment.kind, "team": None, "submission": None}
        about |= {"method": None, "entries": None, "reason": segment.reason}
        if event is not None:
            about = self._about(event, step.fold)
        return about | {
            "split": segment.split,
            "primary": step.fold.recipe.primary,
            "gold_version": of.gold.version,
            "recipe_version": of.recipe.version,
            "scorer_version": of.scorer_version,
            "changes": [{"team": self._team(team)} | place._asdict() for team, place in changed.items()],
        }

    def _about(self, event: Event, fold: _Fold) -> dict[str, Any]:
        attempt = event if isinstance(event, Attempt) else self._attempts.get(event.object_id)
        team = event.object_id if attempt is None and isinstance(event, Act) else (attempt.team if attempt else "")
        hidden = team in self._hidden
        may_read_reason = self._audience.organizer or team == self._audience.own_team
        return {
            "at": moment_of(event),
            "kind": KINDS[event.action] if isinstance(event, Act) else "submission",
            "team": self._team(team),
            "submission": None if attempt is None or hidden else attempt.submission,
            "method": None if attempt is None or hidden else attempt.method,
            "entries": fold.state.count(team),
            "reason": event.reason if isinstance(event, Act) and may_read_reason else None,
        }

    def _team(self, team: str) -> dict[str, str | None]:
        if team in self._hidden:
            return {"id": None, "name": self._hidden[team]}
        return {"id": team, "name": self._names.get(team, "")}


def _take(state: BoardState, event: Event) -> str | None:
    """Take an event; returns the team whose rows it may change."""
    if isinstance(event, Act):
        return state.apply(event)
    state.accept(event)
    return event.team
