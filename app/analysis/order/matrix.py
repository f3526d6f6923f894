"""A table of results: one row per system, one column per instance."""

import csv
import io
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent

MAX_SIZE = 1e100
"""Larger numbers are refused: their sums and squares could overflow."""
_LISTED = 5
_WORDS = {"true": 1.0, "false": 0.0}
_HOLES = frozenset({"", "na", "nan", "n/a", "null", "none", "-", "?"})
_SHAPE = "The first row is a header: any name, then the instance ids. Each further row is a system: its name, then its values."
_HOLE_REMEDY = (
    "Fill these cells (a system that gave no answer is usually wrong: 0), or leave out the row or the column."
)


@dataclass(frozen=True, slots=True)
class ResultMatrix:
    """The results of systems: `values` is systems × instances. Names and ids are distinct."""

    systems: tuple[str, ...]
    ids: tuple[str, ...]
    values: NDArray[np.float64]

    @property
    def right_or_wrong(self) -> bool:
        """Whether all values are 0 or 1."""
        return bool(((self.values == 0) | (self.values == 1)).all())


def read_matrix(text: str, separator: str = ",") -> ResultMatrix:
    """The table in a CSV text; raises InvalidContent that says which cells are wrong."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator) if any(row)]
    except csv.Error as error:
        raise InvalidContent(f"The table is not CSV: {error}.", remedy=_SHAPE) from None
    if not rows:
        raise InvalidContent("The table is empty.", remedy=_SHAPE)
    ids = tuple(unicodedata.normalize("NFC", name.strip()) for name in rows[0][1:])
    systems = tuple(row[0].strip() for row in rows[1:])
    if not ids or not systems:
        missing = "no instances: its header has one cell" if not ids else "no systems: it has a header alone"
        raise InvalidContent(f"The table has {missing}.", remedy=_SHAPE)
    _refuse_repeated("instance id", ids)
    _refuse_repeated("system", systems)
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(rows[0]):
            detail = f"Row {number} ('{row[0]}') has {len(row)} cells, the header {len(rows[0])}."
            raise InvalidContent(detail, remedy=_SHAPE)
    return ResultMatrix(systems, ids, _parse_cells(systems, ids, [row[1:] for row in rows[1:]]))


def _refuse_repeated(noun: str, names: Sequence[str]) -> None:
    if "" in names:
        raise InvalidContent(f"The {noun} number {names.index('') + 1} is empty.", remedy=_SHAPE)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        shown = ", ".join(f"'{name}'" for name in repeated[:_LISTED])
        remedy = f"Give each {noun} a name of its own, or leave out the repetition."
        if all(_is_number(name) for name in names):
            remedy += f" If the header is missing, add it. {_SHAPE}"
        raise InvalidContent(f"The table has a repeated {noun}: {shown}.", remedy=remedy)


def _is_number(text: str) -> bool:
    return not math.isnan(_parse_cell(text))


def _parse_cells(systems: Sequence[str], ids: Sequence[str], rows: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    values = np.empty((len(systems), len(ids)))
    holes: list[tuple[int, int]] = []
    wrong: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        try:
            values[number] = [float(cell) for cell in row]
        except ValueError:
            values[number] = [_parse_cell(cell) for cell in row]
            holes += [(number, at) for at, cell in enumerate(row) if cell.strip().lower() in _HOLES]
    holes += [(int(row), int(at)) for row, at in np.argwhere(np.isnan(values)) if _is_nan(rows[row][at])]
    bad = ~(np.abs(values) <= MAX_SIZE)
    if bad.any():
        known = set(holes)
        wrong = [(int(row), int(at)) for row, at in np.argwhere(bad) if (int(row), int(at)) not in known]
    if wrong:
        shown = _name_cells(((row, at, f" is '{rows[row][at][:40]}'") for row, at in wrong[:_LISTED]), systems, ids)
        detail = f"The table has cells that are not numbers up to {MAX_SIZE:g} ({len(wrong):,}): {shown}."
        raise InvalidContent(detail, remedy="Use numbers with a decimal point, or 0 and 1 (true and false).")
    if holes:
        distinct = sorted(set(holes))
        shown = _name_cells(((row, at, "") for row, at in distinct[:_LISTED]), systems, ids)
        detail = f"The table has empty cells ({len(distinct):,}): {shown}."
        raise InvalidContent(detail, remedy=_HOLE_REMEDY)
    return values


def _parse_cell(cell: str) -> float:
    text = cell.strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return math.nan


def _is_nan(cell: str) -> bool:
    return cell.strip().lower().lstrip("+-") == "nan"


def _name_cells(cells: Iterable[tuple[int, int, str]], systems: Sequence[str], ids: Sequence[str]) -> str:
    return "; ".join(f"system '{systems[row]}', instance '{ids[at]}'{more}" for row, at, more in cells)


def group_codes(ids: Sequence[str], groups: Mapping[str, str]) -> tuple[list[str], NDArray[np.int64]]:
    """The names of the groups of these instances, sorted, and the position of each instance's group in them."""
    missing = [name for name in ids if name not in groups]
    if missing:
        shown = ", ".join(f"'{name}'" for name in missing[:_LISTED])
        detail = f"Instances of the table have no group ({len(missing):,}): {shown}."
        raise InvalidContent(detail, remedy="Give each instance id of the header a group: {id: group}.")
    names = sorted({groups[name] for name in ids})
    position = {name: at for at, name in enumerate(names)}
    return names, np.array([position[groups[name]] for name in ids], dtype=np.int64)
