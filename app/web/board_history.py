"""The page of the ranks over time: a chart of the leading teams, and all changes of the board as a table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.responses import Response

from app.api.board_history import MAX_POINTS, HistoryPoint, RankHistory, read_history
from app.drawing.charts import MAX_SERIES
from app.drawing.rank_chart import RankLine, rank_chart
from app.errors import Forbidden, LeaderboardHidden, NoGold
from app.web.board_page import phase_choices, read_place, split_choices
from app.web.board_query import BoardQuery, BoardQueryDep
from app.web.page import PageContext, PageDep, page_router
from app.web.rendering import render

router = page_router()
BELOW = "/history"
KINDS = {
    "activation": "The first gold was activated",
    "close": "The phase closed",
    "switch": "Other versions came into force",
    "release": "The private scores were released",
    "submission": "Submission",
    "selection": "Selection",
    "withdrawal": "Withdrawal",
    "disqualification": "Disqualification",
    "reinstatement": "Reinstatement",
    "team_disqualification": "Disqualification of the team",
    "team_reinstatement": "Reinstatement of the team",
    "team_bar": "Bar of the team's members",
    "team_bar_lifted": "End of the bar",
}
MAX_MOVES = 12  # that a row of the table lists


class HistoryRow(NamedTuple):
    """A change in words."""

    point: HistoryPoint
    what: str
    moves: list[str]
    more: int
    board: str
    """The address of the board after it."""


@router.get("/challenges/{slug}/leaderboard/history")
def show_history(slug: str, page: PageDep, asked: BoardQueryDep) -> Response:
    """How the ranks changed; the newest changes, unless a cursor says where to begin."""
    with page.state.db.read() as session:
        place = read_place(page, session, slug, BoardQuery(asked.phase), read_since=None)
    here = BoardQuery(place.phase.slug, split=asked.split)
    history, refusal = None, None
    try:
        history = _read(page, slug, here, asked.cursor)
    except (Forbidden, NoGold, LeaderboardHidden) as fault:
        refusal = fault.detail
    points = [] if history is None else history.points
    board = None if history is None else {"split": history.split}
    return render(
        page,
        "history.html",
        frame=place.frame,
        tab="leaderboard",
        phase=place.phase,
        history=history,
        refusal=refusal,
        rows=[_row(slug, here, point) for point in reversed(points)],
        chart=None if history is None or not points else _chart(history),
        links={
            "board": here.address(slug),
            "phases": phase_choices(place, BELOW),
            "splits": split_choices(slug, here, board, BELOW, is_organizer=place.frame.role is not None),
            "earlier": _earlier(slug, here, history),
            "later": None if history is None or history.next is None else _at(slug, here, int(history.next)),
        },
    )


def _read(page: PageContext, slug: str, here: BoardQuery, cursor: str | None) -> RankHistory:
    where = (page.state, page.caller, slug, here.phase or "")
    return read_history(*where, split=here.split, limit=MAX_POINTS, cursor=cursor, last=cursor is None)


def _at(slug: str, here: BoardQuery, start: int) -> str:
    return here._replace(cursor=str(start) if start else None).address(slug, BELOW)


def _earlier(slug: str, here: BoardQuery, history: RankHistory | None) -> str | None:
    if history is None or history.start == 0:
        return None
    return here._replace(cursor=str(max(1, history.start - MAX_POINTS))).address(slug, BELOW)


def _row(slug: str, here: BoardQuery, point: HistoryPoint) -> HistoryRow:
    moves = [f"{change.team.name}: {change.rank or change.mark or 'no rank'}" for change in point.changes[:MAX_MOVES]]
    board = here._replace(as_of=point.at.isoformat().replace("+00:00", "Z")).address(slug)
    return HistoryRow(point, KINDS[point.kind], moves, max(0, len(point.changes) - MAX_MOVES), board)


def _chart(history: RankHistory) -> Markup | None:
    """The ranks of the teams that lead after the last change."""
    ranks: dict[str, list[tuple[datetime, int | None]]] = {}
    for point in history.points:
        for change in point.changes:
            known = ranks.setdefault(change.team.name, [])
            if not known or known[-1][1] != change.rank:
                known.append((point.at, change.rank))
    leading = sorted((known[-1][1], name) for name, known in ranks.items() if known[-1][1] is not None)
    lines = [RankLine(name, ranks[name]) for _, name in leading[:MAX_SERIES]]
    if not lines:
        return None
    begins, ends = history.points[0].at, _end(history.points, history.next)
    title = f"Ranks of the {len(lines)} leading teams" if len(lines) > 1 else f"Ranks of {lines[0].name}"
    return rank_chart(lines, begins, ends, title=title, description="The table below lists every change.")


def _end(points: Sequence[Any], following: str | None) -> datetime:
    last: datetime = points[-1].at
    return last if following is not None else max(last, datetime.now(UTC))
