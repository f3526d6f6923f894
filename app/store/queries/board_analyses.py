"""Stored intervals and comparisons of boards, and the files that they are computed from."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, exists, or_, select, true
from sqlalchemy.orm import lazyload, undefer

from app.store.board_invalidation import ALL_BOARDS
from app.store.queries.id_lists import is_among
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import BoardAnalysis, GoldVersion, Phase, ScoreInterval, Submission, Team

_NO_SYNC = {"synchronize_session": False}


def phases_with_tags(session: ReadSession, tags: Collection[str]) -> list[Phase]:
    """The phases with finished submissions to which these tags of boards refer (app.store.board_invalidation)."""
    by_noun: dict[str, set[str]] = {"challenge": set(), "phase": set(), "scores": set()}
    for tag in tags:
        noun, _, rest = tag.partition(" ")
        if noun in by_noun:
            by_noun[noun].add(rest.partition(" ")[0])
    of_gold = exists().where(GoldVersion.phase_id == Phase.id, GoldVersion.id.in_(by_noun["scores"]))
    named = or_(Phase.challenge_id.in_(by_noun["challenge"]), Phase.id.in_(by_noun["phase"]), of_gold)
    scored = exists().where(Submission.phase_id == Phase.id, Submission.status == "finished")
    query = select(Phase).where(scored, true() if ALL_BOARDS in tags else named)
    return list(session.scalars(query.order_by(Phase.id)))


def files_of(session: ReadSession, submissions: Sequence[str]) -> dict[str, Submission]:
    """These submissions by id, for the keys and kinds of their files."""
    query = select(Submission).where(is_among(session, Submission.id, submissions)).options(lazyload(Submission.team))
    return {row.id: row for row in session.scalars(query)}


def add_intervals(session: WriteSession, key: Mapping[str, Any], by_split: Mapping[str, Mapping[str, Any]]) -> None:
    """Store the intervals of a score on each split, unless they are stored already."""
    known = select(ScoreInterval.split).filter_by(**key)
    stored = set(session.scalars(known))
    session.add_all(
        ScoreInterval(split=split, intervals=dict(values), **key)
        for split, values in by_split.items()
        if split not in stored
    )
    session.flush()


def intervals_of(
    session: ReadSession, submissions: Sequence[str], provenance: ScoreProvenance
) -> dict[str, dict[str, dict[str, Any]]]:
    """The intervals of scores with this provenance, by submission and split."""
    query = select(ScoreInterval.submission_id, ScoreInterval.split, ScoreInterval.intervals).where(
        is_among(session, ScoreInterval.submission_id, submissions), provenance.interval_condition()
    )
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for submission_id, split, intervals in session.execute(query):
        found.setdefault(submission_id, {})[split] = intervals
    return found


def comparison(
    session: ReadSession, phase_id: str, kind: str, split: str, metric: str, *, result: bool = True
) -> BoardAnalysis | None:
    """The stored comparison of a board, with its result if wanted."""
    query = select(BoardAnalysis).filter_by(phase_id=phase_id, kind=kind, split=split, metric=metric)
    return session.scalar(query.options(undefer(BoardAnalysis.result)) if result else query)


def store_comparison(session: WriteSession, key: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Replace the comparison of a board."""
    forget_comparison(session, key)
    session.add(BoardAnalysis(**key, **values))
    session.flush()


def forget_comparison(session: WriteSession, key: Mapping[str, str]) -> None:
    """Delete the comparison of a board, if there is one."""
    session.execute(delete(BoardAnalysis).filter_by(**key), execution_options=_NO_SYNC)


def teams_of(session: ReadSession, submissions: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Id and name of the team of each of these submissions that are still there, by the id of the submission."""
    query = select(Submission.id, Team.id, Team.name).join(Team, Team.id == Submission.team_id)
    found = session.execute(query.where(is_among(session, Submission.id, submissions)))
    return {submission: (team, name) for submission, team, name in found}
