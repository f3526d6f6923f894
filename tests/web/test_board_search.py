"""Boards that are searched and sorted: as a plain search and sort of their rows would, and read once."""

import asyncio
import json
import math
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.caching.cached_reply import CachedReply
from app.web import board_search
from app.web.board_query import BoardQuery
from app.web.board_search import MAX_READINGS, SearchableBoard, SearchableBoards

METRICS = [{"key": "accuracy", "direction": "higher"}, {"key": "log_loss", "direction": "lower"}]
VALUES = st.sampled_from([0.25, 0.5, 0.75, 1, None])


@st.composite
def boards(draw: st.DrawFn) -> dict[str, Any]:
    rows = [
        {
            "team": {"name": draw(st.sampled_from(["Red", "red", "Blue", "Ålesund"])), "id": None},
            "method": draw(st.sampled_from(["", "Forest of trees", "RED"])),
            "entries": draw(st.integers(1, 3)),
            "submitted_at": f"2027-01-0{draw(st.integers(1, 9))}T00:00:00Z",
            "scores": {"accuracy": {"value": draw(VALUES)}, "log_loss": draw(st.sampled_from([{}, {"value": 2.5}]))},
            "place": place,
        }
        for place in range(draw(st.integers(0, 12)))
    ]
    return {"metrics": METRICS, "total": len(rows), "rows": rows}


def value_of(row: dict[str, Any], sort: str) -> Any:
    fixed = {"team": row["team"]["name"].casefold(), "entries": row["entries"], "submitted": row["submitted_at"]}
    return fixed[sort] if sort in fixed else row["scores"][sort].get("value")


def plainly(board: dict[str, Any], asked: BoardQuery) -> list[int]:
    """The places of the rows by a plain search and sort."""
    words = (asked.search or "").casefold().split()
    rows = [
        row
        for row in board["rows"]
        if all(word in f"{row['team']['name']} {row['method']}".casefold() for word in words)
    ]
    if asked.sort in {None, "rank"}:
        return [row["place"] for row in (rows[::-1] if asked.order == "descending" else rows)]
    first = "ascending" if asked.sort in {"team", "log_loss"} else "descending"
    known = [row for row in rows if value_of(row, asked.sort or "") is not None]
    known.sort(key=lambda row: value_of(row, asked.sort or ""), reverse=(asked.order or first) == "descending")
    return [row["place"] for row in [*known, *(row for row in rows if row not in known)]]


@given(
    boards(),
    st.sampled_from([None, "rank", "team", "entries", "submitted", "accuracy", "log_loss"]),
    st.sampled_from([None, "ascending", "descending"]),
    st.sampled_from([None, "red", "RED tr", "å", "none"]),
)
def test_rows_are_those_of_a_plain_search_and_sort(
    board: dict[str, Any], sort: str | None, order: Any, search: str | None
) -> None:
    asked = BoardQuery(sort=sort, order=order, search=search)
    searched = SearchableBoard.parse(json.dumps(board).encode())
    places = searched.places(asked)
    assert list(places) == plainly(board, asked)
    assert searched.rows(places) == [board["rows"][place] for place in places]
    assert searched.head == {"metrics": METRICS, "total": board["total"]}


def reply(total: int, rows: int = 1) -> CachedReply:
    team = {"name": "Blue", "id": None}
    row = {"team": team, "method": "x" * 500, "entries": 1, "submitted_at": "2027-01-01T00:00:00Z", "scores": {}}
    board = {"metrics": [], "total": total, "rows": [row] * rows}
    return CachedReply.build(json.dumps(board).encode(), "application/json", marks=frozenset(), expires_at=math.inf)


def test_a_board_is_read_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    parse = SearchableBoard.parse

    def counted(body: bytes) -> SearchableBoard:
        read.append(body)
        return parse(body)

    monkeypatch.setattr(SearchableBoard, "parse", counted)

    async def ask() -> None:
        kept, first, second = SearchableBoards(), reply(1), reply(2)
        found = await asyncio.gather(*(kept.get(each) for each in [first, second] * 20))
        gone = asyncio.ensure_future(kept.get(reply(3)))
        await asyncio.sleep(0)
        gone.cancel()
        found += [await kept.get(first), await kept.get(second), await kept.get(reply(3))]
        assert [board.head["total"] for board in found] == [1, 2] * 21 + [3]

    asyncio.run(ask())
    assert len(read) == 3


def test_kept_boards_need_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    size = SearchableBoard.parse(reply(0, rows=100).plain.body).size
    assert size > 100 * 500
    monkeypatch.setattr(board_search, "MAX_KEPT_BYTES", 5 * size)

    async def ask() -> SearchableBoards:
        kept = SearchableBoards()
        for total in range(20):
            await kept.get(reply(total, rows=100))
        await kept.get(reply(99, rows=1000))  # larger than all that may be kept
        return kept

    kept = asyncio.run(ask())
    assert (len(kept._kept), kept._size) == (0, 0)


def test_few_boards_are_read_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, slots, too_many = SearchableBoard.parse, threading.Semaphore(MAX_READINGS), threading.Event()

    def in_a_slot(body: bytes) -> SearchableBoard:
        if not slots.acquire(blocking=False):
            too_many.set()
        too_many.wait(0.1)  # long enough for another one to begin
        slots.release()
        return parse(body)

    monkeypatch.setattr(SearchableBoard, "parse", in_a_slot)

    async def ask() -> list[SearchableBoard]:
        kept = SearchableBoards()
        return await asyncio.gather(*(kept.get(reply(total)) for total in range(6)))

    assert len(asyncio.run(ask())) == 6
    assert not too_many.is_set()
