"""Which entry of each team counts on a leaderboard, found by the index of ranked values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Select,
    and_,
    case,
    exists,
    func,
    literal,
    not_,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import aliased

from app.scoring.standings import UNDEFINED, ValueKey, near_tie_width, rounded_key
from app.store.queries.board_marks import IS_OFF_BOARD, SUBMISSION_MARK, Mark
from app.store.queries.id_lists import is_among
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


IS_SHOWN = and_(Submission.status == "finished", Submission.test.is_(False))
ON_BOARD = and_(IS_SHOWN, Submission.withdrawn_at.is_(None), Submission.disqualified_at.is_(None))


class Choice(NamedTuple):
    """A submission with the ranking key of its primary value on the split that teams choose by."""

    key: ValueKey
    submission: str
    team_name: str


_Group = TypeVar("_Group")  # whose choices are compared: a team, or a team with a mark


def chosen_entries(session: ReadSession, board: BoardScores, teams: Sequence[str] | None = None) -> dict[str, Choice]:
    """The entry of each of these teams, or of each team, by the rule of selection; no unofficial one is ever selected."""
    chosen = _latest(session, board, teams) if board.selection == "latest" else _best(session, board, teams)
    if board.selection == "selected" and not board.unofficial:
        chosen |= _best_selected(session, board, teams)
    return chosen


class LeadingTeams(NamedTuple):
    """Teams of which each has an entry with a key up to `bound`, and how many teams have any.

    Every entry of any other team has a larger key. Infinity stands for the key of undefined values.
    """

    ids: list[str]
    bound: float
    all_teams: int


def leading_teams(session: ReadSession, board: BoardScores, rows: int, without: Sequence[str]) -> LeadingTeams:
    """The teams whose best entries are among so many first ones, or may equal those; none of those that are excluded.

    The database compares the keys, so that only these teams need objects.
    """
    entry = RankedValue
    key = case((entry.undefined, literal(math.inf, Double)), else_=entry.ranking_key)
    wanted = _may_have_entries(session, board, None)
    if without:
        wanted = and_(wanted, not_(is_among(session, Team.id, without)))
    keys = select(Team.id, _first_of_team(board, key).scalar_subquery().label("key")).where(wanted).cte("keys")
    in_order = select(keys.c.key).where(keys.c.key.is_not(None)).order_by(keys.c.key)
    last = in_order.offset(rows - 1).limit(1).subquery()
    bound = select(_largest_equal(last.c.key, board.digits)).scalar_subquery()
    limits = select(
        func.coalesce(bound, literal(math.inf, Double)).label("bound"),
        select(func.count(keys.c.key)).scalar_subquery().label("teams"),
    ).cte("limits")
    query = select(keys.c.id, limits.c.bound, limits.c.teams).join(limits, keys.c.key <= limits.c.bound)
    found = session.connection().execute(query).all()
    return LeadingTeams([row[0] for row in found], *(found[0][1:] if found else (math.inf, 0)))


def representatives(
    session: ReadSession, board: BoardScores, groups: Mapping[_Group, Sequence[Choice]]
) -> dict[_Group, Choice]:
    """The latest or the best of each group, as the rule of selection says."""
    if board.selection == "latest":
        return {group: max(choices, key=lambda choice: choice.submission) for group, choices in groups.items()}
    return _best_choices(session, board, groups, board.chosen_by)


def _best(session: ReadSession, board: BoardScores, teams: Sequence[str] | None) -> dict[str, Choice]:
    """The entry of each team with the best primary value: the first in its part of the index.

    If another value of a team may be equal, or a worse one once both are rounded, all such values are read and compared.
    """
    query, found = _first_entries(session, board, teams)
    if board.digits is None and not board.tie_breakers:
        return {row[0]: Choice((row[1], row[2]), *row[3:]) for row in session.connection().execute(query).all()}
    near = aliased(RankedValue)
    next_key = select(near.ranking_key).where(_is_near(board, found, near)).order_by(near.ranking_key)
    with_next = query.add_columns(next_key.limit(1).correlate(found).scalar_subquery())
    chosen: dict[str, Choice] = {}
    tied: list[str] = []
    for team, undefined, key, submission, name, following in session.connection().execute(with_next).all():
        chosen[team] = Choice((undefined, key), submission, name)
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
            candidates[team].append(Choice((best.key[0], key), submission, best.team_name))
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
    columns = (entry.provenance, entry.team_id, entry.undefined, entry.ranking_key, entry.submission_id)
    first = _first_of_team(board, *columns)
    found: FromClause
    if session.get_bind().dialect.name == "sqlite":
        found = RankedValue.__table__.alias("best")
        condition = tuple_(*(found.c[column.key] for column in columns)) == first.scalar_subquery()
    else:
        found, condition = first.lateral("best"), true()
    shown = [found.c[name] for name in ("team_id", "undefined", "ranking_key", "submission_id")]
    query = select(*shown, Team.name).select_from(Team).join(found, condition)
    return query.where(_may_have_entries(session, board, teams)), found


def _first_of_team(board: BoardScores, *columns: Any) -> Select[Any]:
    """Columns of the best entry of a team of the query around it."""
    entry = RankedValue
    return (
        select(*columns)
        .where(
            entry.provenance == board.key,
            entry.team_id == Team.id,
            entry.submission_id.not_in(_off_board_ids(board)),
        )
        .order_by(entry.undefined, entry.ranking_key, entry.submission_id)
        .limit(1)
        .correlate(Team)
    )


def _is_near(board: BoardScores, best: FromClause, other: type[RankedValue]) -> ColumnElement[bool]:
    """Whether another entry of the team has a worse value that may equal the best one once both are rounded.

    With tie-breakers, also one that has the same value: without them the best one is the earliest of those.
    """
    key = best.c.ranking_key
    own = and_(other.provenance == board.key, other.team_id == best.c.team_id, other.undefined == best.c.undefined)
    rival = and_(other.ranking_key >= key, other.submission_id != best.c.submission_id)
    if not board.tie_breakers:
        rival = other.ranking_key > key
    return and_(own, rival, other.ranking_key <= _largest_equal(key, board.digits))


def _largest_equal(key: ColumnElement[Any], digits: int | None) -> ColumnElement[Any]:
    """The largest key that may equal this one once both are rounded; infinity is that of an undefined value.

    PostgreSQL refuses a result beyond binary64. A bound that is too wide only has more values compared.
    """
    size = func.abs(key)
    if digits is None:
        return key
    return case(
        (size > 3e307, literal(math.inf, Double)),
        (size < 1e-290, key + 4e-290),
        else_=key + size * near_tie_width(digits),
    )


def _best_choices(
    session: ReadSession, board: BoardScores, groups: Mapping[_Group, Sequence[Choice]], split: str
) -> dict[_Group, Choice]:
    """Of each group, the choice with the best values on a split as participants see them; of equal ones the earliest.

    Tie-breakers are read only of choices whose primary values are equal.
    """
    best: dict[_Group, list[Choice]] = {}
    for group, choices in groups.items():
        rounded = [rounded_key(choice.key, board.digits) for choice in choices]
        least = min(rounded)
        best[group] = [choice for choice, key in zip(choices, rounded, strict=True) if key == least]
    keys: dict[str, tuple[ValueKey, ...]] = {}
    if board.tie_breakers:
        tied = [choice.submission for choices in best.values() if len(choices) > 1 for choice in choices]
        found = ranking_keys(session, board, tied, board.tie_breakers, split)
        keys = {one: tuple(rounded_key(key, board.digits) for key in of_one) for one, of_one in found.items()}

    def order(choice: Choice) -> tuple[tuple[ValueKey, ...], str]:
        return keys.get(choice.submission, ()), choice.submission

    return {group: min(choices, key=order) for group, choices in best.items()}


def _best_selected(session: ReadSession, board: BoardScores, teams: Sequence[str] | None) -> dict[str, Choice]:
    """The entry of each team that has selected any: the best of those.

    If more are selected than the recipe allows now, because it was changed or an entry was reinstated, the first count.
    """
    selected = and_(
        Submission.selected_at.is_not(None), Submission.baseline.is_(False), Submission.unofficial.is_(False)
    )
    if teams is not None:
        selected = and_(selected, is_among(session, Submission.team_id, teams))
    choices: dict[str, list[Choice]] = {}
    for choice, team in _scored(session, board, selected, board.selected_by):
        choices.setdefault(team, []).append(choice)
    allowed = {team: of_team[: board.selection_max] for team, of_team in choices.items()}
    return _best_choices(session, board, allowed, board.selected_by)


def _scored(
    session: ReadSession, board: BoardScores, which: ColumnElement[bool], split: str
) -> list[tuple[Choice, str]]:
    """Submissions of the board that fulfil a condition, with their teams and their values on a split."""
    rows = scored_and_marked(session, board, and_(which, ON_BOARD), split)
    return [(choice, team) for choice, team, _ in rows]


def scored_and_marked(
    session: ReadSession, board: BoardScores, which: ColumnElement[bool], split: str | None = None
) -> list[tuple[Choice, str, Mark | None]]:
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
    found = {row[0]: (Choice((row[2], row[3]), row[0], row[4]), row[1], row[5]) for row in rows}
    return list(found.values())


def _latest(session: ReadSession, board: BoardScores, teams: Sequence[str] | None) -> dict[str, Choice]:
    """The latest scored submission of each team."""
    own = and_(
        *(Submission.phase_id == board.phase_id, Submission.team_id == Team.id, Submission.baseline.is_(False)),
        Submission.unofficial.is_(board.unofficial),
    )
    scored = exists().where(board.score_of(Submission.id, board.chosen_by))
    newest = select(Submission.id).where(own, ON_BOARD, scored).order_by(Submission.id.desc()).limit(1)
    last = newest.correlate(Team).scalar_subquery()
    wanted = _may_have_entries(session, board, teams)
    found = select(Team.id, Team.name, last.label("submission")).where(wanted).subquery()
    value = RankedValue
    query = (
        select(found.c.id, found.c.submission, value.undefined, value.ranking_key, found.c.name)
        .join(Score, board.score_of(found.c.submission, board.chosen_by))
        .join(value, and_(value.score_id == Score.id, value.metric == board.primary))
    )
    rows = session.execute(query)
    return {team: Choice((undefined, key), one, name) for team, one, undefined, key, name in rows}


def _may_have_entries(session: ReadSession, board: BoardScores, teams: Sequence[str] | None) -> ColumnElement[bool]:
    """Whether a team is one of these, or one that may have entries.

    That is any team of the challenge, but few have unofficial ones, and those are counted.
    """
    if teams is not None:
        return is_among(session, Team.id, teams)
    if not board.unofficial:
        return Team.challenge_id == board.challenge_id
    return Team.id.in_(select(EntryCount.team_id).where(EntryCount.provenance == board.key, EntryCount.entries > 0))


def ranking_keys(
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
