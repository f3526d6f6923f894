"""Counts of many classes that fit figures: the points of each class, joined by what all have to sum to.

All classes but the one with most points are gone through; what is left for that one is again a region of the plane.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from app.analysis.convert.claims import Claim, Problem
from app.analysis.convert.constraints import Curve, Demand, Sum, demands, structure, table
from app.analysis.convert.lattice_points import Cut, Region
from app.analysis.convert.measures import Ratio, Table
from app.analysis.convert.one_class_search import LIMIT, Answer, Span, line_cuts, narrowed, region_of, spread, within

_MOST = 1_000  # points of a class that are gone through, if it has no more
_SOME = 300  # of a class with more points
_HALVINGS = 30  # in which the range of a ratio is found
_Reach = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Row:
    """One class by itself: its size, the region of its (tp, fp), its tables (all or a part), the claims about it."""

    size: int
    region: Region
    count: int
    tables: tuple[Table, ...]
    claims: tuple[Claim, ...]

    @property
    def whole(self) -> bool:
        """Whether the tables are all that fit."""
        return self.count == len(self.tables)


def own(problem: Problem, number: int) -> tuple[Claim, ...]:
    """The claims about one class, as claims about the first of two: it and the rest."""
    return tuple(replace(claim, row=0) for claim in problem.claims if claim.row == number)


def row_of(problem: Problem, number: int) -> Row:
    """A class by itself; of many points some that lie evenly."""
    assert problem.sizes is not None
    size, claims = problem.sizes[number], own(problem, number)
    region, _ = region_of(claims, size, problem.n, problem.undefined)
    count = region.count()
    some = region.points() if count <= _MOST else (region.nth(place) for place in spread(0, count - 1, _SOME))
    tables = tuple(table(tp, fp, size, problem.n) for tp, fp in some)
    return Row(size, region, count, tables, claims)


def joined(problem: Problem, *, first: int = 10, limit: int = LIMIT) -> Answer:
    """The counts of all classes that fit; a solution holds one table per class, in the order of the sizes."""
    assert problem.sizes is not None
    rows = [row_of(problem, number) for number in range(len(problem.sizes))]
    order = sorted(range(len(rows)), key=lambda number: rows[number].count)
    if not rows[order[0]].count:
        return Answer(0, complete=True)
    answer = _Join.of(problem, rows, order).run(first, limit)
    back = sorted(range(len(order)), key=lambda place: order[place])
    found = tuple(tuple(one[place] for place in back) for one in answer.first)
    return replace(answer, first=found, spans=answer.spans and tuple(answer.spans[place] for place in back))


@dataclass(frozen=True, slots=True)
class _Join:
    """Classes in the order in which they are gone through, and what their tables have to meet together."""

    n: int
    exclusive: bool
    rows: list[Row]
    sums: list[Sum]
    curves: list[Curve]
    reach: list[list[_Reach]]
    """For each sum and each class, between what the shares of this and all later classes lie."""

    @classmethod
    def of(cls, problem: Problem, rows: Sequence[Row], order: Sequence[int]) -> "_Join":
        """The classes in this order."""
        ordered = [rows[number] for number in order]
        sizes = [row.size for row in ordered]
        whole = [claim for claim in problem.claims if claim.row is None]
        how: dict[str, Any] = {"exclusive": problem.exclusive, "undefined": problem.undefined}
        wanted = [one for claim in whole for one in demands(claim, sizes, problem.n, **how)]
        if problem.exclusive:
            wanted.append(structure(sizes, problem.n))
        sums = _merged(one for one in wanted if isinstance(one, Sum))
        curves = [one for one in wanted if isinstance(one, Curve)]
        reach = [_reach(one, ordered, problem.n) for one in sums]
        ordered = [replace(row, tables=_likely_first(row, sums, reach, place)) for place, row in enumerate(ordered)]
        return cls(problem.n, problem.exclusive, ordered, sums, curves, reach)

    def run(self, first: int, limit: int) -> Answer:
        """Look at all combinations, or as many as the limit allows."""
        start = [Fraction(0)] * len(self.sums)
        if not self._within_reach(start, 0):
            return Answer(0, complete=True)
        count, steps, found, boxes = 0, 0, list[tuple[Table, ...]](), list[tuple[tuple[Span, Span], ...]]()
        complete = all(row.whole for row in self.rows[:-1])
        for tables, sums in self._chosen():
            if steps >= limit:
                complete = False
                break
            steps += 1
            if sums is None:
                continue
            answer, looked = self._left(tables, sums, first - len(found), limit)
            steps += looked
            count, complete = count + answer.count, complete and answer.complete
            found += answer.first
            if answer.spans is not None:
                boxes.append(answer.spans)
        return Answer(count, complete, tuple(found), _hull(boxes) if complete and count else None)

    def _within_reach(self, sums: Sequence[Fraction], place: int) -> bool:
        """Whether each sum may still come out, as far as each can tell by itself."""
        for one, total, reach in zip(self.sums, sums, self.reach, strict=True):
            low, high = one.bounds
            if low > high or total + reach[place][0] > high or total + reach[place][1] < low:
                return False
        return True

    def _chosen(self) -> Iterator[tuple[tuple[Table, ...], list[Fraction] | None]]:
        """Tables of all classes but the last one, with their sums; None for those that nothing can complete."""
        last = len(self.rows) - 1
        tables, sums = list[Table](), [[Fraction(0)] * len(self.sums)]
        ahead = [iter(row.tables) for row in self.rows[:1]] if last else []
        if not last:
            yield (), sums[0]
        while ahead:
            place = len(ahead) - 1
            one = next(ahead[-1], None)
            if one is None:
                ahead.pop()
                del tables[place - 1 :], sums[max(place, 1) :]
                continue
            grown = [total + each.share(place, one) for total, each in zip(sums[-1], self.sums, strict=True)]
            if not self._within_reach(grown, place + 1):
                yield (), None
            elif place == last - 1:
                yield (*tables, one), grown
            else:
                tables.append(one)
                sums.append(grown)
                ahead.append(iter(self.rows[place + 1].tables))

    def _left(self, tables: tuple[Table, ...], sums: list[Fraction], first: int, limit: int) -> tuple[Answer, int]:
        """What fits the last class beside these tables of the others, and how many columns were looked at."""
        row, place = self.rows[-1], len(tables)
        cuts: list[Cut] = [*row.region.cuts]
        tests: list[Demand] = [*self.curves]
        for one, total in zip(self.sums, sums, strict=True):
            line = one.line(place, row.size, self.n)
            if line is None:
                tests.append(one.after(total))
            else:
                cuts += line_cuts(line, (one.low, one.high), total, row.size, self.n)
        if self.exclusive:
            cuts += _off_diagonal(tables, row.size)
        region = Region.of(row.region.width, row.region.height, cuts)
        found = within(
            region, tests, lambda tp, fp: (*tables, table(tp, fp, row.size, self.n)), first=first, limit=limit
        )
        spans = None if found.box is None else (*(((tp, tp), (fp, fp)) for tp, fp, _, _ in tables), found.box)
        looked = len(spread(region.first, region.last, limit)) if tests else 0
        return Answer(found.count, found.complete, found.first, spans), looked


def _reach(demand: Sum, rows: Sequence[Row], n: int) -> list[_Reach]:
    """Between what the shares of each class and all later ones lie."""
    found, low, high = list[_Reach](), Fraction(0), Fraction(0)
    for place in reversed(range(len(rows))):
        least, most = _bounds(demand, place, rows[place], n)
        low, high = low + least, high + most
        found.append((low, high))
    return found[::-1]


def _bounds(demand: Sum, place: int, row: Row, n: int) -> _Reach:
    """Between what the share of one class in a sum lies."""
    if row.whole:
        values = [demand.share(place, one) for one in row.tables]
    elif demand.line(place, row.size, n) is not None:
        corners = ((tp, fp) for tp in row.region.span() for fp in row.region.turned().span())
        values = [demand.share(place, table(tp, fp, row.size, n)) for tp, fp in corners]
    else:
        values = [demand.weights[place] * end for end in _outer(row, demand.shares[place], n)]
    return min(values), max(values)


def _outer(row: Row, ratio: Ratio, n: int) -> _Reach:
    """Between what a ratio from -1 to 1 lies at all points of a class, a little further than it does."""

    def least(low: Fraction, high: Fraction, holds: Callable[[Fraction], bool]) -> Fraction:
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return low

    ratio = replace(ratio, empty=ratio.empty or Fraction(0))  # without a value it adds nothing
    lowest, highest = Fraction(-1), Fraction(1)
    return (
        least(lowest, highest, lambda end: narrowed(row.region, ratio, lowest, end, n).count() > 0),
        -least(lowest, highest, lambda end: narrowed(row.region, ratio, -end, highest, n).count() > 0),
    )


def _merged(sums: Iterable[Sum]) -> list[Sum]:
    """The same demands, with one for each sum."""
    found: dict[object, Sum] = {}
    for one in sums:
        same = found.setdefault((one.shares, one.weights), one)
        lows, highs = (
            [each for each in pair if each is not None] for pair in ((one.low, same.low), (one.high, same.high))
        )
        found[one.shares, one.weights] = replace(one, low=max(lows, default=None), high=min(highs, default=None))
    return list(found.values())


def _likely_first(row: Row, sums: Sequence[Sum], reach: Sequence[Sequence[_Reach]], place: int) -> tuple[Table, ...]:
    """The tables of a class, those first with which each sum comes out if all classes lie alike between their bounds."""
    aims = []
    for one, reaches in zip(sums, reach, strict=True):
        low, high = (float(each) for each in reaches[0])
        after = reaches[place + 1] if place + 1 < len(reaches) else (Fraction(0), Fraction(0))
        own_low, own_high = (float(each - rest) for each, rest in zip(reaches[place], after, strict=True))
        bounds = [float(bound) for bound in (one.low, one.high) if bound is not None]
        if bounds and own_high > own_low:
            part = (sum(bounds) / len(bounds) - low) / (high - low)
            aims.append((one, own_low + min(max(part, 0.0), 1.0) * (own_high - own_low), own_high - own_low))

    def distance(table: Table) -> float:
        return sum(abs(float(one.share(place, table)) - aim) / width for one, aim, width in aims)

    return tuple(sorted(row.tables, key=distance)) if aims else row.tables


def _off_diagonal(tables: Iterable[Table], size: int) -> Iterator[Cut]:
    """What lets the mistakes of exclusive classes be laid out off the diagonal of a confusion matrix.

    The last class has `size` instances. A mistake misses one class and is a false positive of another, so no class has
    more of both together than there are mistakes in all (Gale 1957; enough as well, for more than one class).
    """
    tables = tuple(tables)
    missed = sum(fn for _, _, fn, _ in tables)
    yield 0, 1, missed
    for _, fp, fn, _ in tables:
        yield 1, 0, missed + size - fn - fp


def _hull(boxes: Sequence[tuple[tuple[Span, Span], ...]]) -> tuple[tuple[Span, Span], ...]:
    """Least and greatest tp and fp of each class over all solutions."""

    def both(spans: Iterable[Span]) -> Span:
        ends = list(zip(*spans, strict=True))
        return min(ends[0]), max(ends[1])

    return tuple(
        (both(box[0] for box in of_class), both(box[1] for box in of_class)) for of_class in zip(*boxes, strict=True)
    )
