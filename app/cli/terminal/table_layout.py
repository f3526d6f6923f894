"""Tables for terminals of any width: numbers, keys and ids are never broken, and a column's numbers have equal decimals."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import clean

if TYPE_CHECKING:
    from rich.console import Console

COLUMN_GAP = 2
MIN_WRAPPED_WIDTH = 10  # of a column whose text may be wrapped
TIME_IN_ZONES_WIDTH = 24  # so that the time in UTC and the local one are a line each
UNDEFINED = "–"  # noqa: RUF001 (an en dash on purpose)
CellFormatter = Callable[[Sequence[Any]], list[str]]
_ID = re.compile(r"[0-9a-f]{32}")


def format_texts(values: Sequence[Any]) -> list[str]:
    """The values as clean text; None becomes an empty cell."""
    return ["" if value is None else clean(value) for value in values]


def format_numbers(values: Sequence[Any]) -> list[str]:
    """The numbers of a column with their decimal points aligned: six significant digits of each value, no more.

    A board may show no more digits than that, and a zero that pads one would be a wrong digit. None becomes a dash,
    text stays as it is, and a column of integers has no decimals.
    """
    short = [f"{value:.6g}" for value in values if _is_number(value)]
    has_floats = any(isinstance(value, float) for value in values)
    decimals = max((len(text.partition(".")[2]) for text in short if "e" not in text), default=0) if has_floats else 0
    return [_format_number(value, decimals) for value in values]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _format_number(value: Any, decimals: int) -> str:
    if value is None:
        return UNDEFINED
    if not _is_number(value):
        return clean(value)
    short = f"{value:.6g}"
    if "e" in short:
        return short
    known = min(decimals, max(1, len(f"{value:#.6g}".partition(".")[2])))
    return f"{value:.{known}f}" + " " * (decimals - known)


def format_time(text: object) -> str:
    """A time of the API in UTC, to the second; text that is not a time stays as it is."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return str(text)


def time_in_zones(holder: Mapping[str, Any], field: str, zone: str | None = None) -> str | None:
    """A time in UTC and, if that is another one, in the time zone of its challenge."""
    if holder.get(field) is None:
        return None
    zone, local = zone or str(holder.get("timezone") or "UTC"), holder.get(f"{field}_local")
    utc = f"{format_time(holder[field])} UTC"
    if zone == "UTC" or local is None:
        return utc
    there = str(local)[:19].replace("T", " ")
    return f"{utc} ({there[11:] if there[:10] == utc[:10] else there} {zone})"  # the date only if it is another one


def format_duration(seconds: float) -> str:
    """A duration, rounded to a suitable unit."""
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(1, round(seconds))} s"


def format_times(values: Sequence[Any]) -> list[str]:
    """Times in UTC, to the second; None becomes an empty cell."""
    return ["" if value is None else clean(format_time(value)) for value in values]


@dataclass(frozen=True)
class Column:
    """A column of a table: heading, values, formatter, and its behaviour on a terminal that is too narrow."""

    name: str
    values: Sequence[Any]
    formatter: CellFormatter = format_texts
    right: bool = False
    wrap: bool = False  # for free text, which may be broken into lines
    min_width: int = MIN_WRAPPED_WIDTH  # if it may be wrapped
    drop_priority: int = 0  # 0: never dropped; else the highest goes first, and of equal ones the last

    def formatted_cells(self) -> list[str]:
        """The values as text."""
        return self.formatter(self.values)


def score_column(name: str, values: Sequence[Any], *, drop_priority: int = 0) -> Column:
    """A column of metric values."""
    return Column(name, values, format_numbers, right=True, drop_priority=drop_priority)


def time_column(name: str, values: Sequence[Any], *, drop_priority: int = 0) -> Column:
    """A column of times, whose heading says that they are in UTC."""
    return Column(f"{name} (UTC)", values, format_times, drop_priority=drop_priority)


@dataclass(frozen=True)
class _MeasuredColumn:
    """A column with its cells as text, the width that it needs, and the width at which no cell is broken."""

    column: Column
    cells: list[str]
    width: int
    full_width: int


def _measure_column(column: Column) -> _MeasuredColumn:
    from rich.cells import cell_len

    cells = column.formatted_cells()
    width = full_width = max(map(cell_len, [clean(column.name), *cells]))
    if column.wrap:
        ids = (len(found) for cell in cells for found in _ID.findall(cell))
        width = min(width, max(column.min_width, cell_len(column.name), *ids))
    return _MeasuredColumn(column, cells, width, full_width)


def _total_width(columns: Sequence[_MeasuredColumn]) -> int:
    return sum(column.width for column in columns) + COLUMN_GAP * (len(columns) - 1)


def _drop_columns_to_fit(columns: Sequence[_MeasuredColumn], width: int) -> list[_MeasuredColumn]:
    """The columns that fit side by side; columns with a drop priority are dropped until the rest fits."""
    remaining = list(columns)
    while _total_width(remaining) > width:
        candidate = max(range(len(remaining)), key=lambda index: (remaining[index].column.drop_priority, index))
        if not remaining[candidate].column.drop_priority:
            break
        del remaining[candidate]
    return remaining


def show_table(
    console: "Console", columns: Iterable[Column], *, title: str | None = None, more: str = "--json"
) -> None:
    """Print a table; a line below it counts the dropped columns and says how to see them (`more`).

    Where even the other columns do not fit, each cell of every column has a line of its own.
    """
    from rich.text import Text

    measured_columns = [_measure_column(column) for column in columns]
    shown_columns = _drop_columns_to_fit(measured_columns, console.width)
    if title is not None:
        console.print(Text(clean(title), style="italic"), soft_wrap=True)
    if _total_width(shown_columns) > console.width:
        _show_records(console, measured_columns)
        return
    console.print(_build_table(shown_columns, console.width))
    dropped_count = len(measured_columns) - len(shown_columns)
    if dropped_count:
        console.print(f"… {dropped_count} more column{'' if dropped_count == 1 else 's'}: {more}", soft_wrap=True)


def _share_width(columns: Sequence[_MeasuredColumn], width: int) -> list[int]:
    """The width of each column: what it needs, and of what is left as much as it can use, the narrowest first.

    rich's own division ignores the minimum of a column, and cuts off what then does not fit.
    """
    widths = [column.width for column in columns]
    for _ in range(width - _total_width(columns)):
        growing = [index for index, column in enumerate(columns) if widths[index] < column.full_width]
        if not growing:
            break
        widths[min(growing, key=widths.__getitem__)] += 1
    return widths


def _build_table(columns: Sequence[_MeasuredColumn], total_width: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    # The gap is the padding right of a column and its one-character divider.
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, COLUMN_GAP - 1, 0, 0))
    for measured, width in zip(columns, _share_width(columns, total_width), strict=True):
        column = measured.column
        table.add_column(
            Text(clean(column.name)),
            justify="right" if column.right else "left",
            no_wrap=not column.wrap,
            width=width,
            overflow="fold",
        )
    for cells in zip(*(measured.cells for measured in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _show_records(console: "Console", columns: Sequence[_MeasuredColumn]) -> None:
    """Print one line per cell, for terminals that are too narrow for a table."""
    for row in range(len(columns[0].cells)):
        for measured in columns:
            console.print(f"{clean(measured.column.name)}: {measured.cells[row]}", soft_wrap=True)
        console.print()
