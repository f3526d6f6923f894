"""The encoded rows of a board equal those of its reply class, byte for byte."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.api.leaderboards import Board, BoardRow, RowTeam, encode_board
from app.api.openapi import examples

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RANKS = st.one_of(st.none(), st.integers(1, 2**31))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries(
    {
        **dict.fromkeys(("rank", "rank_low", "rank_high", "tie_group", "public_rank"), RANKS),
        "team": st.fixed_dictionaries({"id": st.one_of(st.none(), TEXTS), "name": TEXTS}),
        "submission": st.one_of(st.none(), TEXTS),
        "method": TEXTS,
        "submitted_at": st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - the zone is drawn
        "entries": st.integers(0, 2**31),
        "baseline": st.booleans(),
        "mark": st.sampled_from([None, "withdrawn", "disqualified", "barred", "unofficial"]),
        "on_behalf": st.booleans(),
        "scores": st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES, max_size=3), max_size=3),
    }
)


@given(st.lists(ROWS, max_size=3))
@settings(max_examples=50)
def test_rows_are_encoded_as_their_reply_class_does(rows: list[dict[str, Any]]) -> None:
    # Drawn dictionaries have any order, built rows that of the class.
    rows = [{name: row[name] for name in BoardRow.model_fields} for row in rows]
    for row in rows:
        row["team"] = {name: row["team"][name] for name in RowTeam.model_fields}
    board = Board.model_validate(examples.BOARD).model_dump() | {"rows": rows}
    assert encode_board(board, "json") == Board.model_validate(board).model_dump_json().encode()
