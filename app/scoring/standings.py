"""Leaderboard standings: how values are ranked, which entry represents a team, and the ranks; equal values share one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context
from functools import cache
from itertools import compress
from math import isfinite
from typing import NamedTuple

ValueKey = tuple[bool, float]
"""The ranking key of one value, see `ranking_key`."""
UNDEFINED: ValueKey = (True, 0.0)
_MAX_DIGITS = 15  # decimal numbers of so many digits survive a conversion to binary64 and back
_FORMATS = tuple(f"%.{digits}g" for digits in range(_MAX_DIGITS + 1))  # by significant digits


class BoardEntry(NamedTuple):
    """An entry of a leaderboard: a submission by its id, which orders submissions by time, and what it is ranked by.

    `keys` are the ranking keys of the ranking metric and, after it, of the tie-breakers. `mark` says why it is shown
    without a rank, such as `withdrawn`.
    """

    submission: str
    team: str
    baseline: bool
    keys: tuple[ValueKey, ...]
    mark: str | None = None

    @property
    def competes(self) -> bool:
        """Whether it has a rank if its value can be ranked."""
        return not self.baseline and self.mark is None


class Standing(NamedTuple):
    """A row of the leaderboard; baselines, marked entries and entries without a value have no rank.

    Tied rows share the rank; `tied` counts them, the row itself included.
    """

    entry: BoardEntry
    rank: int | None
    tied: int | None


def round_significant(value: float | None, digits: int | None) -> float | None:
    """A value rounded to significant digits, half-even on its shortest decimal text; None keeps full precision.

    It is rounded toward 0 if it would become infinite.
    """
    if value is None or digits is None:
        return value
    # A text of more than digits + 1 significant digits is on the same side of every rounding boundary as the exact
    # value, otherwise the boundary would be a shorter text of it. So printf rounds it equally, in half the time.
    if digits < _MAX_DIGITS and float(_FORMATS[digits + 1] % value) != value:
        rounded = float(_FORMATS[digits] % value)
        if isfinite(rounded):
            return rounded
    text = repr(value)
    nearest = float(_context(digits, ROUND_HALF_EVEN).create_decimal(text))
    return nearest if isfinite(nearest) else float(_context(digits, ROUND_DOWN).create_decimal(text))


@cache
def _context(digits: int, rounding: str) -> Context:
    """A context for rounding; making one takes longer than rounding with it."""
    return Context(prec=digits, rounding=rounding)


def ranking_key(direction: str, value: float | None) -> ValueKey:
    """The sort key of a value: smaller is better, equal keys tie, null follows all numbers."""
    if value is None or value != value:  # noqa: PLR0124  NaN cannot be ranked either
        return UNDEFINED
    return False, (-value if direction == "higher" else value) + 0.0  # turns -0.0 into 0.0


def rounded_key(key: ValueKey, digits: int | None) -> ValueKey:
    """The ranking key of the value with the digits that participants see. Rounding keeps the order of keys."""
    undefined, number = key
    rounded = round_significant(number, digits)
    assert rounded is not None
    return undefined, rounded + 0.0


def near_tie_width(digits: int) -> float:
    """A bound on the relative difference of values that are equal when rounded to significant digits.

    Equal ones differ by at most one unit of the last digit. The factor covers the next power of ten and the largest
    binary64 numbers, which are rounded down.
    """
    return float(4 * 10.0 ** (1 - digits))


def standings(entries: Iterable[BoardEntry]) -> list[Standing]:
    """The leaderboard of these entries, best first; among equal values, those that compete come first."""
    rows = sorted(entries, key=lambda entry: (entry.keys, entry.baseline or entry.mark is not None, entry.submission))
    return _assign_ranks(rows)


def _assign_ranks(rows: Sequence[BoardEntry]) -> list[Standing]:
    """Ranks 1, 1, 3 over the rows that can be ranked; the others keep their position without a rank."""
    ranked = [entry.competes and not entry.keys[0][0] for entry in rows]
    sizes = Counter(entry.keys for entry in compress(rows, ranked))  # in the order of the rows
    first: dict[tuple[ValueKey, ...], tuple[int, int]] = {}
    next_rank = 1
    for keys, size in sizes.items():
        first[keys] = (next_rank, size)
        next_rank += size
    board = []
    for entry, is_ranked in zip(rows, ranked, strict=True):
        if is_ranked:
            rank, size = first[entry.keys]
            board.append(Standing(entry, rank, size))
        else:
            board.append(Standing(entry, None, None))
    return board
