"""Who leads a challenge and how many take part, from the boards that are kept in memory."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from app.actions.challenges.list_by_stage import ListedChallenge
from app.actions.submissions.read_leaderboard import BoardAudience
from app.api.caching.board_cache import ALL_TEAMS, BoardKey
from app.api.dependencies import AppState
from app.api.leaderboards import board_render
from app.errors import AssayError
from app.web.board_cells import SHOWN_DIGITS
from app.web.board_query import PAGE_ROWS

MAX_SUMMARIES = 1000
MAX_NAMES = 3


@dataclass(frozen=True, slots=True)
class BoardSummary:
    """What a board says in one line."""

    leaders: tuple[str, ...]
    """The names of the teams that share the first rank, at most MAX_NAMES."""
    tied: int
    """How many rows share the first rank."""
    value: str | None
    """The primary value that they share, with at most six significant digits."""
    metric: str
    teams: int | None
    """How many teams the board shows; None if it has more rows than its first page."""
    rows: int


class Leaders:
    """The summaries of kept boards, by the ETag of the board, so that each board is read once."""

    def __init__(self) -> None:
        self._summaries: OrderedDict[str, BoardSummary | None] = OrderedDict()

    async def read(self, state: AppState, listed: list[ListedChallenge]) -> dict[str, BoardSummary]:
        """The summary of each board that its reader may see, by the id of the challenge.

        A board that is kept needs no query. One that is refused, such as a hidden one, is left out.
        """
        found = {}
        for row in listed:
            summary = None if row.board is None else await self._summary(state, row.challenge.slug, row.board)
            if summary is not None:
                found[row.challenge.id] = summary
        return found

    async def _summary(self, state: AppState, slug: str, audience: BoardAudience) -> BoardSummary | None:
        key = BoardKey(slug, audience.phase.slug, audience.view, limit=PAGE_ROWS)
        reader = ALL_TEAMS if audience.organizer else audience.own_team
        try:
            reply = await state.board_cache.get_or_build(key, board_render(state, key), reader)
        except AssayError:  # the challenge was changed a moment ago
            return None
        if reply.refusal is not None:
            return None
        etag = reply.plain.etag
        if etag not in self._summaries:
            self._summaries[etag] = summarize(json.loads(reply.plain.body))
            while len(self._summaries) > MAX_SUMMARIES:
                self._summaries.popitem(last=False)
        return self._summaries[etag]


def summarize(board: dict[str, Any]) -> BoardSummary | None:
    """The summary of a board in the shape of the API; None of an empty one."""
    rows = board["rows"]
    if not rows:
        return None
    first = [row for row in rows if row["rank"] == 1]
    teams = {row["team"]["name"] for row in rows if not row["baseline"]}
    value = first[0]["scores"].get(board["primary"], {}).get("value") if first else None
    return BoardSummary(
        leaders=tuple(row["team"]["name"] for row in first[:MAX_NAMES]),
        tied=len(first),
        value=None if value is None else f"{value:.{SHOWN_DIGITS}g}",
        metric=next(metric["name"] for metric in board["metrics"] if metric["key"] == board["primary"]),
        teams=len(teams) if board["next"] is None else None,
        rows=board["total"],
    )
