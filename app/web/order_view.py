"""What the page 'Is the order real?' shows, made from what the API says about the order of a board. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from app.drawing.uncertainty import (
    RankRange,
    Relation,
    Shares,
    Slope,
    podium,
    rank_ranges,
    relation_map,
    slopes,
)
from app.web.order_words import (
    conclusion,
    decimals_for,
    interval_text,
    neighbours,
    p_text,
    rank_range,
    share_text,
    team_name,
)

DRAWN_RANGES = 60
DRAWN_RELATIONS = 30
DRAWN_SLOPES = 20
DRAWN_SHARES = 12
LISTED_ROWS = 200
LISTED_PAIRS = 100
LISTED_FLIPS = 100
LEAST_SHARE = 0.001
TAU_LEVELS = (0.0, 0.5, 0.8, 0.95)
"""The values of tau from which a cell is darker."""

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
    unknown: int
    notes: Sequence[str]
    entries: int


class PairRow(NamedTuple):
    """A pair of rows: the better value first."""

    better: str
    other: str
    difference: str
    interval: str
    p_value: str
    verdict: str
    reason: str


class TauCell(NamedTuple):
    """A cell of the matrix of rank correlations, with its shade from 0 to 4."""

    text: str
    level: int


class Flip(NamedTuple):
    """Two rows that two metrics put in opposite orders."""

    a: str
    b: str
    first: str
    second: str
    significant: bool


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
    open_count: int
    reasons: list[tuple[str, int]]
    """Why pairs were not compared, with the number of pairs."""


@dataclass(frozen=True, slots=True)
class RankingsView:
    """The rankings of the same rows under several metrics."""

    metrics: list[Mapping[str, Any]]
    slopes: Drawing | None
    tau: list[list[TauCell]]
    flips: list[Flip]
    flip_count: int
    significant_flips: int
    rows: list[tuple[str, list[str]]]
    stability: list[tuple[str, list[tuple[str, str]]]]
    n: int


def order_view(payload: Payload, metric_name: str) -> OrderView | None:
    """The view of a comparison; None if it has no rows."""
    rows = list(payload["rows"])
    if not rows:
        return None
    table = _relations(rows, payload["pairs"])
    ranked = [row for row in rows if row["rank"] is not None]
    verdicts = [table[at][at + 1] for at in range(len(rows) - 1)]
    found = [conclusion(ranked), neighbours(verdicts.count("better"), sum(each != "unknown" for each in verdicts))]
    counts: dict[str, int] = {}
    for pair in payload["pairs"]:
        if pair["different"] is None:
            reason = pair.get("reason") or "No reason is given."
            counts[reason] = counts.get(reason, 0) + 1
    pairs = _pairs(rows, payload["pairs"])
    return OrderView(
        sentences=[sentence for sentence in found if sentence] if len(ranked) > 1 else [s for s in found[:1] if s],
        ranges=_draw_ranges(ranked, metric_name),
        relations=_draw_relations(ranked, table, metric_name) if len(ranked) > 1 else None,
        podium=_draw_podium(ranked),
        rows=_order_rows(rows, table)[:LISTED_ROWS],
        total=len(rows),
        pairs=pairs[:LISTED_PAIRS],
        pair_count=len(payload["pairs"]),
        open_count=sum(pair["different"] is False for pair in payload["pairs"]),
        reasons=sorted(counts.items(), key=lambda each: -each[1]),
    )


def _relations(rows: Sequence[Payload], pairs: Sequence[Payload]) -> list[list[Relation]]:
    """For each row its relation to each other one; the rows are given best first."""
    places = {row["row"]: at for at, row in enumerate(rows)}
    table: list[list[Relation]] = [["unknown"] * len(rows) for _ in rows]
    for pair in pairs:
        first, second = places[pair["a"]], places[pair["b"]]
        better, worse = min(first, second), max(first, second)
        if pair["different"]:
            table[better][worse], table[worse][better] = "better", "worse"
        elif pair["different"] is not None:
            table[better][worse] = table[worse][better] = "open"
    return table


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
    shared = [row for row in ranked if (row.get("first_share") or 0) >= LEAST_SHARE]
    shared.sort(key=lambda row: -row["first_share"])
    drawn = shared[:DRAWN_SHARES]
    if not drawn:
        return None
    bars = [Shares(team_name(row), [row["first_share"]], share_text(row["first_share"])) for row in drawn]
    title = "How often each row stands first"
    description = "The share of the draws of the test set in which the row has the best value."
    return Drawing(podium(bars, ["stands first"], title=title, description=description), len(drawn), len(ranked))


def _order_rows(rows: Sequence[Payload], table: Sequence[Sequence[Relation]]) -> list[OrderRow]:
    decimals = decimals_for(row["high"] - row["low"] for row in rows if row["low"] is not None)
    shown = []
    for at, row in enumerate(rows):
        relations = [*table[at][:at], *table[at][at + 1 :]]
        interval = "" if row["low"] is None else interval_text(row["low"], row["high"], decimals)
        shown.append(
            OrderRow(
                rank_range(row),
                "" if row["rank"] is None else str(row["rank"]),
                team_name(row),
                "" if row["value"] is None else f"{row['value']:.6g}",
                interval,
                "" if row["tie_group"] is None else str(row["tie_group"]),
                share_text(row.get("first_share")),
                relations.count("better"),
                relations.count("worse"),
                relations.count("open"),
                relations.count("unknown"),
                list(row.get("notes") or ()),
                row["entries"],
            )
        )
    return shown


def _pairs(rows: Sequence[Payload], pairs: Sequence[Payload]) -> list[PairRow]:
    """Pairs with their tests, in the order of the rows: neighbours of the top first."""
    places = {row["row"]: at for at, row in enumerate(rows)}
    names = {row["row"]: team_name(row) for row in rows}
    known = sorted(pairs, key=lambda pair: sorted((places[pair["a"]], places[pair["b"]])))
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
                _VERDICTS[pair["different"]],
                pair.get("reason") or "",
            )
        )
    return shown


_VERDICTS = {True: "shown to differ", False: "not shown to differ", None: "not compared"}


def rankings_view(payload: Payload) -> RankingsView | None:
    """The view of rankings side by side; None if there are no rows."""
    metrics, rows = list(payload["metrics"]), list(payload["rows"])
    if not rows or not metrics:
        return None
    keys = [metric["text"] for metric in metrics]
    names = {row["row"]: team_name(row) for row in rows}
    labels = {metric["text"]: str(metric.get("name") or metric["text"]) for metric in metrics}
    flips = list(payload["flips"])
    listed = [
        Flip(
            names.get(str(flip["a"]), "?"),
            names.get(str(flip["b"]), "?"),
            *_two(flip, labels),
            bool(flip["significant"]),
        )
        for flip in sorted(flips, key=lambda flip: not flip["significant"])[:LISTED_FLIPS]
    ]
    drawn = rows[:DRAWN_SLOPES]
    lines = [Slope(team_name(row), [row["ranks"].get(key) for key in keys]) for row in drawn]
    title = "Ranks under each metric"
    description = "A column for each metric, a line for each row; the number in a dot is the rank."
    drawing = slopes([labels[key] for key in keys], lines, title=title, description=description)
    return RankingsView(
        metrics=metrics,
        slopes=Drawing(drawing, len(drawn), len(rows)) if len(keys) > 1 else None,
        tau=[[_tau_cell(payload["tau"].get(one, {}).get(other)) for other in keys] for one in keys],
        flips=listed,
        flip_count=len(flips),
        significant_flips=sum(bool(flip["significant"]) for flip in flips),
        rows=[
            (team_name(row), ["" if row["ranks"].get(key) is None else str(row["ranks"][key]) for key in keys])
            for row in rows[:LISTED_ROWS]
        ],
        stability=_stability(payload.get("stability") or {}, keys, labels),
        n=len(rows),
    )


def _two(flip: Payload, labels: Mapping[str, str]) -> tuple[str, str]:
    first, second = (labels.get(text, text) for text in flip["metrics"][:2])
    return first, second


def _tau_cell(tau: float | None) -> TauCell:
    if tau is None:
        return TauCell("\N{EN DASH}", 0)
    return TauCell(f"{tau:.2f}", sum(tau >= level for level in TAU_LEVELS))


def _stability(
    stability: Payload, keys: Sequence[str], labels: Mapping[str, str]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Numbers of the stability of each ranking, as they are named by the API."""
    found = []
    for key in keys:
        values = stability.get(key)
        if isinstance(values, Mapping):
            numbers = [(name.replace("_", " "), f"{value:.4g}") for name, value in values.items() if _is_number(value)]
            found.append((labels[key], numbers))
        elif _is_number(values):
            found.append((labels[key], [("stability", f"{values:.4g}")]))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
