"""Drawings of how sure an order is: intervals, ranks that rows may have, pairs that differ, and who stands first.

The functions are pure. No drawing tells anything by colour alone: cells have signs, dots have numbers, bars have texts.
Classes that a stylesheet may colour: `band`, `range`, `point`, `limit`, `shade`, `cell-text`, `cell-text on`, `slope`,
`slope moves`, `dot`, `share`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

from markupsafe import Markup

from app.drawing import svg

Relation = Literal["better", "worse", "open", "unknown"]
"""Of a row to a column: significantly better or worse, not shown to differ, or not computed."""
SIGNS: dict[Relation, str] = {"better": "+", "worse": "\N{MINUS SIGN}", "open": "·", "unknown": "?"}
_FILLS: dict[Relation, float] = {"better": 0.9, "worse": 0.2, "open": 0.0, "unknown": 0.0}
BAR_WIDTH, BAR_HEIGHT = 96, 14
_STEP = 24
_PLOT = 200  # with short names, so wide a drawing needs no scrolling on a phone
_MAX_PLOT, _RANK = 480, 6  # a rank has this width at least, until the drawing is as wide as that
_SIDE = 26
_COLUMN, _DOT = 104, 10
_LINE_LETTERS, _LINE, _MAX_LINES = 13, 15, 3  # of the name of a metric above its column
_SHARES = 160
_SHARE_FILLS = (0.9, 0.45, 0.2)


@dataclass(frozen=True, slots=True)
class RankRange:
    """A row with its rank and the ranks that it may have; `group` is its tie group."""

    name: str
    rank: int
    low: int | None
    high: int | None
    text: str
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Slope:
    """A row with its rank under each metric; None where it has none."""

    name: str
    ranks: Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Shares:
    """A row with the shares of draws in which it stands first, second and so on."""

    name: str
    shares: Sequence[float]
    text: str


def interval_bar(value: float, low: float, high: float, *, least: float, most: float, width: int = BAR_WIDTH) -> Markup:
    """A value with its interval on a scale from `least` to `most`, for a cell whose text says the same.

    A value outside the scale is an arrowhead at its end.
    """
    room = (most - least) or 1.0

    def across(number: float) -> float:
        return 6 + (width - 12) * min(1.0, max(0.0, (number - least) / room))

    middle = BAR_HEIGHT / 2
    line = {"x1": 0, "x2": width, "y1": middle, "y2": middle}
    start, end = across(low), across(high)
    span = {"x1": start, "x2": max(end, start + 1), "y1": middle, "y2": middle}
    size: svg.Attributes = {"width": width, "height": BAR_HEIGHT, "viewBox": f"0 0 {width} {BAR_HEIGHT}"}
    parts = [svg.element("line", {"class": "grid", **line})]
    if high > least and low < most:
        parts.append(svg.element("line", {"class": "range", "stroke-width": 6, **span}))
    if least <= value <= most:
        parts.append(svg.element("circle", {"class": "point", "cx": across(value), "cy": middle, "r": 3}))
    else:
        tip, back = (0, 7) if value < least else (width, width - 7)
        points = f"{tip},{middle:g} {back},{middle - 4:g} {back},{middle + 4:g}"
        parts.append(svg.element("polygon", {"class": "point", "points": points}))
    head: svg.Attributes = {"class": "interval", "aria-hidden": "true", **size}
    return Markup(svg.element("svg", head, "".join(parts)))  # noqa: S704 (numbers only)


def rank_ranges(rows: Sequence[RankRange], total: int, *, title: str, description: str) -> Markup:
    """For each row a dot at its rank and a line over the ranks that it may have, of `total` ranks."""
    left, top = svg.label_room([row.name for row in rows]) + 6, 34
    bottom, plot = top + len(rows) * _STEP, min(_MAX_PLOT, max(_PLOT, _RANK * total))

    def across(rank: float) -> float:
        return left + 12 + (plot - 24) * (rank - 1) / max(1, total - 1)

    parts = [*_bands(rows, left + plot, top), svg.label(left + 4, 12, "Rank", css="axis")]
    for rank in rank_ticks(total):
        x = across(rank)
        parts.append(svg.element("line", {"class": "grid", "x1": x, "x2": x, "y1": top - 4, "y2": bottom}))
        parts.append(svg.label(x, top - 8, f"{rank}", anchor="middle"))
    for number, row in enumerate(rows):
        y = top + (number + 0.5) * _STEP
        marks = svg.label(left - 6, y + 4, row.name, anchor="end")
        if row.low is not None and row.high is not None:
            ends = {"x1": across(row.low), "x2": across(row.high) + (0.1 if row.low == row.high else 0)}
            stroke: svg.Attributes = {"class": "range", "stroke-width": 9, "stroke-linecap": "round"}
            marks += svg.element("line", stroke | ends | {"y1": y, "y2": y})
        marks += svg.element("circle", {"class": "point", "cx": across(row.rank), "cy": y, "r": 4})
        parts.append(svg.element("g", {}, svg.tooltip(row.text) + marks))
    return svg.drawing(left + plot + 6, bottom + 6, title, description, parts, shrinks=False)


def _bands(rows: Sequence[RankRange], width: float, top: float) -> Iterator[str]:
    """A band behind every other tie group."""
    for number, row in enumerate(rows):
        if row.group is not None and row.group % 2:
            place: svg.Attributes = {"x": 0, "y": top + number * _STEP, "width": width, "height": _STEP}
            yield svg.element("rect", {"class": "band", **place})


def rank_ticks(total: int) -> list[int]:
    """The ranks that an axis names: the first, the last, and about eight between them."""
    step = _round_step(total / 8)
    between = [rank for rank in range(step, total, step) if rank > 1 and total - rank >= 0.7 * step]
    return sorted({1, *between, max(1, total)})


def _round_step(least: float) -> int:
    """The smallest of 1, 2 and 5 times a power of ten that is at least this."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def relation_map(
    names: Sequence[str], relations: Sequence[Sequence[Relation]], *, title: str, description: str
) -> Markup:
    """A grid in which a row is better (+) or worse (minus) than a column, not shown to differ (·), or not compared (?)."""
    left = svg.label_room(names) + 26
    top = 34
    parts = []
    for at, name in enumerate(names):
        y = top + at * _SIDE
        parts.append(svg.label(left - 26, y + _SIDE / 2 + 4, name, anchor="end"))
        parts.append(svg.label(left - 6, y + _SIDE / 2 + 4, f"{at + 1}", anchor="end"))
        parts.append(svg.label(left + (at + 0.5) * _SIDE, top - 8, f"{at + 1}", anchor="middle"))
        parts += _map_row(names, at, relations[at], (left, y))
    side = len(names) * _SIDE
    frame: svg.Attributes = {"class": "grid", "fill": "none", "x": left, "y": top, "width": side, "height": side}
    parts.append(svg.element("rect", frame))
    return svg.drawing(left + side + 6, top + side + 6, title, description, parts, shrinks=False)


