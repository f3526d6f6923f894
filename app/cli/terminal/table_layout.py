"""Tables that keep numbers, keys and ids whole on a narrow terminal, numbers of one column in step, times to the second."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import clean

if TYPE_CHECKING:
    from rich.console import Console

COLUMN_GAP = 2  # columns between two columns of a table
MIN_WRAPPED_WIDTH = 10  # a text that may be wrapped keeps at least this much
UNDEFINED = "–"  # noqa: RUF001 (a dash is what is meant)
CellFormatter = Callable[[Sequence[Any]], list[str]]


def format_texts(values: Sequence[Any]) -> list[str]:
    """Cleaned texts; None is an empty cell."""
    return ["" if value is None else clean(value) for value in values]


def format_numbers(values: Sequence[Any]) -> list[str]:
    """Values of one column: six significant digits of the one that needs most decimals, as many decimals for all.

    None is a dash; a text (and so an empty cell) stays as it is; whole numbers stay whole among themselves.
    """
    short = [f"{value:.6g}" for value in values if _is_number(value)]
    exact = any(isinstance(value, float) for value in values)
    places = max((len(text.partition(".")[2]) for text in short if "e" not in text), default=0) if exact else 0
    return [_format_number(value, places) for value in values]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _format_number(value: Any, places: int) -> str:
    if value is None:
        return UNDEFINED
    if not _is_number(value):
        return clean(value)
    short = f"{value:.6g}"
    return short if "e" in short else f"{value:.{places}f}"


def format_time(text: object) -> str:
    """A time of the API to the second, in UTC; what is not a time stays as it is."""
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return str(text)


def format_duration(seconds: float) -> str:
    """A length of time, roughly."""
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(1, round(seconds))} s"


def format_times(values: Sequence[Any]) -> list[str]:
    """Times to the second; None is an empty cell."""
    return ["" if value is None else clean(format_time(value)) for value in values]


@dataclass(frozen=True)
class Column:
    """A column of a table: heading, values, how they are written, and what may happen to it where room is short."""

    name: str
    values: Sequence[Any]
    shown: CellFormatter = format_texts
    right: bool = False
    wrap: bool = False  # free text: its lines may be broken; all else stays whole
    far: int = 0  # 0 is always shown; where the table would not fit the farthest goes first, of equals the last

    def texts(self) -> list[str]:
        """The cells as they are written."""
        return self.shown(self.values)


def score_column(name: str, values: Sequence[Any], *, far: int = 0) -> Column:
    """A column of metric values."""
    return Column(name, values, formatter=format_numbers, right=True, drop_priority=far)


@dataclass(frozen=True)
class _MeasuredColumn:
    """A column with its written cells and the room that it needs."""

    column: Column
    cells: list[str]
    needs: int


def _measure_column(column: Column) -> _MeasuredColumn:
    from rich.cells import cell_len

    cells = column.texts()
    widest = max(map(cell_len, [clean(column.name), *cells]))
    return _MeasuredColumn(
        column, cells, min(widest, max(MIN_WRAPPED_WIDTH, cell_len(column.name))) if column.wrap else widest
    )


def _drop_columns_to_fit(laid: Sequence[_MeasuredColumn], width: int) -> list[_MeasuredColumn]:
    """The columns that fit beside each other: far ones are left out from the end."""
    kept = list(laid)
    while sum(one.needs for one in kept) + COLUMN_GAP * (len(kept) - 1) > width:
        farthest = max(range(len(kept)), key=lambda place: (kept[place].column.far, place))
        if not kept[farthest].column.far:
            break
        del kept[farthest]
    return kept


def show_table(
    console: "Console", columns: Iterable[Column], *, title: str | None = None, more: str = "--json"
) -> None:
    """Print a table; where far columns were left out, a line below counts them and says where they are (`more`)."""
    from rich.text import Text

    laid = [_measure_column(column) for column in columns]
    kept = _drop_columns_to_fit(laid, console.width)
    if title is not None:
        console.print(Text(clean(title), style="italic"), soft_wrap=True)
    if sum(one.needs for one in kept) + COLUMN_GAP * (len(kept) - 1) > console.width:
        _show_records(console, kept)
    else:
        console.print(_build_table(kept))
    left_out = len(laid) - len(kept)
    if left_out:
        console.print(f"… {left_out} more column{'' if left_out == 1 else 's'}: {more}", soft_wrap=True)


def _build_table(laid: Sequence[_MeasuredColumn]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    # Padding right of a column and its divider are the gap.
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, COLUMN_GAP - 1, 0, 0))
    for one in laid:
        name, right, wrap = clean(one.column.name), one.column.right, one.column.wrap
        made.add_column(
            Text(name), justify="right" if right else "left", no_wrap=not wrap, min_width=one.needs, overflow="fold"
        )
    for cells in zip(*(one.cells for one in laid), strict=True):
        made.add_row(*map(Text, cells))
    return made


def _show_records(console: "Console", laid: Sequence[_MeasuredColumn]) -> None:
    """One line per cell, for terminals on which not even the columns that matter fit side by side."""
    for place in range(len(laid[0].cells)):
        for one in laid:
            console.print(f"{clean(one.column.name)}: {one.cells[place]}", soft_wrap=True)
        console.print()
