"""Queries of a leaderboard: the entry of each team from the index of ranked values, and what it is ranked by."""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    and_,
    case,
    exists,
    func,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import aliased

from app.scoring.standings import UNDEFINED, BoardEntry, ValueKey, near_tie_width, rounded_key
from app.store.queries.board_marks import IS_OFF_BOARD, SUBMISSION_MARK, Mark, marked_teams
from app.store.queries.ranked_values import provenance_key
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import EntryCount, RankedValue, Score, Submission, Team

_MAX_IN_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class BoardScores:
    """The scores that a board is computed from, and how it is ranked.

    A team's entry is chosen by the `primary` metric and the `tie_breakers` on the split `chosen_by`, of those that the
    team selected on `selected_by`, where digits beyond `digits` do not count; `ranked_by` are the metrics that rank the
    entries on the split `shown`.
    """

    challenge_id: str
    phase_id: str
    provenance: ScoreProvenance
    fingerprint: str
    primary: str
    tie_breakers: tuple[str, ...]
    ranked_by: tuple[str, ...]
    chosen_by: str
    selected_by: str
    shown: str
    selection: str
    selection_max: int | None
    digits: int | None
    unofficial: bool = False
    """Whether these are the entries that were sent after the close, which compete among themselves alone."""

    @property
    def key(self) -> str:
        """The provenance key of the entries that teams choose from."""
        origin = self.provenance
        versions = (origin.gold_id, self.fingerprint, origin.scorer_version)
        return provenance_key(*versions, self.chosen_by, self.primary, unofficial=self.unofficial)

    def score_of(self, submission: Any, split: str) -> ColumnElement[bool]:
        """Whether a score is that of this submission on this split."""
        return and_(Score.submission_id == submission, self.provenance.score_condition(), Score.split == split)


_IS_SHOWN = and_(Submission.status == "finished", Submission.test.is_(False))
_ON_BOARD = and_(_IS_SHOWN, Submission.withdrawn_at.is_(None), Submission.disqualified_at.is_(None))


def newest_submission_time(session: ReadSession, phase_id: str) -> datetime | None:
    """The time of the newest finished submission, apart from test entries."""
    query = select(Submission.submitted_at).where(Submission.phase_id == phase_id, _IS_SHOWN)
    return session.scalar(query.order_by(Submission.submitted_at.desc()).limit(1))


class _Choice(NamedTuple):
    """A submission with the ranking key of its primary value on the split that teams choose by."""

    key: ValueKey
    submission: str
    team_name: str


_Group = TypeVar("_Group")  # whose choices are compared: a team, or a team with a mark


class _Entrant(NamedTuple):
    """A row of the board before it is ranked."""

    choice: _Choice
    team: str
    baseline: bool = False
    mark: Mark | None = None


def entries(session: ReadSession, board: BoardScores) -> tuple[list[BoardEntry], dict[str, str]]:
    """What the board shows, in no order, and the names of these teams by id.

    That is the entry of each team, the best entry of each team for every mark, and all baselines. The teams are read
    here anyway, so the query of the rows need not search each of them once more.
    """
    entrants = [*_competing(session, board), *_baselines(session, board)]
    names = {team: choice.team_name for choice, team, _, _ in entrants}
    keys: Mapping[str, tuple[ValueKey, ...]]
    if board.ranked_by == (board.primary,) and board.chosen_by == board.shown:
        keys = {each.choice.submission: (each.choice.key,) for each in entrants}
    else:
        entered = [each.choice.submission for each in entrants]
        keys = _ranking_keys(session, board, entered, board.ranked_by, board.shown)
    ranked = [
        BoardEntry(choice.submission, team, baseline, keys[choice.submission], mark)
        for choice, team, baseline, mark in entrants
        if choice.submission in keys
    ]
    return ranked, names


def count_entries(session: ReadSession, board: BoardScores, teams: Collection[str] | None = None) -> dict[str, int]:
    """How many scored submissions each of these teams has, or each team, apart from baselines and test entries.

    An attempt remains one when it is withdrawn, disqualified or unofficial.
    """
    keys = (board.key, replace(board, unofficial=True).key)
    query = select(EntryCount.team_id, func.sum(EntryCount.entries)).where(EntryCount.provenance.in_(keys))
    if teams is not None:
        query = query.where(EntryCount.team_id.in_(teams))
    return {team: int(count) for team, count in session.execute(query.group_by(EntryCount.team_id))}


