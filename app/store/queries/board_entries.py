"""Queries of a leaderboard: what it shows, and what that is ranked by."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import and_, func, select

from app.scoring.standings import BoardEntry, ValueKey
from app.store.queries.board_marks import IS_OFF_BOARD, Mark, marked_teams
from app.store.queries.entry_choice import (
    IS_SHOWN,
    ON_BOARD,
    BoardScores,
    Choice,
    chosen_entries,
    leading_teams,
    ranking_keys,
    representatives,
    scored_and_marked,
)
from app.store.session import ReadSession
from app.store.tables import EntryCount, Submission


class _Entrant(NamedTuple):
    """A row of the board before it is ranked."""

    choice: Choice
    team: str
    baseline: bool = False
    mark: Mark | None = None


def newest_submission_time(session: ReadSession, phase_id: str) -> datetime | None:
    """The time of the newest finished submission, apart from test entries."""
    query = select(Submission.submitted_at).where(Submission.phase_id == phase_id, IS_SHOWN)
    return session.scalar(query.order_by(Submission.submitted_at.desc()).limit(1))


class BoardEntries(NamedTuple):
    """What a board shows, in no order; the names of these teams by id; and how many entries the whole board has."""

    entries: list[BoardEntry]
    names: dict[str, str]
    total: int


def entries(session: ReadSession, board: BoardScores, rows: int | None = None) -> BoardEntries:
    """The whole board: the entry of each team, the best entry of each team for every mark, and all baselines.

    With `rows`, those among which are so many first rows and all that tie with these: ranking them gives these rows
    their ranks on the whole board. The names are read here anyway, so the query of the rows need not search each team.
    """
    found = None if rows is None else _first_entries(session, board, rows)
    if found is not None:
        return found
    marks = marked_teams(session, board.challenge_id)
    entrants = [*_competing(session, board, marks), *_baselines(session, board)]
    return _with_keys(session, board, entrants)


def _first_entries(session: ReadSession, board: BoardScores, rows: int) -> BoardEntries | None:
    """The entries of the teams that may be among so many first rows; None if reading all entries costs no more."""
    if board.selection == "latest" or board.chosen_by != board.shown or board.ranked_by[0] != board.primary:
        return None  # The value that ranks the entry of a team may be any of its values.
    # A team may have selected an entry that is not its best, so teams that follow may be ranked before it.
    wanted = rows * 2 if board.selection == "selected" else rows
    if 2 * wanted > _count_teams(session, board):
        return None
    marks = marked_teams(session, board.challenge_id)
    leading = leading_teams(session, board, wanted, [*marks])
    if 2 * len(leading.ids) > leading.all_teams:
        return None
    entrants = [*_competing(session, board, marks, leading.ids), *_baselines(session, board)]
    found = _with_keys(session, board, entrants)
    if sum(_is_up_to(entry.keys[0], leading.bound) for entry in found.entries) < rows:
        return None
    return found._replace(total=found.total + leading.all_teams - len(leading.ids))


def _count_teams(session: ReadSession, board: BoardScores) -> int:
    """How many teams have entries, or had some that were taken out of the ranking."""
    counted = (EntryCount.provenance == board.key, EntryCount.entries > 0)
    return session.scalars(select(func.count()).select_from(EntryCount).where(*counted)).one()


def _is_up_to(key: ValueKey, bound: float) -> bool:
    undefined, number = key
    return (math.inf if undefined else number) <= bound


def _with_keys(session: ReadSession, board: BoardScores, entrants: Sequence[_Entrant]) -> BoardEntries:
    names = {team: choice.team_name for choice, team, _, _ in entrants}
    keys: Mapping[str, tuple[ValueKey, ...]]
    if board.ranked_by == (board.primary,) and board.chosen_by == board.shown:
        keys = {each.choice.submission: (each.choice.key,) for each in entrants}
    else:
        entered = [each.choice.submission for each in entrants]
        keys = ranking_keys(session, board, entered, board.ranked_by, board.shown)
    ranked = [
        BoardEntry(choice.submission, team, baseline, keys[choice.submission], mark)
        for choice, team, baseline, mark in entrants
        if choice.submission in keys
    ]
    return BoardEntries(ranked, names, len(ranked))


def count_entries(session: ReadSession, board: BoardScores, teams: Collection[str] | None = None) -> dict[str, int]:
    """How many scored submissions each of these teams has, or each team, apart from baselines and test entries.

    An attempt remains one when it is withdrawn, disqualified or unofficial.
    """
    keys = (board.key, replace(board, unofficial=True).key)
    query = select(EntryCount.team_id, func.sum(EntryCount.entries)).where(EntryCount.provenance.in_(keys))
    if teams is not None:
        query = query.where(EntryCount.team_id.in_(teams))
    return {team: int(count) for team, count in session.execute(query.group_by(EntryCount.team_id))}


def _competing(
    session: ReadSession, board: BoardScores, marks: Mapping[str, Mark], teams: Sequence[str] | None = None
) -> list[_Entrant]:
    """The entry of each team that is ranked, or of these ones, and the best one of each team for every mark.

    A team that is disqualified or barred has one row: the entry that would be ranked, else the best of all others.
    """
    official = chosen_entries(session, board, None if teams is None else [*teams, *marks])
    unofficial = chosen_entries(session, replace(board, unofficial=True))
    marked: dict[str, dict[Mark, list[Choice]]] = {
        team: {"unofficial": [choice]} for team, choice in unofficial.items()
    }
    for choice, team, mark in scored_and_marked(session, board, and_(IS_OFF_BOARD, ~Submission.baseline, IS_SHOWN)):
        assert mark is not None
        marked.setdefault(team, {}).setdefault(mark, []).append(choice)
    for team, mark in marks.items():
        own = official.pop(team, None)
        others = [choice for choices in marked.pop(team, {}).values() for choice in choices]
        if own is not None or others:
            marked[team] = {mark: others if own is None else [own]}
    groups = {(team, mark): choices for team, by_mark in marked.items() for mark, choices in by_mark.items()}
    rows = [_Entrant(choice, team) for team, choice in official.items()]
    return rows + [
        _Entrant(choice, team, mark=mark) for (team, mark), choice in representatives(session, board, groups).items()
    ]


def _baselines(session: ReadSession, board: BoardScores) -> list[_Entrant]:
    """All baselines; one that was withdrawn leaves the board, because nobody competed with it."""
    rows = scored_and_marked(session, board, and_(Submission.baseline, ON_BOARD))
    return [_Entrant(choice, team, baseline=True, mark=mark) for choice, team, mark in rows]
