"""Association between the rows and columns of a table of counts: Pearson's chi-squared and Cramér's V, exactly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.scoring.numeric.exact import quotient_root


@dataclass(frozen=True, slots=True)
class Association:
    """Both measures of one table, or None with the reason.

    `n` is the sum of all counts; `rows` and `columns` are the numbers of rows and columns that are not all 0.
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

    Rows and columns of zeros are left out. Chi-squared is one division of integers, V the correctly rounded root of an
    exact quotient. Source: Pearson 1900; Cramér 1946, Mathematical methods of statistics, sec 21.9; used by Wenzel
    sec 4.
    """
    rows = [row for row in table if any(row)]
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    n = sum(map(sum, rows))
    shorter = min(len(rows), len(columns))
    if shorter < 2:
        reason = "the table has fewer than two rows or fewer than two columns that hold any count"
        return Association(n, len(rows), len(columns), None, None, reason)
    above, below = _excess_over_independence(rows, columns)
    v = quotient_root(above, below * (shorter - 1))
    return Association(n, len(rows), len(columns), n * above / below, v)


def _excess_over_independence(rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Chi-squared / n as an exact quotient: the sum of count² / (row total × column total) over the cells, minus 1.

    The quotient is not in lowest terms: computing the common factors would take longer than everything else.
    """
    row_totals = [sum(row) for row in rows]
    common = math.lcm(*row_totals)
    shares = [common // size for size in row_totals]
    numerators: dict[int, int] = {}  # by column total, so that equal denominators are added as integers
    for column in columns:
        size = sum(column)
        part = sum(count * count * share for count, share in zip(column, shares, strict=True) if count)
        numerators[size] = numerators.get(size, 0) + part
    above, below = _sum_quotients([(part, size) for size, part in numerators.items()])
    return above - common * below, common * below


def _sum_quotients(quotients: list[tuple[int, int]]) -> tuple[int, int]:
    """The sum of at least one quotient, by halves, because numbers of similar length multiply fastest."""
    if len(quotients) == 1:
        return quotients[0]
    middle = len(quotients) // 2
    (above, below), (over, under) = _sum_quotients(quotients[:middle]), _sum_quotients(quotients[middle:])
    return above * under + over * below, below * under