def _competing(session: ReadSession, board: BoardScores) -> list[_Entrant]:
    """The entry of each team that is ranked, and the best one of each team for every mark.

    A team that is disqualified or barred has one row: the entry that would be ranked, else the best of all others.
    """
    official = _chosen(session, board)
    unofficial = _chosen(session, replace(board, unofficial=True))
    marked: dict[str, dict[Mark, list[_Choice]]] = {
        team: {"unofficial": [choice]} for team, choice in unofficial.items()
    }
    for choice, team, mark in _scored_and_marked(session, board, and_(IS_OFF_BOARD, ~Submission.baseline, _IS_SHOWN)):
        assert mark is not None
        marked.setdefault(team, {}).setdefault(mark, []).append(choice)
    for team, mark in marked_teams(session, board.challenge_id).items():
        own = official.pop(team, None)
        others = [choice for choices in marked.pop(team, {}).values() for choice in choices]
        if own is not None or others:
            marked[team] = {mark: others if own is None else [own]}
    groups = {(team, mark): choices for team, by_mark in marked.items() for mark, choices in by_mark.items()}
    rows = [_Entrant(choice, team) for team, choice in official.items()]
    return rows + [
        _Entrant(choice, team, mark=mark) for (team, mark), choice in _representatives(session, board, groups).items()
    ]


