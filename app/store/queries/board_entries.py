"""Queries of a leaderboard: the entry of each team from the index of ranked values, then the rows that are shown."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.scoring.standings import UNDEFINED, BoardEntry, ValueKey, near_tie_width, rounded_key
from app.store.queries.ranked_values import provenance_key
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import EntryCount, RankedValue, Score, Submission, Team

_MAX_IN_STATEMENT = 500
MetricValues = Mapping[str, Mapping[str, Any]]  # of one score, by the canonical string of the metric


@dataclass(frozen=True, slots=True)
class BoardScores:
    """The scores that a board is computed from, and how it is ranked.

    A team's entry is chosen by the `primary` metric on the split `chosen_by`, where digits beyond `digits` do not
    count; `ranked_by` are the metrics that rank the entries on the split `shown`.
    """

    challenge_id: str
    phase_id: str
    provenance: ScoreProvenance
    fingerprint: str
    primary: str
    ranked_by: tuple[str, ...]
    chosen_by: str
    shown: str
    selection: str
    digits: int | None

    @property
    def key(self) -> str:
        """The provenance key of the entries that teams choose from."""
        origin = self.provenance
        return provenance_key(origin.gold_id, self.fingerprint, origin.scorer_version, self.chosen_by, self.primary)

    def score_of(self, submission: Any, split: str) -> ColumnElement[bool]:
        """Whether a score is that of this submission on this split."""
        return and_(Score.submission_id == submission, self.provenance.score_condition(), Score.split == split)


class BoardRow(NamedTuple):
    """What a board shows of an entry besides its rank and team."""

    method: str
    submitted_at: datetime
    metrics: MetricValues


_OFF_BOARD = or_(Submission.withdrawn_at.is_not(None), Submission.disqualified_at.is_not(None))
_ON_BOARD = and_(
    Submission.status == "finished", Submission.withdrawn_at.is_(None), Submission.disqualified_at.is_(None)
)


def newest_submission_time(session: ReadSession, phase_id: str) -> datetime | None:
    """The time of the newest finished submission that was neither withdrawn nor disqualified."""
    query = select(Submission.submitted_at).where(Submission.phase_id == phase_id, _ON_BOARD)
    return session.scalar(query.order_by(Submission.submitted_at.desc()).limit(1))


class _Choice(NamedTuple):
    """A submission with the ranking key of its primary value on the split that teams choose by."""

    key: ValueKey
    submission: str
    team_name: str


def entries(session: ReadSession, board: BoardScores) -> tuple[list[BoardEntry], dict[str, str]]:
    """The entry of each team, and all baselines, in no order; and the names of these teams by id.

    The teams are read here anyway, so the query of the rows need not search each of them once more.
    """
    chosen = _latest(session, board) if board.selection == "latest" else _best(session, board)
    if board.selection == "selected":
        chosen |= _best_selected(session, board)
    baselines = _baselines(session, board)
    entrants = [(choice, team, False) for team, choice in chosen.items()]
    entrants += [(choice, team, True) for choice, team in baselines]
    names = {team: choice.team_name for choice, team, _ in entrants}
    if board.ranked_by == (board.primary,) and board.chosen_by == board.shown:
        ranked = [BoardEntry(choice.submission, team, baseline, (choice.key,)) for choice, team, baseline in entrants]
        return ranked, names
    keys = _shown_keys(session, board, [choice.submission for choice, _, _ in entrants])
    ranked = [
        BoardEntry(choice.submission, team, baseline, keys[choice.submission])
        for choice, team, baseline in entrants
        if choice.submission in keys
    ]
    return ranked, names


def count_entries(session: ReadSession, board: BoardScores) -> dict[str, int]:
    """How many scored submissions each team has, apart from baselines.

    The counts are kept; the few that are withdrawn or disqualified are looked up and subtracted.
    """
    kept = select(EntryCount.team_id, EntryCount.entries).where(EntryCount.provenance == board.key)
    gone = (
        select(RankedValue.team_id, func.count())
        .select_from(Submission)
        .join(Score, board.score_of(Submission.id, board.chosen_by))
        .join(RankedValue, and_(RankedValue.score_id == Score.id, RankedValue.metric == board.primary))
        .where(Submission.phase_id == board.phase_id, _OFF_BOARD, RankedValue.provenance == board.key)
        .group_by(RankedValue.team_id)
    )
    counts = {team: entries for team, entries in session.execute(kept)}  # noqa: C416 - a row is no pair to the checker
    for team, count in session.execute(gone):
        counts[str(team)] = counts.get(str(team), 0) - count
    return counts


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
    columns = (Submission.id, Submission.method, Submission.submitted_at)
    query = select(*columns).where(_among(session, Submission.id, submissions))
    rows = session.connection().execute(query).all()
    return {one: BoardRow(method, submitted_at, metrics[one]) for one, method, submitted_at in rows}


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
    wanted = Team.challenge_id == board.challenge_id if teams is None else Team.id.in_(teams)
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
    """The entry of each team that has selected any: the best of those."""
    selected = and_(Submission.selected_at.is_not(None), Submission.baseline.is_(False))
    choices: dict[str, list[_Choice]] = {}
    for choice, team in _scored(session, board, selected):
        choices.setdefault(team, []).append(choice)
    return {team: _best_choice(of_team, board.digits) for team, of_team in choices.items()}


def _baselines(session: ReadSession, board: BoardScores) -> list[tuple[_Choice, str]]:
    """All baselines, with their teams."""
    return _scored(session, board, and_(Submission.baseline))


def _scored(session: ReadSession, board: BoardScores, which: ColumnElement[bool]) -> list[tuple[_Choice, str]]:
    """Submissions of the board that fulfil a condition, with their teams; each once, as equivalent recipes agree."""
    value = RankedValue
    query = (
        select(Submission.id, Submission.team_id, value.undefined, value.ranking_key, Team.name)
        .join(Team, Team.id == Submission.team_id)
        .join(Score, board.score_of(Submission.id, board.chosen_by))
        .join(value, and_(value.score_id == Score.id, value.metric == board.primary))
        .where(Submission.phase_id == board.phase_id, which, _ON_BOARD)
    )
    rows = session.execute(query)
    found = {one: (_Choice((undefined, key), one, name), team) for one, team, undefined, key, name in rows}
    return list(found.values())


def _latest(session: ReadSession, board: BoardScores) -> dict[str, _Choice]:
    """The latest scored submission of each team."""
    own = and_(Submission.phase_id == board.phase_id, Submission.team_id == Team.id, Submission.baseline.is_(False))
    scored = exists().where(board.score_of(Submission.id, board.chosen_by))
    newest = select(Submission.id).where(own, _ON_BOARD, scored).order_by(Submission.id.desc()).limit(1)
    last = newest.correlate(Team).scalar_subquery()
    teams = (
        select(Team.id, Team.name, last.label("submission")).where(Team.challenge_id == board.challenge_id).subquery()
    )
    value = RankedValue
    query = (
        select(teams.c.id, teams.c.submission, value.undefined, value.ranking_key, teams.c.name)
        .join(Score, board.score_of(teams.c.submission, board.chosen_by))
        .join(value, and_(value.score_id == Score.id, value.metric == board.primary))
    )
    rows = session.execute(query)
    return {team: _Choice((undefined, key), one, name) for team, one, undefined, key, name in rows}


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
    return select(Submission.id).where(Submission.phase_id == board.phase_id, _OFF_BOARD)


def _batches(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + _MAX_IN_STATEMENT] for start in range(0, len(ids), _MAX_IN_STATEMENT)]
