"""The chart of an order as SVG: for each system its value with interval, and its rank set. The functions are pure.

Texts and lines take the colour of the text around them; classes allow a page to colour the rest: `band` (every other
tie group), `grid`, `whisker`, `mark`, `rank-set`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

MAX_CHARTED = 500
"""So many systems are drawn."""
_STEP, _TOP, _BOTTOM = 22, 46, 30
_LETTER, _LONGEST = 7.0, 30
_VALUES, _RANKS, _GAP = 250, 320, 34
_STYLE = (
    "svg{font-family:system-ui,sans-serif;color:#1c2430;background:#fff}"
    ".band{fill:#1f5fa8;fill-opacity:.06}.grid{stroke:#8894a3;stroke-opacity:.35}"
    ".whisker,.rank-set{stroke:#1f5fa8}.mark{fill:#1f5fa8}"
    "@media(prefers-color-scheme:dark){svg{color:#e4e9f0;background:#12161c}"
    ".whisker,.rank-set{stroke:#7fb2ee}.mark,.band{fill:#7fb2ee}}"
)
_TITLE = "Values with 95 % intervals, and rank sets"
_DESCRIPTION = "One row per system, best first. Left: its value and 95 % interval. Right: its rank, and the ranks that it may have."


def chart_file(report: Mapping[str, Any]) -> str:
    """The chart as a file of its own, with its colours."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + rank_chart(report, style=_STYLE) + "\n"


def rank_chart(report: Mapping[str, Any], *, style: str = "") -> str:
    """The chart of a report as an SVG element; `style` is a style sheet to put into it."""
    rows = report["rows"][:MAX_CHARTED]
    left = max(len(_short(row["system"])) for row in rows) * _LETTER + 16
    height = _TOP + len(rows) * _STEP + _BOTTOM
    width = left + _VALUES + _GAP + _RANKS + 16
    values = _ValueAxis(rows, left, _VALUES)
    ranks = _RankAxis(len(report["rows"]), left + _VALUES + _GAP, _RANKS)
    bottom = height - _BOTTOM
    parts = [
        f"<title>{_TITLE}</title><desc>{_DESCRIPTION}</desc>",
        f"<style>{style}</style>" if style else "",
        *_bands(rows, width),
        *_axis(values.ticks(), bottom),
        *_axis(ranks.ticks(), bottom),
        _text(left, 16, "value", weight="bold"),
        _text(left + _VALUES + _GAP, 16, "rank", weight="bold"),
    ]
    for number, row in enumerate(rows):
        y = _TOP + (number + 0.5) * _STEP
        parts.append(f"<g>{''.join(_row(row, y, left, values, ranks))}</g>")
    head = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {head} font-size="12" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


class _ValueAxis:
    def __init__(self, rows: Sequence[Mapping[str, Any]], left: float, width: float) -> None:
        ends = [float(row[name]) for row in rows for name in ("value", "low", "high") if row[name] is not None]
        self._low, self._high = min(ends), max(ends)
        if self._low == self._high:
            self._low, self._high = self._low - 0.5, self._high + 0.5
        self._left, self._width = left, width

    def x(self, value: float) -> float:
        return self._left + self._width * (value - self._low) / (self._high - self._low)

    def ticks(self) -> Iterator[tuple[float, str]]:
        step = _round_step((self._high - self._low) / 4)
        first = math.ceil(self._low / step - 1e-9)
        for number in range(first, math.floor(self._high / step + 1e-9) + 1):
            yield self.x(number * step), f"{number * step:.6g}"


class _RankAxis:
    def __init__(self, size: int, left: float, width: float) -> None:
        self._size, self._left, self._width = size, left, width

    def x(self, rank: float) -> float:
        return self._left + self._width * (rank - 1) / max(1, self._size - 1)

    def ticks(self) -> Iterator[tuple[float, str]]:
        step = max(1, round(_round_step(self._size / 8)))
        for rank in sorted({1, *range(step, self._size + 1, step), self._size}):
            if rank in (self._size, 1) or self._size - rank >= step / 2:
                yield self.x(rank), f"{rank}"


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least this."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= least * (1 - 1e-9)), 10 * power)


def _row(row: Mapping[str, Any], y: float, left: float, values: _ValueAxis, ranks: _RankAxis) -> Iterator[str]:
    yield f"<title>{_escaped(_sentence(row))}</title>"
    yield _text(left - 10, y + 4, _short(row["system"]), anchor="end")
    if row["low"] is not None and row["high"] is not None:
        yield _line("whisker", values.x(row["low"]), values.x(row["high"]), y, 2)
    if row["value"] is not None:
        yield f'<circle class="mark" cx="{values.x(row["value"]):.1f}" cy="{y:.1f}" r="3.5"/>'
    if row["rank_low"] is not None:
        yield _line("rank-set", ranks.x(row["rank_low"]), ranks.x(row["rank_high"]), y, 6)
    if row["rank"] is not None:
        yield f'<circle class="mark" cx="{ranks.x(row["rank"]):.1f}" cy="{y:.1f}" r="5"/>'


def _sentence(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return f"{row['system']}: no value"
    name, value = row["system"], f"{row['value']:.6g}"
    interval = "no interval" if row["low"] is None else f"interval {row['low']:.6g} to {row['high']:.6g}"
    if row["rank_low"] is None:
        return f"{name}: {value}, {interval}, no rank set"
    return f"{name}: {value}, {interval}, rank {row['rank']}, may have ranks {row['rank_low']} to {row['rank_high']}"


def _bands(rows: Sequence[Mapping[str, Any]], width: float) -> Iterator[str]:
    for number, row in enumerate(rows):
        if row["tie_group"] is not None and row["tie_group"] % 2:
            place = f'x="0" y="{_TOP + number * _STEP}" width="{width:.0f}" height="{_STEP}"'
            yield f'<rect class="band" fill-opacity="0.06" {place}/>'


def _axis(ticks: Iterator[tuple[float, str]], bottom: float) -> Iterator[str]:
    for x, text in ticks:
        place = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom:.0f}"'
        yield f'<line class="grid" stroke="currentColor" stroke-opacity="0.25" {place}/>'
        yield _text(x, _TOP - 12, text, anchor="middle")
        yield _text(x, bottom + 18, text, anchor="middle")


def _line(css: str, start: float, end: float, y: float, thickness: int) -> str:
    start, end = (start - 0.5, end + 0.5) if end - start < 1 else (start, end)
    place = f'x1="{start:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
    round_ends = ' stroke-linecap="round" stroke-opacity="0.55"' if css == "rank-set" else ""
    return f'<line class="{css}" stroke="currentColor" stroke-width="{thickness}"{round_ends} {place}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-weight="{weight}">{_escaped(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _escaped(text: str) -> str:
    """A text without the characters that XML does not allow."""
    return escape("".join(letter if letter.isprintable() or letter == " " else "\ufffd" for letter in text))