def _chosen(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The entry of each team by the rule of selection; no unofficial one is ever selected."""
    chosen = _latest(session, board) if board.selection == "latest" else _best(session, board)
    if board.selection == "selected" and not board.unofficial:
        chosen |= _best_selected(session, board)
    return chosen


def counting_entries(session: ReadSession, board: BoardScores, teams: Collection[str]) -> set[str]:
    """The entries of these teams that count by the rule of selection; a team that is disqualified or barred has none."""
    unmarked = set(teams) - marked_teams(session, board.challenge_id).keys()
    own = and_(Submission.team_id.in_(unmarked), ~Submission.baseline, Submission.unofficial.is_(board.unofficial))
    choices: dict[str, list[_Choice]] = {}
    for choice, team in _scored(session, board, own, board.chosen_by):
        choices.setdefault(team, []).append(choice)
    chosen = _representatives(session, board, choices)
    if board.selection == "selected":
        chosen |= _best_selected(session, board, own)
    return {choice.submission for choice in chosen.values()}


def _representatives(
    session: ReadSession, board: BoardScores, groups: Mapping[_Group, Sequence[_Choice]]
) -> dict[_Group, _Choice]:
    """The latest or the best of each group, as the rule of selection says."""
    if board.selection == "latest":
        return {group: max(choices, key=lambda choice: choice.submission) for group, choices in groups.items()}
    return _best_choices(session, board, groups, board.chosen_by)


def _best(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The entry of each team with the best primary value: the first in its part of the index.

    If another value of a team may be equal, or a worse one once both are rounded, all such values are read and compared.
    """
    query, found = _first_entries(session, board)
    if board.digits is None and not board.tie_breakers:
        return {row[0]: _Choice((row[1], row[2]), *row[3:]) for row in session.connection().execute(query).all()}
    near = aliased(RankedValue)
    next_key = select(near.ranking_key).where(_is_near(board, found, near)).order_by(near.ranking_key)
    with_next = query.add_columns(next_key.limit(1).correlate(found).scalar_subquery())
    chosen: dict[str, _Choice] = {}
    tied: list[str] = []
    for team, undefined, key, submission, name, following in session.connection().execute(with_next).all():
        chosen[team] = _Choice((undefined, key), submission, name)
        if following is not None and _is_tied(following, key, board.digits):
            tied.append(team)
    for some in _batches(tied):
        candidates = {team: [chosen[team]] for team in some}
        query, found = _first_entries(session, board, some)
        rivals = query.join(near, _is_near(board, found, near)).with_only_columns(
            found.c.team_id, near.ranking_key, near.submission_id
        )
        shown = rivals.where(near.submission_id.not_in(_off_board_ids(board)))
        for team, key, submission in session.connection().execute(shown):
            best = chosen[team]
            candidates[team].append(_Choice((best.key[0], key), submission, best.team_name))
        chosen |= _best_choices(session, board, candidates, board.chosen_by)
    return chosen


def _is_tied(key: float, other: float, digits: int | None) -> bool:
    return rounded_key((False, key), digits) == rounded_key((False, other), digits)


def _first_entries(
    session: ReadSession, board: BoardScores, teams: Sequence[str] | None = None
) -> tuple[Select[Any], FromClause]:
    """The best entry of each of these teams, or of all of the challenge; among equals, the earliest submission.

    Also returns where the columns come from. PostgreSQL needs LATERAL, because it would join by a hash of all ranked
    values. SQLite has no LATERAL: it searches the entry again by the values of all columns, in the page of the index
    that it has just read.
    """
    entry = RankedValue
    wanted = _has_entries(board) if teams is None else Team.id.in_(teams)
    own = (entry.provenance == board.key, entry.team_id == Team.id)
    columns = (entry.provenance, entry.team_id, entry.undefined, entry.ranking_key, entry.submission_id)
    first = (
        select(*columns)
        .where(*own, entry.submission_id.not_in(_off_board_ids(board)))
        .order_by(entry.undefined, entry.ranking_key, entry.submission_id)
        .limit(1)
        .correlate(Team)
    )
    found: FromClause
    if session.get_bind().dialect.name == "sqlite":
        found = RankedValue.__table__.alias("best")
        condition = tuple_(*(found.c[column.key] for column in columns)) == first.scalar_subquery()
    else:
        found, condition = first.lateral("best"), true()
    shown = [found.c[name] for name in ("team_id", "undefined", "ranking_key", "submission_id")]
    return select(*shown, Team.name).select_from(Team).join(found, condition).where(wanted), found


def _is_near(board: BoardScores, best: FromClause, other: type[RankedValue]) -> ColumnElement[bool]:
    """Whether another entry of the team has a worse value that may equal the best one once both are rounded.

    With tie-breakers, also one that has the same value: without them the best one is the earliest of those.
    """
    key, size = best.c.ranking_key, func.abs(best.c.ranking_key)
    own = and_(other.provenance == board.key, other.team_id == best.c.team_id, other.undefined == best.c.undefined)
    rival = and_(other.ranking_key >= key, other.submission_id != best.c.submission_id)
    if not board.tie_breakers:
        rival = other.ranking_key > key
    if board.digits is None:
        return and_(own, rival, other.ranking_key <= key)
    # PostgreSQL refuses a result beyond binary64. A bound that is too wide only has more values compared.
    bound = case(
        (size > 3e307, sys.float_info.max),
        (size < 1e-290, key + 4e-290),
        else_=key + size * near_tie_width(board.digits),
    )
    return and_(own, rival, other.ranking_key <= bound)


def _best_choices(
    session: ReadSession, board: BoardScores, groups: Mapping[_Group, Sequence[_Choice]], split: str
) -> dict[_Group, _Choice]:
    """Of each group, the choice with the best values on a split as participants see them; of equal ones the earliest.

    Tie-breakers are read only of choices whose primary values are equal.
    """
    best: dict[_Group, list[_Choice]] = {}
    for group, choices in groups.items():
        rounded = [rounded_key(choice.key, board.digits) for choice in choices]
        least = min(rounded)
        best[group] = [choice for choice, key in zip(choices, rounded, strict=True) if key == least]
    keys: dict[str, tuple[ValueKey, ...]] = {}
    if board.tie_breakers:
        tied = [choice.submission for choices in best.values() if len(choices) > 1 for choice in choices]
        found = _ranking_keys(session, board, tied, board.tie_breakers, split)
        keys = {one: tuple(rounded_key(key, board.digits) for key in of_one) for one, of_one in found.items()}

    def order(choice: _Choice) -> tuple[tuple[ValueKey, ...], str]:
        return keys.get(choice.submission, ()), choice.submission

    return {group: min(choices, key=order) for group, choices in best.items()}


def _best_selected(
    session: ReadSession, board: BoardScores, which: ColumnElement[bool] | None = None
) -> dict[str, _Choice]:
    """The entry of each team that has selected any: the best of those, or of those that fulfil a condition.

    If more are selected than the recipe allows now, because it was changed or an entry was reinstated, the first count.
    """
    competing = and_(Submission.baseline.is_(False), Submission.unofficial.is_(False)) if which is None else which
    selected = and_(Submission.selected_at.is_not(None), competing)
    choices: dict[str, list[_Choice]] = {}
    for choice, team in _scored(session, board, selected, board.selected_by):
        choices.setdefault(team, []).append(choice)
    allowed = {team: of_team[: board.selection_max] for team, of_team in choices.items()}
    return _best_choices(session, board, allowed, board.selected_by)


def _baselines(session: ReadSession, board: BoardScores) -> list[_Entrant]:
    """All baselines; one that was withdrawn leaves the board, because nobody competed with it."""
    rows = _scored_and_marked(session, board, and_(Submission.baseline, _ON_BOARD))
    return [_Entrant(choice, team, baseline=True, mark=mark) for choice, team, mark in rows]


def _scored(
    session: ReadSession, board: BoardScores, which: ColumnElement[bool], split: str
) -> list[tuple[_Choice, str]]:
    """Submissions of the board that fulfil a condition, with their teams and their values on a split."""
    rows = _scored_and_marked(session, board, and_(which, _ON_BOARD), split)
    return [(choice, team) for choice, team, _ in rows]


def _scored_and_marked(
    session: ReadSession, board: BoardScores, which: ColumnElement[bool], split: str | None = None
) -> list[tuple[_Choice, str, Mark | None]]:
    """Scored submissions that fulfil a condition, with teams, marks and values on a split, by default `chosen_by`.

    Each occurs once, as equivalent recipes agree; what was selected first comes first.
    """
    value = RankedValue
    query = (
        select(Submission.id, Submission.team_id, value.undefined, value.ranking_key, Team.name, SUBMISSION_MARK)
        .join(Team, Team.id == Submission.team_id)
        .join(Score, board.score_of(Submission.id, split or board.chosen_by))
        .join(value, and_(value.score_id == Score.id, value.metric == board.primary))
        .where(Submission.phase_id == board.phase_id, which)
        .order_by(Submission.selected_at, Submission.id)
    )
    rows: Iterable[Any] = session.execute(query)
    found = {row[0]: (_Choice((row[2], row[3]), row[0], row[4]), row[1], row[5]) for row in rows}
    return list(found.values())


def _latest(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The latest scored submission of each team."""
    own = and_(
        *(Submission.phase_id == board.phase_id, Submission.team_id == Team.id, Submission.baseline.is_(False)),
        Submission.unofficial.is_(board.unofficial),
    )
    scored = exists().where(board.score_of(Submission.id, board.chosen_by))
    newest = select(Submission.id).where(own, _ON_BOARD, scored).order_by(Submission.id.desc()).limit(1)
    last = newest.correlate(Team).scalar_subquery()
    teams = select(Team.id, Team.name, last.label("submission")).where(_has_entries(board)).subquery()
    value = RankedValue
    query = (
        select(teams.c.id, teams.c.submission, value.undefined, value.ranking_key, teams.c.name)
        .join(Score, board.score_of(teams.c.submission, board.chosen_by))
        .join(value, and_(value.score_id == Score.id, value.metric == board.primary))
    )
    rows = session.execute(query)
    return {team: _Choice((undefined, key), one, name) for team, one, undefined, key, name in rows}


def _has_entries(board: BoardScores) -> ColumnElement[bool]:
    """Whether a team may have entries: any team of the challenge, but few have unofficial ones, and those are counted."""
    if not board.unofficial:
        return Team.challenge_id == board.challenge_id
    return Team.id.in_(select(EntryCount.team_id).where(EntryCount.provenance == board.key, EntryCount.entries > 0))


def _ranking_keys(
    session: ReadSession, board: BoardScores, submissions: Sequence[str], metrics: Sequence[str], split: str
) -> dict[str, tuple[ValueKey, ...]]:
    """The ranking keys of these submissions on a split; a metric without a value is undefined."""
    value = RankedValue
    of_score = and_(value.score_id == Score.id, value.metric.in_(metrics))
    query = (
        select(Score.submission_id, value.metric, value.undefined, value.ranking_key)
        .outerjoin(value, of_score)
        .where(board.provenance.score_condition(), Score.split == split)
    )
    found: dict[str, dict[str, ValueKey]] = {}
    for some in _batches(submissions):
        for submission, metric, undefined, key in session.execute(query.where(Score.submission_id.in_(some))):
            found.setdefault(submission, {})[metric] = (undefined, key)
    return {one: tuple(keys.get(metric, UNDEFINED) for metric in metrics) for one, keys in found.items()}


def _off_board_ids(board: BoardScores) -> Select[str]:
    return select(Submission.id).where(Submission.phase_id == board.phase_id, IS_OFF_BOARD)


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _MAX_IN_STATEMENT] for start in range(0, len(ids), _MAX_IN_STATEMENT)]
