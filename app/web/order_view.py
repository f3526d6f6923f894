"""The comparison of a board's rows by one metric as a page shows it, made from what the API says. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from app.drawing.uncertainty import (
    RankRange,
    Relation,
    Shares,
    podium,
    rank_ranges,
    relation_map,
)
from app.scoring.uncertainty.conclusion import neighbours_that_differ
from app.web.board_cells import value_texts
from app.web.order_words import (
    decimals_for,
    interval_text,
    p_text,
    rank_range,
    share_text,
    team_name,
)

DRAWN_RANGES = 60
DRAWN_RELATIONS = 30
DRAWN_SHARES = 12
LISTED_ROWS = 200
LISTED_PAIRS = 100
LEAST_SHARE = 0.001
PLACES = ("first", "second", "third")
Payload = Mapping[str, Any]


class OrderRow(NamedTuple):
    """A row of the table of the order."""

    ranks: str
    rank: str
    team: str
    value: str
    interval: str
    tie_group: str
    first: str
    better_than: int
    worse_than: int
    open: int
    entries: int


class PairRow(NamedTuple):
    """A pair of rows: the better value first."""

    better: str
    other: str
    difference: str
    interval: str
    p_value: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing, how many rows it shows, and of how many."""

    svg: Markup
    shown: int
    total: int

    @property
    def is_cut(self) -> bool:
        """Whether rows are left out."""
        return self.shown < self.total


@dataclass(frozen=True, slots=True)
class OrderView:
    """The comparison of the rows of a board by one metric."""

    sentences: list[str]
    ranges: Drawing | None
    relations: Drawing | None
    podium: Drawing | None
    rows: list[OrderRow]
    total: int
    pairs: list[PairRow]
    pair_count: int
    different_count: int
    too_few_count: int
    """How many pairs differ on too few instances to tell."""


def order_view(payload: Payload, board: Payload) -> OrderView | None:
    """The view of a comparison; None if it ranks nothing. `board` has the intervals of the values of its rows."""
    rows = sorted((row for row in payload["rows"] if row["rank"] is not None), key=lambda row: int(row["rank"]))
    if not rows:
        return None
    metric_name = next(each["name"] for each in board["metrics"] if each["key"] == board["primary"])
    table = _relations(rows, payload["pairs"])
    verdicts = [table[at][at + 1] for at in range(len(rows) - 1)]
    found = [payload["conclusion"]]
    # Not for the neighbours of former rows, nor where the pairs of later rows are not listed, nor to say a thing twice.
    if payload["status"] == "current" and "unknown" not in verdicts and len(verdicts) > 1 and "better" in verdicts:
        found.append(neighbours_that_differ(verdicts.count("better"), len(verdicts), len(verdicts)))
    pairs = payload["pairs"]
    return OrderView(
        sentences=[sentence for sentence in found if sentence],
        ranges=_draw_ranges(rows, metric_name),
        relations=_draw_relations(rows, table, metric_name) if len(rows) > 1 else None,
        podium=_draw_podium(rows),
        rows=_order_rows(rows[:LISTED_ROWS], table, _ends_by_row(board)),
        total=len(rows),
        pairs=_pairs(rows, pairs),
        pair_count=len(pairs),
        different_count=sum(bool(pair["different"]) for pair in pairs),
        too_few_count=sum(bool(pair.get("too_few")) for pair in pairs),
    )


def _relations(rows: Sequence[Payload], pairs: Sequence[Payload]) -> list[list[Relation]]:
    """For each row its relation to each other one; the rows are given best first.

    Pairs are listed for the first rows only. Two later rows with rank sets were compared too, but the sets alone say not
    which of them differ, so their relation is unknown here.
    """
    places = {row["row"]: at for at, row in enumerate(rows)}
    table: list[list[Relation]] = [["unknown"] * len(rows) for _ in rows]
    for pair in pairs:
        first, second = places.get(pair["a"]), places.get(pair["b"])
        if first is None or second is None:
            continue
        better, worse = min(first, second), max(first, second)
        if pair["different"]:
            table[better][worse], table[worse][better] = "better", "worse"
        elif pair["different"] is not None:
            table[better][worse] = table[worse][better] = "open"
    return table


def _ends_by_row(board: Payload) -> dict[str, tuple[float, float]]:
    """The interval of the primary metric of each row of a board, by submission or else by the name of the team."""
    found = {}
    for row in board["rows"]:
        score = row["scores"].get(board["primary"], {})
        if score.get("low") is not None:
            found[_name_of(row)] = (score["low"], score["high"])
    return found


def _name_of(row: Payload) -> str:
    return str(row["submission"] or team_name(row))


