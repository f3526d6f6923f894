"""Queries of a leaderboard: the entry of each team from the index of ranked values, then the rows that are shown."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    any_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.scoring.standings import UNDEFINED, BoardEntry, ValueKey, near_tie_width, rounded_key
from app.store.queries.board_marks import IS_OFF_BOARD, SUBMISSION_MARK, Mark, marked_teams
from app.store.queries.ranked_values import provenance_key
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import EntryCount, RankedValue, Score, Submission, Team

_MAX_IN_STATEMENT = 500
MetricValues = Mapping[str, Mapping[str, Any]]  # of one score, by the canonical string of the metric


@dataclass(frozen=True, slots=True)
class BoardScores:
    """The scores that a board is computed from, and how it is ranked.

    A team's entry is chosen by the `primary` metric on the split `chosen_by`, of those that the team selected on
    `selected_by`, where digits beyond `digits` do not count; `ranked_by` are the metrics that rank the entries on the
    split `shown`.
    """

    challenge_id: str
    phase_id: str
    provenance: ScoreProvenance
    fingerprint: str
    primary: str
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


class BoardRow(NamedTuple):
    """What a board shows of an entry besides its rank and team."""

    method: str
    submitted_at: datetime
    on_behalf: bool
    metrics: MetricValues


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
        keys = _shown_keys(session, board, [each.choice.submission for each in entrants])
    ranked = [
        BoardEntry(choice.submission, team, baseline, keys[choice.submission], mark)
        for choice, team, baseline, mark in entrants
        if choice.submission in keys
    ]
    return ranked, names


def count_entries(session: ReadSession, board: BoardScores) -> dict[str, int]:
    """How many scored submissions each team has, apart from baselines and test entries.

    An attempt remains one when it is withdrawn, disqualified or unofficial.
    """
    keys = (board.key, replace(board, unofficial=True).key)
    query = select(EntryCount.team_id, func.sum(EntryCount.entries)).where(EntryCount.provenance.in_(keys))
    return {team: int(count) for team, count in session.execute(query.group_by(EntryCount.team_id))}


def load_rows(session: ReadSession, board: BoardScores, submissions: Sequence[str]) -> dict[str, BoardRow]:
    """What the board shows of these submissions, by id; the only query that reads the JSON of scores.

    Two queries by id: a join might scan all scores while PostgreSQL has no statistics. The JSON is read as text, which
    both databases store as written, because the decoder of the column takes several times as long.
    """
    scores = select(Score.submission_id, cast(Score.metrics, Text)).where(
        _among(session, Score.submission_id, submissions),
        board.provenance.score_condition(),
        Score.split == board.shown,
    )
    metrics = {submission: from_json(text) for submission, text in session.connection().execute(scores).all()}
    columns = (Submission.id, Submission.method, Submission.submitted_at, Submission.on_behalf)
    query = select(*columns).where(_among(session, Submission.id, submissions))
    rows: Sequence[Any] = session.connection().execute(query).all()
    return {row[0]: BoardRow(row[1], row[2], row[3], metrics[row[0]]) for row in rows}


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
    rows = [_Entrant(choice, team) for team, choice in official.items()]
    return rows + [
        _Entrant(_representative(choices, board), team, mark=mark)
        for team, by_mark in marked.items()
        for mark, choices in by_mark.items()
    ]


def _chosen(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The entry of each team by the rule of selection; no unofficial one is ever selected."""
    chosen = _latest(session, board) if board.selection == "latest" else _best(session, board)
    if board.selection == "selected" and not board.unofficial:
        chosen |= _best_selected(session, board)
    return chosen


def _representative(choices: Sequence[_Choice], board: BoardScores) -> _Choice:
    """The latest or the best of these, as the rule of selection says."""
    if board.selection == "latest":
        return max(choices, key=lambda choice: choice.submission)
    return _best_choice(choices, board.digits)


