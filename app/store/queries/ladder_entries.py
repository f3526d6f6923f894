"""The query of what a Ladder is folded over: the submissions of teams in the order of acceptance, with their values."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import and_, exists, func, select

from app.scoring.standings import ValueKey
from app.store.queries.board_marks import SUBMISSION_MARK, Mark
from app.store.queries.id_lists import is_among
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import RankedValue, Score, ScoreTask, Submission, Team

_ACCEPTED = ("queued", "running", "finished")
_AWAITED = ("queued", "running")


class LadderEntry(NamedTuple):
    """A submission on a Ladder. `key` is the ranking key of its value, None if it has no score.

    `sender` is the team that sent it, whose Ladder it is on even if that team was merged into another since.
    """

    submission: str
    team: str
    team_name: str
    sender: str
    baseline: bool
    mark: Mark | None
    is_awaited: bool
    key: ValueKey | None


def entries_in_order(
    session: ReadSession,
    phase_id: str,
    provenance: ScoreProvenance,
    *,
    split: str,
    metric: str,
    teams: Collection[str] | None = None,
) -> list[LadderEntry]:
    """The submissions of a phase, or of these teams, in the order of acceptance, apart from test entries.

    Those that were rejected or cancelled, or that failed, have no value and are left out. One that is scored for these
    versions for the first time is awaited, too.
    """
    value = RankedValue
    of_submission = and_(Score.submission_id == Submission.id, provenance.score_condition(), Score.split == split)
    rescored = exists().where(
        ScoreTask.submission_id == Submission.id, provenance.task_condition(), ScoreTask.status.in_(_AWAITED)
    )
    query = (
        select(
            Submission.id,
            Submission.team_id,
            Team.name,
            func.coalesce(Submission.sent_team_id, Submission.team_id),
            Submission.baseline,
            SUBMISSION_MARK,
            Submission.status.in_(_AWAITED) | (Score.id.is_(None) & rescored),
            value.undefined,
            value.ranking_key,
        )
        .join(Team, Team.id == Submission.team_id)
        .outerjoin(Score, of_submission)
        .outerjoin(value, and_(value.score_id == Score.id, value.metric == metric))
        .where(Submission.phase_id == phase_id, Submission.status.in_(_ACCEPTED), Submission.test.is_(False))
        .order_by(Submission.id)
    )
    if teams is not None:
        query = query.where(is_among(session, Submission.team_id, list(teams)))
    found: dict[str, LadderEntry] = {}  # equivalent recipes agree, so one score of each submission is enough
    rows: Any = session.connection().execute(query)
    for row in rows:
        key = None if row[7] is None else (bool(row[7]), float(row[8]))
        found.setdefault(row[0], LadderEntry(row[0], row[1], row[2], row[3], bool(row[4]), row[5], bool(row[6]), key))
    return list(found.values())