def _draw_ranges(ranked: Sequence[Payload], metric_name: str) -> Drawing | None:
    drawn = [row for row in ranked if row["rank_low"] is not None][:DRAWN_RANGES]
    if not drawn:
        return None
    ranges = [
        RankRange(
            team_name(row),
            row["rank"],
            row["rank_low"],
            row["rank_high"],
            f"{team_name(row)}: rank {row['rank']}, may have ranks {rank_range(row)}",
            row["tie_group"],
        )
        for row in drawn
    ]
    total = max(len(ranked), *(row["rank_high"] for row in drawn))
    title = f"Ranks by {metric_name}"
    description = "One line a row: the dot is its rank, the line covers the ranks that it may have at 5 %."
    return Drawing(rank_ranges(ranges, total, title=title, description=description), len(drawn), len(ranked))


def _draw_relations(ranked: Sequence[Payload], table: Sequence[Sequence[Relation]], metric_name: str) -> Drawing:
    size = min(len(ranked), DRAWN_RELATIONS)
    drawn = relation_map(
        [team_name(row) for row in ranked[:size]],
        [list(row[:size]) for row in table[:size]],
        title=f"Which rows differ by {metric_name}",
        description="Rows and columns are in the order of the board. Plus: the row is significantly better than the "
        "column. Minus: significantly worse. Dot: not shown to differ. Question mark: not compared.",
    )
    return Drawing(drawn, size, len(ranked))


def _draw_podium(ranked: Sequence[Payload]) -> Drawing | None:
    shared = [row for row in ranked if sum(row.get("podium_shares") or ()) >= LEAST_SHARE]
    shared.sort(key=lambda row: row["podium_shares"], reverse=True)
    drawn = shared[:DRAWN_SHARES]
    if not drawn:
        return None
    places = PLACES[: len(drawn[0]["podium_shares"])]
    bars = [Shares(team_name(row), row["podium_shares"], share_text(row["first_share"])) for row in drawn]
    title = "How often each row stands first, second and third"
    description = (
        "The shares of the draws of the test set in which the row has the best, the second and the third value; the "
        "number is that of the best."
    )
    return Drawing(podium(bars, places, title=title, description=description), len(drawn), len(ranked))


def _order_rows(
    rows: Sequence[Payload], table: Sequence[Sequence[Relation]], ends: Mapping[str, tuple[float, float]]
) -> list[OrderRow]:
    own: dict[int, tuple[float, float]] = {
        row["row"]: (row["low"], row["high"]) for row in rows if row.get("low") is not None
    }
    decimals = decimals_for(high - low for low, high in (own or ends).values())
    values = value_texts(rows)
    shown = []
    for at, row in enumerate(rows):
        relations = [*table[at][:at], *table[at][at + 1 :]]
        low, high = own.get(row["row"]) or ends.get(_name_of(row)) or (None, None)
        shown.append(
            OrderRow(
                rank_range(row),
                str(row["rank"]),
                team_name(row),
                values[at].text,
                "" if low is None or high is None else interval_text(low, high, decimals),
                "" if row["tie_group"] is None else str(row["tie_group"]),
                share_text(row.get("first_share")),
                relations.count("better"),
                relations.count("worse"),
                relations.count("open"),
                row["entries"],
            )
        )
    return shown


def _pairs(rows: Sequence[Payload], pairs: Sequence[Payload]) -> list[PairRow]:
    """Pairs with their tests, in the order of the rows: neighbours of the top first."""
    places = {row["row"]: at for at, row in enumerate(rows)}
    names = {row["row"]: team_name(row) for row in rows}
    known = [pair for pair in pairs if pair["a"] in places and pair["b"] in places]
    known.sort(key=lambda pair: sorted((places[pair["a"]], places[pair["b"]])))
    widths = [pair["high"] - pair["low"] for pair in known if pair.get("low") is not None]
    decimals = decimals_for(widths)
    shown = []
    for pair in known[:LISTED_PAIRS]:
        first, second = pair["a"], pair["b"]
        low, high, difference = pair.get("low"), pair.get("high"), pair.get("difference")
        shown.append(
            PairRow(
                names[first],
                names[second],
                "" if difference is None else f"{difference:+.{decimals}f}",
                "" if low is None or high is None else f"{low:+.{decimals}f} to {high:+.{decimals}f}",
                p_text(pair.get("p_value")),
                "too few to tell" if pair.get("too_few") else _VERDICTS[pair["different"]],
            )
        )
    return shown


_VERDICTS = {True: "shown to differ", False: "not shown to differ", None: "not compared"}
