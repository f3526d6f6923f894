"""A chart of ranks over time as SVG: one stepped line for each team, rank 1 at the top."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from app.drawing import svg
from app.drawing.charts import MAX_SERIES, SERIES_DASHES

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 560.0, 240.0, 48.0, 12.0, 40.0
_MAX_TICKS = 8


@dataclass(frozen=True, slots=True)
class RankLine:
    """The ranks of a team: each with the time since when it had it; None while it had none."""

    name: str
    ranks: Sequence[tuple[datetime, int | None]]


def rank_chart(lines: Sequence[RankLine], begins: datetime, ends: datetime, *, title: str, description: str) -> Markup:
    """The chart between two times; raises ValueError for more than MAX_SERIES lines."""
    if len(lines) > MAX_SERIES:
        raise ValueError(f"a chart has at most {MAX_SERIES} series")
    lowest = max((rank for line in lines for _, rank in line.ranks if rank is not None), default=1)
    parts = [*_axes(lowest, begins, ends)]
    for number, line in enumerate(lines):
        stroke: svg.Attributes = {"class": f"series series-{number + 1}", "fill": "none", "stroke-width": 2}
        if SERIES_DASHES[number]:
            stroke["stroke-dasharray"] = SERIES_DASHES[number]
        path = _path(line, lowest, begins, ends)
        parts.append(svg.element("g", {}, svg.element("path", stroke | {"d": path}) + svg.tooltip(line.name)))
        y = _TOP + _HEIGHT + _BOTTOM + number * 18
        key: svg.Attributes = {"x1": _LEFT, "x2": _LEFT + 28, "y1": y + 4, "y2": y + 4}
        parts += [svg.element("line", stroke | key), svg.label(_LEFT + 36, y + 8, line.name)]
    height = _TOP + _HEIGHT + _BOTTOM + len(lines) * 18 + 4
    return svg.drawing(_LEFT + _WIDTH + 12, height, title, description, parts)


def _path(line: RankLine, lowest: int, begins: datetime, ends: datetime) -> str:
    """Horizontal strokes at the ranks, joined by vertical ones; a gap while there was none."""
    parts = []
    drawing = False
    for place, (at, rank) in enumerate(line.ranks):
        until = line.ranks[place + 1][0] if place + 1 < len(line.ranks) else ends
        if rank is None:
            drawing = False
            continue
        x, y = svg.coordinate(_across(at, begins, ends)), svg.coordinate(_down(rank, lowest))
        parts.append(f"V{y}" if drawing else f"M{x} {y}")
        parts.append(f"H{svg.coordinate(_across(until, begins, ends))}")
        drawing = True
    return "".join(parts)


def _axes(lowest: int, begins: datetime, ends: datetime) -> list[str]:
    step = -(-lowest // _MAX_TICKS)
    parts = []
    for rank in [1, *range(1 + step, lowest + 1, step)]:
        y = _down(rank, lowest)
        parts.append(svg.element("line", {"class": "grid", "x1": _LEFT, "x2": _LEFT + _WIDTH, "y1": y, "y2": y}))
        parts.append(svg.label(_LEFT - 6, y + 4, str(rank), anchor="end"))
    bottom = _TOP + _HEIGHT + 20
    parts.append(svg.label(_LEFT, bottom, begins.strftime("%Y-%m-%d %H:%M")))
    parts.append(svg.label(_LEFT + _WIDTH, bottom, ends.strftime("%Y-%m-%d %H:%M"), anchor="end"))
    parts.append(svg.label(_LEFT + _WIDTH / 2, bottom + 14, "time (UTC)", css="axis", anchor="middle"))
    parts.append(svg.turned_label(12, _TOP + _HEIGHT / 2, "rank", css="axis", anchor="middle"))
    return parts


def _across(at: datetime, begins: datetime, ends: datetime) -> float:
    whole = (ends - begins).total_seconds() or 1.0
    return _LEFT + _WIDTH * min(1.0, max(0.0, (at - begins).total_seconds() / whole))


def _down(rank: int, lowest: int) -> float:
    return _TOP + 8 + (_HEIGHT - 16) * (rank - 1) / max(1, lowest - 1)
