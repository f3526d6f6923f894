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
        **dict.fromkeys(("rank", "rank_low", "rank_high", "tie_group", "tied", "public_rank"), RANKS),
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


NO_RANK_SET = dict.fromkeys(("rank_low", "rank_high", "tie_group"))
HOSTILE_NAME = "\\input{x} & 50 % #1_$a^2 \\\\ \\end{tabular}"


def latex_board(**changes: Any) -> str:
    """The example of a board with these changes, as LaTeX."""
    return encode_board(Board.model_validate(examples.BOARD).model_dump() | changes, "latex").decode()


def row_with(name: str, **changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = Board.model_validate(examples.BOARD).model_dump()["rows"][0]
    return row | {"team": {"id": None, "name": name}} | changes


def test_a_latex_table_shows_rows_marks_and_values() -> None:
    names = [metric["key"] for metric in examples.BOARD["metrics"]]
    small = {names[0]: {"value": -1.2345678e-7}, **{name: {"value": None} for name in names[1:]}}
    rows = [
        row_with("Blue", scores={name: {"value": 0.123456789} for name in names}, entries=3),
        row_with(
            "Majority",
            rank=None,
            **NO_RANK_SET,
            baseline=True,
            method="",
            scores={name: {"value": 1.0} for name in names},
        ),
        row_with("Late", rank=None, **NO_RANK_SET, mark="unofficial", scores=small),
    ]
    comments: list[str] = []
    table: list[str] = []
    for line in latex_board(rows=rows).splitlines():
        (comments if line.startswith("%") else table).append(line)
    begin, top, head, middle, *body, bottom, end = table
    assert (begin, end) == (f"\\begin{{tabular}}{{rrllr{'l' * len(names)}}}", "\\end{tabular}")
    assert (top, middle, bottom) == ("\\toprule", "\\midrule", "\\bottomrule")
    assert head.startswith("Rank & Ranks not ruled out & Team & Method & Entries & ")
    absent = " & --" * (len(names) - 1)
    assert body == [
        f"1 & 1 & Blue & guess & 3{' & 0.123457' * len(names)} \\\\",
        f"-- & -- & Majority (baseline) &  & 1{' & 1' * len(names)} \\\\",
        f"-- & -- & Late (unofficial) & guess & 1 & $-1.23457 \\times 10^{{-7}}${absent} \\\\",
    ]
    said = "\n".join(comments)
    for part in ("challenge pets, phase main, split all", "Gold version 1, recipe version 1", "as of 20", "booktabs"):
        assert part in said


def test_a_hostile_team_adds_no_row_and_no_command_to_a_latex_table() -> None:
    honest, hostile = latex_board(rows=[row_with("Blue")]), latex_board(rows=[row_with(HOSTILE_NAME)])
    assert len(hostile.splitlines()) == len(honest.splitlines())
    (line,) = set(hostile.splitlines()) - set(honest.splitlines())
    assert "\\input" not in line
    assert "\\end" not in line
    unescaped = line.replace("\\&", "").replace("\\%", "").replace("\\#", "").replace("\\$", "").replace("\\_", "")
    assert unescaped.count("&") == 4 + len(examples.BOARD["metrics"])
    assert not {"%", "#", "_", "^"} & set(unescaped)
