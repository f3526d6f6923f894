"""Integer points of a convex region of the plane, counted and listed without walking over all of it.

A region is a rectangle cut by half-planes with integer coefficients. Where real points fill a column, the number of
its integer points is floor(top) - ceil(bottom) + 1, which is never negative; so the points of all columns are sums of
floors along the edges, each a Euclidean algorithm (the "floor sum"). All arithmetic is in integers.
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
        whole, slope = divmod(slope, divisor)
        total += whole * (terms * (terms - 1) // 2)
        whole, shift = divmod(shift, divisor)
        total += whole * terms
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
    """The columns that hold real points: none where last < first."""
    tops: tuple[_Line, ...]
    floors: tuple[_Line, ...]
    """Lines above all points, and lines below the negatives of all points (so that both are bounds from above)."""

    @classmethod
    def of(cls, width: int, height: int, cuts: Iterable[HalfPlane]) -> "LatticeRegion":
        """The region of these half-planes."""
        cuts = tuple(dict.fromkeys(cuts))
        tops: list[_Line] = [(0, height, 1)]
        floors: list[_Line] = [(0, 0, 1)]
        beside = [(-1, 0), (1, width)]  # (a, c): a·x ≤ c
        for a, b, c in cuts:
            if b > 0:
                tops.append((-a, c, b))
            elif b < 0:
                floors.append((-a, c, -b))
            else:
                beside.append((a, c))
        # bottom ≤ top in every column: -(pf·x + qf)/rf ≤ (pt·x + qt)/rt
        beside += [(-(pf * rt + pt * rf), qf * rt + qt * rf) for pt, qt, rt in tops for pf, qf, rf in floors]
        first, last = 0, width
        for a, c in beside:
            if a > 0:
                last = min(last, c // a)
            elif a < 0:
                first = max(first, -(c // -a))
            elif c < 0:
                last = -1
        return cls(width, height, cuts, first, last, tuple(tops), tuple(floors))

    def column(self, x: int) -> tuple[int, int]:
        """The lowest and the highest integer y of a column between first and last; none where highest < lowest."""
        top = min((p * x + q) // r for p, q, r in self.tops)
        return -min((p * x + q) // r for p, q, r in self.floors), top

    def count(self, first: int | None = None, last: int | None = None) -> int:
        """How many integer points the columns from `first` to `last` hold."""
        first = self.first if first is None else max(first, self.first)
        last = self.last if last is None else min(last, self.last)
        if last < first:
            return 0
        return _sum_floors(self.tops, first, last) + _sum_floors(self.floors, first, last) + last - first + 1

    def points(self) -> Iterator[tuple[int, int]]:
        """All points, by x and then y; empty stretches are skipped."""
        x = self._next(self.first)
        while x is not None:
            low, high = self.column(x)
            for y in range(low, high + 1):
                yield x, y
            x = self._next(x + 1)

    def _next(self, x: int) -> int | None:
        """The first column from x on that holds a point."""
        step = 1
        while x <= self.last:
            if self.count(x, x + step - 1):
                return bisect_first(x, x + step - 1, partial(self._has_points, x))
            x += step
            step *= 2
        return None

    def _has_points(self, first: int, last: int) -> bool:
        return self.count(first, last) > 0

    def nth(self, place: int) -> tuple[int, int]:
        """The point at this place (from 0) of all points in order."""
        x = bisect_first(self.first, self.last, lambda end: self.count(self.first, end) > place)
        return x, self.column(x)[0] + place - self.count(self.first, x - 1)

    def span(self) -> tuple[int, int]:
        """The least and the greatest x of the points; there is at least one."""
        first = self._next(self.first)
        assert first is not None
        return first, bisect_first(first, self.last, lambda end: self.count(end + 1, self.last) == 0)

    def turned(self) -> "LatticeRegion":
        """The same points with x and y exchanged."""
        return LatticeRegion.of(self.height, self.width, [(b, a, c) for a, b, c in self.cuts])


def bisect_first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least whole number from low to high of which it holds, and high + 1 where there is none.

    What holds of one has to hold of all that are greater.
    """
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        low, end = (low, middle) if holds(middle) else (middle + 1, end)
    return low


def _sum_floors(lines: Sequence[_Line], first: int, last: int) -> int:
    """The sum over the columns of the floor of the lowest line; between two crossings one line is the lowest."""
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
            if steeper > 0:  # the other one is lower to the right of where they cross
                end = min(end, (q2 * r - q * r2) // steeper)
        total += floor_sum(end - start + 1, p, p * start + q, r)
        start = end + 1
    return total
