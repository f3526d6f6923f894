"""Integer points of a convex region of the plane, counted and listed without scanning the whole region.

A region is a rectangle cut by half-planes with integer coefficients. In a column that contains real points, the number
of integer points is floor(top) - ceil(bottom) + 1, which is never negative. The count over all columns is therefore a sum
of floors along the edges, and each edge is evaluated by a Euclidean algorithm (the "floor sum"). All arithmetic uses
integers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

HalfPlane = tuple[int, int, int]
"""(a, b, c): the half-plane a·x + b·y ≤ c."""
_Line = tuple[int, int, int]  # (p, q, r), r > 0: y = (p·x + q) / r


def floor_sum(terms: int, slope: int, shift: int, divisor: int) -> int:
    """The sum of floor((slope·i + shift) / divisor) over i = 0 … terms - 1; divisor > 0, in O(log) steps."""
    total = 0
    while terms > 0:
        quotient, slope = divmod(slope, divisor)
        total += quotient * (terms * (terms - 1) // 2)
        quotient, shift = divmod(shift, divisor)
        total += quotient * terms
        terms, shift = divmod(slope * terms + shift, divisor)
        divisor, slope = slope, divisor
    return total


@dataclass(frozen=True, slots=True)
class LatticeRegion:
    """The integer points with 0 ≤ x ≤ width, 0 ≤ y ≤ height inside all half-planes."""

    width: int
    height: int
    cuts: tuple[HalfPlane, ...]
    first: int
    last: int
    """The first and last column with real points; there are none where last < first."""
    tops: tuple[_Line, ...]
    floors: tuple[_Line, ...]
    """`tops` bound y from above, `floors` bound -y from above."""

    @classmethod
    def of(cls, width: int, height: int, cuts: Iterable[HalfPlane]) -> "LatticeRegion":
        """The region of these half-planes."""
        cuts = tuple(dict.fromkeys(cuts))
        tops: list[_Line] = [(0, height, 1)]
        floors: list[_Line] = [(0, 0, 1)]
        column_cuts = [(-1, 0), (1, width)]  # (a, c): a·x ≤ c
        for a, b, c in cuts:
            if b > 0:
                tops.append((-a, c, b))
            elif b < 0:
                floors.append((-a, c, -b))
            else:
                column_cuts.append((a, c))
        # bottom ≤ top in every column: -(pf·x + qf)/rf ≤ (pt·x + qt)/rt
        column_cuts += [(-(pf * rt + pt * rf), qf * rt + qt * rf) for pt, qt, rt in tops for pf, qf, rf in floors]
        first, last = 0, width
        for a, c in column_cuts:
            if a > 0:
                last = min(last, c // a)
            elif a < 0:
                first = max(first, -(c // -a))
            elif c < 0:
                last = -1
        return cls(width, height, cuts, first, last, tuple(tops), tuple(floors))

    def column(self, x: int) -> tuple[int, int]:
        """The lowest and highest integer y of a column from first to last; there is none where highest < lowest."""
        top = min((p * x + q) // r for p, q, r in self.tops)
        return -min((p * x + q) // r for p, q, r in self.floors), top

    def count(self, first: int | None = None, last: int | None = None) -> int:
        """The number of integer points in the columns from `first` to `last`."""
        first = self.first if first is None else max(first, self.first)
        last = self.last if last is None else min(last, self.last)
        if last < first:
            return 0
        return _sum_floors(self.tops, first, last) + _sum_floors(self.floors, first, last) + last - first + 1

    def points(self) -> Iterator[tuple[int, int]]:
        """All points, by x and then y; runs of empty columns are skipped."""
        x = self._next(self.first)
        while x is not None:
            low, high = self.column(x)
            for y in range(low, high + 1):
                yield x, y
            x = self._next(x + 1)

    def _next(self, x: int) -> int | None:
        """The first column from x on with a point: doubles the step until a run contains one, then bisects it."""
        step = 1
        while x <= self.last:
            if self.count(x, x + step - 1):
                return bisect_first(x, x + step - 1, partial(self._has_points, x))
            x += step
            step *= 2
        return None

    def _has_points(self, first: int, last: int) -> bool:
        return self.count(first, last) > 0

    def nth(self, index: int) -> tuple[int, int]:
        """The point at this index (from 0) of all points in order."""
        x = bisect_first(self.first, self.last, lambda end: self.count(self.first, end) > index)
        return x, self.column(x)[0] + index - self.count(self.first, x - 1)

    def span(self) -> tuple[int, int]:
        """The least and the greatest x of the points; there is at least one."""
        first = self._next(self.first)
        assert first is not None
        return first, bisect_first(first, self.last, lambda end: self.count(end + 1, self.last) == 0)

    def transposed(self) -> "LatticeRegion":
        """The same points with x and y exchanged."""
        return LatticeRegion.of(self.height, self.width, [(b, a, c) for a, b, c in self.cuts])


def bisect_first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest integer from low to high for which `holds` is true; high + 1 where there is none.

    `holds` must be monotonic: true for every integer above one for which it is true.
    """
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        low, end = (low, middle) if holds(middle) else (middle + 1, end)
    return low


def _sum_floors(lines: Sequence[_Line], first: int, last: int) -> int:
    """The sum over the columns of the floor of the lowest line, one floor sum per stretch with the same lowest line."""
    total, start = 0, first
    while start <= last:
        p, q, r = lines[0]
        for p2, q2, r2 in lines[1:]:
            gap = (p2 * start + q2) * r - (p * start + q) * r2
            if gap < 0 or (gap == 0 and p2 * r < p * r2):
                p, q, r = p2, q2, r2
        end = last
        for p2, q2, r2 in lines:
            steeper = p * r2 - p2 * r
            if steeper > 0:  # the other line is lower to the right of their crossing
                end = min(end, (q2 * r - q * r2) // steeper)
        total += floor_sum(end - start + 1, p, p * start + q, r)
        start = end + 1
    return total