def _map_row(names: Sequence[str], at: int, relations: Sequence[Relation], place: tuple[float, float]) -> Iterator[str]:
    left, y = place
    for column, relation in enumerate(relations):
        x = left + column * _SIDE
        if column == at:
            ends = {"x1": x, "x2": x + _SIDE, "y1": y, "y2": y + _SIDE}
            yield svg.element("line", {"class": "grid", **ends})
            continue
        words = svg.tooltip(_RELATION_WORDS[relation].format(names[at], names[column]))
        square: svg.Attributes = {"class": "shade", "fill": "currentColor", "fill-opacity": _FILLS[relation]}
        cell = svg.element("rect", square | {"x": x, "y": y, "width": _SIDE - 1, "height": _SIDE - 1})
        css = "cell-text on" if relation == "better" else "cell-text"
        sign = svg.label(x + _SIDE / 2, y + _SIDE / 2 + 4, SIGNS[relation], css=css, anchor="middle")
        yield svg.element("g", {}, words + cell + sign)


_RELATION_WORDS: dict[Relation, str] = {
    "better": "{0} is significantly better than {1}",
    "worse": "{0} is significantly worse than {1}",
    "open": "{0} and {1} are not shown to differ",
    "unknown": "{0} and {1} were not compared",
}


def slopes(metrics: Sequence[str], rows: Sequence[Slope], *, title: str, description: str) -> Markup:
    """The ranks of rows from metric to metric; a line joins those of one row, and each dot has its rank."""
    heads = [_lines(name) for name in metrics]
    left = max(svg.label_room([row.name for row in rows]) + 10, _COLUMN / 2 - _DOT)
    top = 6 + _LINE * max((len(lines) for lines in heads), default=1)
    columns = [_places(rows, at) for at in range(len(metrics))]
    right = left + (len(metrics) - 1) * _COLUMN + 2 * _DOT

    def across(column: int) -> float:
        return left + _DOT + column * _COLUMN

    def down(place: int) -> float:
        return top + (place + 0.5) * _STEP

    parts = [
        svg.label(across(at), top - 6 - _LINE * (len(lines) - 1 - number), line, css="axis", anchor="middle")
        for at, lines in enumerate(heads)
        for number, line in enumerate(lines)
    ]
    for number, row in enumerate(rows):
        places = [column.get(number) for column in columns]
        css = "slope moves" if len({rank for rank in row.ranks if rank is not None}) > 1 else "slope"
        points = [(across(at), down(place)) for at, place in enumerate(places) if place is not None]
        line = " ".join(f"{svg.coordinate(x)},{svg.coordinate(y)}" for x, y in points)
        ranks = [rank for rank in row.ranks if rank is not None]
        marks = svg.element("polyline", {"class": css, "fill": "none", "stroke-width": 1.5, "points": line})
        for (x, y), rank in zip(points, ranks, strict=True):
            marks += svg.element("circle", {"class": "dot", "cx": x, "cy": y, "r": _DOT})
            marks += svg.label(x, y + 4, f"{rank}", css="cell-text", anchor="middle")
        if places[0] is not None:
            marks += svg.label(left - 8, down(places[0]) + 4, row.name, anchor="end")
        if places[-1] is not None and len(metrics) > 1:
            marks += svg.label(right + 8, down(places[-1]) + 4, row.name)
        parts.append(svg.element("g", {}, svg.tooltip(_slope_text(row, metrics)) + marks))
    width = right + svg.label_room([row.name for row in rows]) + 10
    return svg.drawing(width, top + len(rows) * _STEP + 8, title, description, parts, shrinks=False)


