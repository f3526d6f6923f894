"""Charts as SVG: bars, lines, points and heat maps. The functions are pure; colours come from the stylesheet.

Every text is escaped. Elements have presentation attributes and classes only, because the policy of the pages allows no
inline style. Classes that a stylesheet may colour: `chart`, `grid`, `axis`, `bar`, `series series-1` … `series-6`,
`point`, `shade`, `cell-text`, `cell-text on` (on a dark cell).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from app.drawing import svg

MAX_READABLE_CLASSES = 30
"""Up to so many classes, the cells of a heat map have numbers."""
MAX_DRAWN_CELLS = 120_000
"""How many cells a heat map without numbers draws: those with the largest shares of their rows."""
SHADE_LIMITS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
"""The shares of a row at which a darker shade begins."""
_OPACITIES = (0.08, 0.14, 0.2, 0.26, 0.32, 0.8, 0.9, 1.0)  # no middle: a number has to be readable on every shade
_FIRST_DARK_SHADE = 5
_FINE_OPACITIES = (0.3, 0.36, 0.42, 0.5, 0.6, 0.75, 0.9, 1.0)  # of cells of about a pixel, without numbers
SERIES_DASHES = ("", "6 3", "2 2", "8 3 2 3", "1 3", "12 4")  # series differ by their dashes too, not by colour alone
MAX_SERIES = len(SERIES_DASHES)
_MAX_AXIS_LABELS = 40
_PLOT = 300  # the side of the square of a chart with two axes
_LEFT, _TOP, _BOTTOM = 48, 10, 44


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, its value (0 or more; None is drawn as no bar), and the text beside it."""

    label: str
    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """A named polyline; coordinates are shares from 0 to 1."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Point:
    """A point with shares from 0 to 1 as coordinates, a text that explains it, and its weight from 0 to 1."""

    x: float
    y: float
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a table that are not 0: positions of rows and columns, and counts; `totals` has one per row."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]

    def shades(self) -> NDArray[np.int64]:
        """The shade of each cell (0 to 7), by its share of its row."""
        shares = self.counts / np.maximum(self.totals[self.rows], 1e-300)
        return np.searchsorted(np.asarray(SHADE_LIMITS), shares, side="right").astype(np.int64)


def bars(items: Sequence[Bar], *, title: str, description: str, maximum: float | None = None) -> Markup:
    """Horizontal bars from 0 to `maximum`, by default the largest value, with their texts."""
    longest = max((len(svg.shortened(item.label)) for item in items), default=0)
    left, width, step = longest * svg.LETTER_WIDTH + 8, 240, 22
    top = maximum or max((item.value or 0 for item in items), default=0) or 1
    parts = []
    for number, item in enumerate(items):
        y = number * step
        parts.append(svg.label(left - 6, y + 15, item.label, anchor="end"))
        length = 0 if item.value is None else width * min(1.0, max(0.0, item.value / top))
        bar = svg.element("rect", {"class": "bar", "x": left, "y": y + 4, "width": length, "height": step - 8})
        parts.append(svg.element("g", {}, bar + svg.tooltip(f"{item.label}: {item.text}")))
        parts.append(svg.label(left + length + 6, y + 15, item.text))
    room = max((len(item.text) for item in items), default=0) * svg.LETTER_WIDTH + 12
    return svg.drawing(left + width + room, max(1, len(items)) * step, title, description, parts)


def lines(
    series: Sequence[Series], *, title: str, description: str, x_label: str, y_label: str, has_diagonal: bool = False
) -> Markup:
    """Polylines in the unit square with a legend below; raises ValueError for more than MAX_SERIES of them."""
    if len(series) > MAX_SERIES:
        raise ValueError(f"a chart has at most {MAX_SERIES} series")
    parts = [*_axes(x_label, y_label), *([_diagonal()] if has_diagonal else [])]
    bottom = _TOP + _PLOT + _BOTTOM
    for number, one in enumerate(series):
        stroke: svg.Attributes = {"class": f"series series-{number + 1}", "fill": "none", "stroke-width": 2}
        if SERIES_DASHES[number]:
            stroke["stroke-dasharray"] = SERIES_DASHES[number]
        line = svg.element("polyline", stroke | {"points": _polyline(one.points)})
        parts.append(svg.element("g", {}, line + svg.tooltip(one.name)))
        if len(series) > 1:
            y = bottom + number * 18
            key = {"x1": _LEFT, "x2": _LEFT + 28, "y1": y + 4, "y2": y + 4}
            parts += [svg.element("line", stroke | key), svg.label(_LEFT + 36, y + 8, one.name)]
    legend = len(series) * 18 + 4 if len(series) > 1 else 0
    return svg.drawing(_LEFT + _PLOT + 12, bottom + legend, title, description, parts)


def scatter(
    points: Sequence[Point], *, title: str, description: str, x_label: str, y_label: str, has_diagonal: bool = False
) -> Markup:
    """Points in the unit square; the area of each grows with its weight."""
    parts = [*_axes(x_label, y_label), *([_diagonal()] if has_diagonal else [])]
    for point in points:
        radius = 2.5 + 6 * math.sqrt(min(1.0, max(0.0, point.weight)))
        circle: svg.Attributes = {"class": "point", "cx": _across(point.x), "cy": _up(point.y), "r": radius}
        parts.append(svg.element("circle", circle, svg.tooltip(point.text)))
    return svg.drawing(_LEFT + _PLOT + 12, _TOP + _PLOT + _BOTTOM, title, description, parts)


def heat_map(
    cells: Cells,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    *,
    title: str,
    description: str,
    row_axis: str,
    column_axis: str,
) -> Markup:
    """A table of counts as shades of their share of the row; with numbers up to MAX_READABLE_CLASSES.

    Above that, each shade is one path with a stroke per run of equal cells, and only some labels are written.
    """
    largest = max(len(row_labels), len(column_labels), 1)
    readable = largest <= MAX_READABLE_CLASSES
    side = (30.0 if largest <= 20 else 24.0) if readable else max(1.0, 640 / largest)
    step = 1 if readable else math.ceil(largest / _MAX_AXIS_LABELS)
    turned = not readable or max((len(label) for label in column_labels), default=0) > 3
    left = 22 + svg.label_room(row_labels[::step])
    top = 20 + (svg.label_room(column_labels[::step]) if turned else 14)
    parts = [
        svg.label(left, 12, column_axis, css="axis"),
        svg.turned_label(12, top, row_axis, css="axis", anchor="end"),
    ]
    parts += [
        svg.label(left - 5, top + (at + 0.5) * side + 4, row_labels[at], anchor="end")
        for at in range(0, len(row_labels), step)
    ]
    for at in range(0, len(column_labels), step):
        x = left + (at + 0.5) * side
        label = column_labels[at]
        parts.append(
            svg.turned_label(x + 4, top - 5, label) if turned else svg.label(x, top - 5, label, anchor="middle")
        )
    width, height = len(column_labels) * side, len(row_labels) * side
    frame: svg.Attributes = {"class": "grid", "x": left, "y": top, "width": width, "height": height, "fill": "none"}
    parts.append(svg.element("rect", frame))
    if readable:
        parts += _numbered_cells(cells, row_labels, column_labels, (left, top, side))
    else:
        group: svg.Attributes = {"class": "shade", "stroke": "currentColor", "stroke-width": 1, "fill": "none"}
        group["transform"] = f"translate({svg.coordinate(left)} {svg.coordinate(top + side / 2)}) scale({side:.5g})"
        parts.append(svg.element("g", group, "".join(_shade_paths(largest_shares(cells)))))
    return svg.drawing(left + width + 6, top + height + 6, title, description, parts, shrinks=False)


def largest_shares(cells: Cells, most: int = MAX_DRAWN_CELLS) -> Cells:
    """The `most` cells with the largest shares of their rows, in their order; all, if there are no more."""
    if len(cells.counts) <= most:
        return cells
    shares = cells.counts / np.maximum(cells.totals[cells.rows], 1e-300)
    kept = np.sort(np.argpartition(-shares, most)[:most])
    return Cells(cells.rows[kept], cells.columns[kept], cells.counts[kept], cells.totals)


def shade_key(*, fine: bool = False) -> Markup:
    """The shades with the shares of a row that they stand for; `fine`: those of a heat map without numbers."""
    ends = [f"{limit * 100:g}" for limit in SHADE_LIMITS]
    texts = [f"under {ends[0]} %", *(f"{low} to {high} %" for low, high in pairwise(ends)), f"{ends[-1]} % and more"]
    parts, opacities = [], _FINE_OPACITIES if fine else _OPACITIES
    for shade, text in enumerate(texts):
        x, y = 4 + 136 * (shade // 4), 4 + 22 * (shade % 4)
        place: svg.Attributes = {"x": x, "y": y, "width": 16, "height": 16, "fill-opacity": opacities[shade]}
        parts.append(svg.element("rect", place | {"class": "shade", "fill": "currentColor"}))
        parts.append(svg.label(x + 22, y + 12, text))
    return svg.drawing(272, 92, "Shades", "The share of its row that each shade stands for.", parts)


def _numbered_cells(
    cells: Cells, rows: Sequence[str], columns: Sequence[str], place: tuple[float, float, float]
) -> Iterator[str]:
    left, top, side = place
    values = zip(
        cells.rows.tolist(), cells.columns.tolist(), cells.counts.tolist(), cells.shades().tolist(), strict=True
    )
    for row, column, count, shade in values:
        x, y = left + column * side, top + row * side
        fill: svg.Attributes = {"class": "shade", "fill": "currentColor", "fill-opacity": _OPACITIES[shade]}
        square = svg.element("rect", fill | {"x": x, "y": y, "width": side - 1, "height": side - 1})
        css = "cell-text on" if shade >= _FIRST_DARK_SHADE else "cell-text"
        number = svg.label(x + side / 2, y + side / 2 + 4, f"{count:g}", css=css, anchor="middle")
        yield svg.element("g", {}, square + number + svg.tooltip(f"{rows[row]} → {columns[column]}: {count:g}"))


def _shade_paths(cells: Cells) -> Iterator[str]:
    """One path for each shade. A stroke covers a run of neighbouring cells; moves within a row are relative."""
    order = np.lexsort((cells.columns, cells.rows))
    rows, columns, shades = cells.rows[order], cells.columns[order], cells.shades()[order]
    for shade, opacity in enumerate(_FINE_OPACITIES):
        chosen = shades == shade
        if chosen.any():
            path = _runs(rows[chosen], columns[chosen])
            yield svg.element("path", {"stroke-opacity": opacity, "d": path})


def _runs(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> str:
    """The path over these cells, which are sorted by row and column."""
    is_start = np.ones(len(rows), dtype=bool)
    is_start[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1] + 1)
    starts = np.flatnonzero(is_start)
    lengths = np.diff(np.append(starts, len(rows)))
    at_row, at_column = rows[starts], columns[starts]
    is_same_row = np.zeros(len(starts), dtype=bool)
    is_same_row[1:] = at_row[1:] == at_row[:-1]
    gaps = np.zeros(len(starts), dtype=np.int64)
    gaps[1:] = at_column[1:] - (at_column[:-1] + lengths[:-1])
    values = zip(
        is_same_row.tolist(), gaps.tolist(), at_column.tolist(), at_row.tolist(), lengths.tolist(), strict=True
    )
    return "".join(
        f"m{gap} 0h{length}" if same else f"M{column} {row}h{length}" for same, gap, column, row, length in values
    )


def _axes(x_label: str, y_label: str) -> Iterator[str]:
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _across(tick), _up(tick)
        yield svg.element("line", {"class": "grid", "x1": x, "x2": x, "y1": _TOP, "y2": _TOP + _PLOT})
        yield svg.element("line", {"class": "grid", "x1": _LEFT, "x2": _LEFT + _PLOT, "y1": y, "y2": y})
        yield svg.label(x, _TOP + _PLOT + 16, f"{tick:g}", anchor="middle")
        yield svg.label(_LEFT - 6, y + 4, f"{tick:g}", anchor="end")
    yield svg.label(_LEFT + _PLOT / 2, _TOP + _PLOT + 34, x_label, css="axis", anchor="middle")
    yield svg.turned_label(12, _TOP + _PLOT / 2, y_label, css="axis", anchor="middle")


def _diagonal() -> str:
    ends = {"x1": _across(0), "y1": _up(0), "x2": _across(1), "y2": _up(1)}
    return svg.element("line", {"class": "grid", "stroke-dasharray": "3 3", **ends})


def _across(share: float) -> float:
    return _LEFT + _PLOT * min(1.0, max(0.0, share))


def _up(share: float) -> float:
    return _TOP + _PLOT * (1 - min(1.0, max(0.0, share)))


def _polyline(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{svg.coordinate(_across(x))},{svg.coordinate(_up(y))}" for x, y in points)