def _best(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The entry of each team with the best primary value: the first in its part of the index.

    If a worse value of a team may be equal once both are rounded, all such values are read and compared.
    """
    query, found = _first_entries(session, board)
    if board.digits is None:
        return {row[0]: _Choice((row[1], row[2]), *row[3:]) for row in session.connection().execute(query).all()}
    near = aliased(RankedValue)
    next_key = select(near.ranking_key).where(_is_near(board, found, near, board.digits)).order_by(near.ranking_key)
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
        rivals = query.join(near, _is_near(board, found, near, board.digits)).with_only_columns(
            found.c.team_id, near.ranking_key, near.submission_id
        )
        shown = rivals.where(near.submission_id.not_in(_off_board_ids(board)))
        for team, key, submission in session.connection().execute(shown):
            candidates[team].append(_Choice((False, key), submission, chosen[team].team_name))
        chosen |= {team: _best_choice(choices, board.digits) for team, choices in candidates.items()}
    return chosen


def _is_tied(key: float, other: float, digits: int) -> bool:
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


def _is_near(board: BoardScores, best: FromClause, other: type[RankedValue], digits: int) -> ColumnElement[bool]:
    """Whether another entry of the team has a worse value that may equal the best one once both are rounded."""
    key, size = best.c.ranking_key, func.abs(best.c.ranking_key)
    # PostgreSQL refuses a result beyond binary64. A bound that is too wide only has more values compared.
    bound = case(
        (size > 3e307, sys.float_info.max), (size < 1e-290, key + 4e-290), else_=key + size * near_tie_width(digits)
    )
    own = and_(other.provenance == board.key, other.team_id == best.c.team_id, other.undefined == false())
    return and_(own, other.ranking_key > best.c.ranking_key, other.ranking_key <= bound)


def _best_choice(choices: Sequence[_Choice], digits: int | None) -> _Choice:
    """The choice with the best value as participants see it; among equals, the earliest submission."""
    if len(choices) == 1:
        return choices[0]
    return min(choices, key=lambda choice: (rounded_key(choice.key, digits), choice.submission))


def _best_selected(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The entry of each team that has selected any: the best of those.

    If more are selected than the recipe allows now, because it was changed or an entry was reinstated, the first count.
    """
    selected = and_(
        Submission.selected_at.is_not(None), Submission.baseline.is_(False), Submission.unofficial.is_(False)
    )
    choices: dict[str, list[_Choice]] = {}
    for choice, team in _scored(session, board, selected, board.selected_by):
        choices.setdefault(team, []).append(choice)
    most = board.selection_max
    return {team: _best_choice(of_team[:most], board.digits) for team, of_team in choices.items()}


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


def _shown_keys(
    session: ReadSession, board: BoardScores, submissions: Sequence[str]
) -> dict[str, tuple[ValueKey, ...]]:
    """The ranking keys of these submissions on the split that is shown; a metric without a value is undefined."""
    value = RankedValue
    of_score = and_(value.score_id == Score.id, value.metric.in_(board.ranked_by))
    query = (
        select(Score.submission_id, value.metric, value.undefined, value.ranking_key)
        .outerjoin(value, of_score)
        .where(board.provenance.score_condition(), Score.split == board.shown)
    )
    found: dict[str, dict[str, ValueKey]] = {}
    for some in _batches(submissions):
        for submission, metric, undefined, key in session.execute(query.where(Score.submission_id.in_(some))):
            found.setdefault(submission, {})[metric] = (undefined, key)
    return {one: tuple(keys.get(metric, UNDEFINED) for metric in board.ranked_by) for one, keys in found.items()}


def _among(session: ReadSession, column: InstrumentedAttribute[str], ids: Sequence[str]) -> ColumnElement[bool]:
    """Whether a column has one of these ids, as a single parameter: hundreds take longer to bind than to look up."""
    if session.get_bind().dialect.name == "sqlite":
        texts = func.json_each(to_json(ids).decode()).table_valued("value")
        return column.in_(select(texts.c.value))
    return column == any_(literal(list(ids), ARRAY(Text)))


def _off_board_ids(board: BoardScores) -> Select[str]:
    return select(Submission.id).where(Submission.phase_id == board.phase_id, IS_OFF_BOARD)


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _MAX_IN_STATEMENT] for start in range(0, len(ids), _MAX_IN_STATEMENT)]