def _lines(name: str) -> list[str]:
    """The name of a metric in lines that are no wider than its column; what has no place is cut."""
    lines = wrap(name, _LINE_LETTERS, max_lines=_MAX_LINES, placeholder="…")
    return lines or [name]


def _places(rows: Sequence[Slope], column: int) -> dict[int, int]:
    """For each row with a rank its place from above; rows of equal rank keep their order."""
    ranked = [(row.ranks[column], number) for number, row in enumerate(rows) if row.ranks[column] is not None]
    return {number: place for place, (_, number) in enumerate(sorted(ranked, key=lambda pair: (pair[0] or 0, pair[1])))}


def _slope_text(row: Slope, metrics: Sequence[str]) -> str:
    ranks = "; ".join(
        f"{metric}: {'no rank' if rank is None else rank}" for metric, rank in zip(metrics, row.ranks, strict=True)
    )
    return f"{row.name}. {ranks}"


def podium(rows: Sequence[Shares], places: Sequence[str], *, title: str, description: str) -> Markup:
    """For each row a bar of the shares of draws in which it has each of these places; the whole line is all draws.

    One place needs no key.
    """
    left, top = svg.label_room([row.name for row in rows]) + 6, 30 if len(places) > 1 else 2
    parts = []
    x = left
    for name, fill in zip(places if len(places) > 1 else (), _SHARE_FILLS, strict=False):
        parts.append(_share(x, 4, 14, 14, fill))
        parts.append(svg.label(x + 20, 16, name))
        x += 20 + len(name) * svg.LETTER_WIDTH + 16
    for number, row in enumerate(rows):
        y, start = top + number * _STEP, left
        track = {"x1": left, "x2": left + _SHARES, "y1": y + _STEP / 2, "y2": y + _STEP / 2}
        marks = svg.label(left - 6, y + 16, row.name, anchor="end") + svg.element("line", {"class": "grid", **track})
        for share, fill in zip(row.shares, _SHARE_FILLS, strict=False):
            width = _SHARES * min(1.0, max(0.0, share))
            marks += _share(start, y + 5, width, _STEP - 8, fill)
            start += width
        marks += svg.label(left + _SHARES + 6, y + 16, row.text)
        parts.append(svg.element("g", {}, svg.tooltip(f"{row.name}: {row.text}") + marks))
    room = max((len(row.text) for row in rows), default=0) * svg.LETTER_WIDTH + 12
    return svg.drawing(
        max(left + _SHARES + room, x), top + max(1, len(rows)) * _STEP + 4, title, description, parts, shrinks=False
    )


def _share(x: float, y: float, width: float, height: float, fill: float) -> str:
    place: svg.Attributes = {"x": x, "y": y, "width": math.ceil(width * 10) / 10, "height": height}
    return svg.element("rect", {"class": "share", "fill": "currentColor", "fill-opacity": fill, **place})
