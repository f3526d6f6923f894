"""How far the rows of a table of counts depend on its columns: Pearson's chi-squared and Cramér's V, exactly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.scoring.numeric.exact import quotient_root


@dataclass(frozen=True, slots=True)
class Association:
    """Both measures of one table, or None with the reason.

    `n` is the sum of all counts; `rows` and `columns` count those that hold any.
    """

    n: int
    rows: int
    columns: int
    chi_squared: float | None
    cramers_v: float | None
    reason: str | None = None

    @property
    def degrees_of_freedom(self) -> int:
        """(rows - 1)(columns - 1)."""
        return max(0, self.rows - 1) * max(0, self.columns - 1)


def association(table: Sequence[Sequence[int]]) -> Association:
    """Chi-squared without continuity correction and V of an r × c table of whole numbers ≥ 0.

    Rows and columns without any count are left out. Chi-squared is one division of integers, V the correctly rounded
    root of an exact quotient. Source: Pearson 1900; Cramér 1946, Mathematical methods of statistics, sec 21.9; used by
    Wenzel sec 4.
    """
    kept = [row for row in table if any(row)]
    columns = [column for column in zip(*kept, strict=True) if any(column)]
    n = sum(map(sum, kept))
    short = min(len(kept), len(columns))
    if short < 2:
        reason = "the table has fewer than two rows or fewer than two columns that hold any count"
        return Association(n, len(kept), len(columns), None, None, reason)
    above, below = _excess_over_independence(kept, columns)
    strength = quotient_root(above, below * (short - 1))
    return Association(n, len(kept), len(columns), n * above / below, strength)


def _excess_over_independence(rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> tuple[int, int]:
    """The sum of count² / (row total × column total) over the cells, less 1: chi-squared for each instance.

    Numerator and denominator have factors in common: to find them would take longer than all the rest.
    """
    across = [sum(row) for row in rows]
    common = math.lcm(*across)
    shares = [common // size for size in across]
    parts: dict[int, int] = {}  # by column total
    for column in columns:
        size = sum(column)
        parts[size] = parts.get(size, 0) + sum(o * o * share for o, share in zip(column, shares, strict=True) if o)
    above, below = _sum_quotients([(part, size) for size, part in parts.items()])
    return above - common * below, common * below


def _sum_quotients(quotients: list[tuple[int, int]]) -> tuple[int, int]:
    """The sum of at least one quotient, by halves: numbers of equal length are multiplied fastest."""
    if len(quotients) == 1:
        return quotients[0]
    middle = len(quotients) // 2
    (above, below), (over, under) = _sum_quotients(quotients[:middle]), _sum_quotients(quotients[middle:])
    return above * under + over * below, below * under
