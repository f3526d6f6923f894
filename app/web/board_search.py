"""Long boards whose rows are searched and sorted: read once for all requests, of which each costs a search and a page.

A request gets the board that the API sends to its reader. Equal bytes are an equal board, so what was read of it is kept
by the tag of the bytes and can never be outdated.
"""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json, to_json
from starlette.concurrency import run_in_threadpool

from app.api.caching.cached_reply import CachedReply
from app.errors import BadRequest
from app.web.board_query import BoardQuery, Order

Board = dict[str, Any]
Places = NDArray[np.intp]
MAX_KEPT_BYTES = 64 << 20
MAX_READINGS = 2
"""Boards that are read at the same time: reading needs ten times the memory of what is kept."""
_FIXED_COLUMNS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "team": lambda row: row["team"]["name"].casefold(),
    "entries": lambda row: row["entries"],
    "submitted": lambda row: row["submitted_at"],
}


@dataclass(frozen=True, slots=True)
class SearchableBoard:
    """A board whose rows are kept as JSON, beside what is searched and sorted. Objects would need ten times as much."""

    head: Board
    """The board without its rows."""
    _rows: list[bytes]
    _texts: list[str]
    _columns: dict[str, NDArray[np.float64]]
    """By the key of a column, numbers in the order of its values; NaN where there is none."""

    @classmethod
    def parse(cls, body: bytes) -> "SearchableBoard":
        """The board of a reply of the API."""
        head: Board = from_json(body)
        rows = head.pop("rows")
        columns = {key: _ranks([value(row) for row in rows]) for key, value in _FIXED_COLUMNS.items()}
        for metric in head["metrics"]:
            scores = (row["scores"].get(metric["key"], {}).get("value") for row in rows)
            columns[metric["key"]] = np.array([np.nan if value is None else value for value in scores], np.float64)
        texts = [f"{row['team']['name']} {row['method']}".casefold() for row in rows]
        return cls(head, [to_json(row) for row in rows], texts, columns)

    def places(self, asked: BoardQuery) -> Places:
        """The places of the rows that a request asks for, in its order; equal ones stay in the order of the board.

        Rows without a value come last.
        """
        words = (asked.search or "").casefold().split()
        found = [at for at, text in enumerate(self._texts) if all(word in text for word in words)]
        places = np.array(found, np.intp)
        if asked.sort in {None, "rank"}:
            return places[::-1] if asked.order == "descending" else places
        require_column(self.head, asked.sort)
        order = asked.order or best_first(self.head, asked.sort or "")
        values = self._columns[asked.sort or ""][places]
        return places[np.argsort(-values if order == "descending" else values, kind="stable")]

    def rows(self, places: Iterable[int]) -> list[dict[str, Any]]:
        """The rows at these places."""
        return [from_json(self._rows[at]) for at in places]

    @property
    def size(self) -> int:
        """The approximate bytes of memory."""
        columns = sum(column.nbytes for column in self._columns.values())
        return columns + sum(map(sys.getsizeof, self._rows)) + sum(map(sys.getsizeof, self._texts))


def require_column(board: Board, sort: str | None) -> None:
    """Refuse to sort a board by a column that it lacks; raises BadRequest."""
    known = ["rank", *_FIXED_COLUMNS, *(metric["key"] for metric in board["metrics"])]
    if sort is not None and sort not in known:
        raise BadRequest(f"The leaderboard cannot be sorted by '{sort}'. It has: {', '.join(known)}.")


def best_first(board: Board, sort: str) -> Order:
    """The order in which a column is sorted first: best values first, names from A."""
    directions = {metric["key"]: metric["direction"] for metric in board["metrics"]}
    if directions.get(sort) == "higher" or sort in {"entries", "submitted"}:
        return "descending"
    return "ascending"


def _ranks(values: Sequence[Any]) -> NDArray[np.float64]:
    """For each value its place among the different ones."""
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values], np.float64)


class SearchableBoards:
    """The boards that this process keeps, the last used ones; each is read once, however many requests wait for it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, SearchableBoard] = OrderedDict()
        self._size = 0
        self._readings: dict[str, asyncio.Task[SearchableBoard]] = {}
        self._turns = asyncio.Semaphore(MAX_READINGS)

    async def get(self, reply: CachedReply) -> SearchableBoard:
        """The board of a reply in JSON. To be called from the event loop; reading holds one thread."""
        tag = reply.plain.etag
        if tag in self._kept:
            self._kept.move_to_end(tag)
            return self._kept[tag]
        if tag not in self._readings:
            # A task of its own: a client that disconnects must not cancel the reading for the others.
            self._readings[tag] = asyncio.get_running_loop().create_task(self._read(tag, reply.plain.body))
        return await asyncio.shield(self._readings[tag])

    async def _read(self, tag: str, body: bytes) -> SearchableBoard:
        try:
            async with self._turns:
                board = await run_in_threadpool(SearchableBoard.parse, body)
            self._keep(tag, board)
            return board
        finally:
            del self._readings[tag]

    def _keep(self, tag: str, board: SearchableBoard) -> None:
        self._kept[tag] = board
        self._size += board.size
        while self._size > MAX_KEPT_BYTES:
            self._size -= self._kept.popitem(last=False)[1].size
