"""Counts of many classes that fit figures: the points of each class, joined by what all have to sum to.

All classes but the one with most points are gone through; what is left for that one is again a region of the plane.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import (
    Constraint,
    NonlinearConstraint,
    SumConstraint,
    constraints_of,
    one_prediction_constraint,
    table,
)
from app.analysis.convert.lattice_points import HalfPlane, LatticeRegion
from app.analysis.convert.measures import ConfusionTable, LinearRatio
from app.analysis.convert.one_class_search import (
    SEARCH_LIMIT,
    FittingCounts,
    Span,
    evenly_spaced,
    line_half_planes,
    narrow_region,
    region_of,
    search_region,
)

_MAX_LISTED_POINTS = 1_000  # points of a class that are gone through, if it has no more
_SAMPLED_POINTS = 300  # of a class with more points
_BISECTION_STEPS = 30  # in which the range of a ratio is found
_Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class ClassCandidates:
    """One class by itself: its size, the region of its (tp, fp), its tables (all or a part), the claims about it."""

    size: int
    region: LatticeRegion
    count: int
    tables: tuple[ConfusionTable, ...]
    claims: tuple[FigureClaim, ...]

    @property
    def whole(self) -> bool:
        """Whether the tables are all that fit."""
        return self.count == len(self.tables)


def claims_of_class(problem: CountsProblem, number: int) -> tuple[FigureClaim, ...]:
    """The claims about one class, as claims about the first of two: it and the rest."""
    return tuple(replace(claim, row=0) for claim in problem.claims if claim.row == number)


def candidates_of_class(problem: CountsProblem, number: int) -> ClassCandidates:
    """A class by itself; of many points some that lie evenly."""
    assert problem.sizes is not None
    size, claims = problem.sizes[number], claims_of_class(problem, number)
    region, _ = region_of(claims, size, problem.n, problem.undefined)
    count = region.count()
    some = (
        region.points()
        if count <= _MAX_LISTED_POINTS
        else (region.nth(place) for place in evenly_spaced(0, count - 1, _SAMPLED_POINTS))
    )
    tables = tuple(table(tp, fp, size, problem.n) for tp, fp in some)
    return ClassCandidates(size, region, count, tables, claims)


def search_many_classes(problem: CountsProblem, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts of all classes that fit; a solution holds one table per class, in the order of the sizes."""
    assert problem.sizes is not None
    rows = [candidates_of_class(problem, number) for number in range(len(problem.sizes))]
    order = sorted(range(len(rows)), key=lambda number: rows[number].count)
    if not rows[order[0]].count:
        return FittingCounts(0, complete=True)
    answer = _JointSearch.of(problem, rows, order).run(first, limit)
    back = sorted(range(len(order)), key=lambda place: order[place])
    found = tuple(tuple(one[place] for place in back) for one in answer.first)
    return replace(answer, first=found, spans=answer.spans and tuple(answer.spans[place] for place in back))


@dataclass(frozen=True, slots=True)
class _JointSearch:
    """Classes in the order in which they are gone through, and what their tables have to meet together."""

    n: int
    exclusive: bool
    rows: list[ClassCandidates]
    sums: list[SumConstraint]
    curves: list[NonlinearConstraint]
    reach: list[list[_Bounds]]
    """For each sum and each class, between what the shares of this and all later classes lie."""

    @classmethod
    def of(cls, problem: CountsProblem, rows: Sequence[ClassCandidates], order: Sequence[int]) -> "_JointSearch":
        """The classes in this order."""
        ordered = [rows[number] for number in order]
        sizes = [row.size for row in ordered]
        whole = [claim for claim in problem.claims if claim.row is None]
        how: dict[str, Any] = {"exclusive": problem.exclusive, "undefined": problem.undefined}
        wanted = [one for claim in whole for one in constraints_of(claim, sizes, problem.n, **how)]
        if problem.exclusive:
            wanted.append(one_prediction_constraint(sizes, problem.n))
        sums = _merge_sums(one for one in wanted if isinstance(one, SumConstraint))
        curves = [one for one in wanted if isinstance(one, NonlinearConstraint)]
        reach = [_remaining_bounds(one, ordered, problem.n) for one in sums]
        ordered = [
            replace(row, tables=_sort_likely_first(row, sums, reach, place)) for place, row in enumerate(ordered)
        ]
        return cls(problem.n, problem.exclusive, ordered, sums, curves, reach)

    def run(self, first: int, limit: int) -> FittingCounts:
        """Look at all combinations, or as many as the limit allows."""
        start = [Fraction(0)] * len(self.sums)
        if not self._is_reachable(start, 0):
            return FittingCounts(0, complete=True)
        count, steps, found, boxes = 0, 0, list[tuple[ConfusionTable, ...]](), list[tuple[tuple[Span, Span], ...]]()
        complete = all(row.whole for row in self.rows[:-1])
        for tables, sums in self._table_combinations():
            if steps >= limit:
                complete = False
                break
            steps += 1
            if sums is None:
                continue
            answer, looked = self._search_last_class(tables, sums, first - len(found), limit)
            steps += looked
            count, complete = count + answer.count, complete and answer.complete
            found += answer.first
            if answer.spans is not None:
                boxes.append(answer.spans)
        return FittingCounts(count, complete, tuple(found), _bounding_boxes(boxes) if complete and count else None)

    def _is_reachable(self, sums: Sequence[Fraction], place: int) -> bool:
        """Whether each sum may still come out, as far as each can tell by itself."""
        for one, total, reach in zip(self.sums, sums, self.reach, strict=True):
            low, high = one.bounds
            if low > high or total + reach[place][0] > high or total + reach[place][1] < low:
                return False
        return True

    def _table_combinations(self) -> Iterator[tuple[tuple[ConfusionTable, ...], list[Fraction] | None]]:
        """Tables of all classes but the last one, with their sums; None for those that nothing can complete."""
        last = len(self.rows) - 1
        tables, sums = list[ConfusionTable](), [[Fraction(0)] * len(self.sums)]
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
            if not self._is_reachable(grown, place + 1):
                yield (), None
            elif place == last - 1:
                yield (*tables, one), grown
            else:
                tables.append(one)
                sums.append(grown)
                ahead.append(iter(self.rows[place + 1].tables))

    def _search_last_class(
        self, tables: tuple[ConfusionTable, ...], sums: list[Fraction], first: int, limit: int
    ) -> tuple[FittingCounts, int]:
        """What fits the last class beside these tables of the others, and how many columns were looked at."""
        row, place = self.rows[-1], len(tables)
        cuts: list[HalfPlane] = [*row.region.cuts]
        tests: list[Constraint] = [*self.curves]
        for one, total in zip(self.sums, sums, strict=True):
            line = one.line(place, row.size, self.n)
            if line is None:
                tests.append(one.after(total))
            else:
                cuts += line_half_planes(line, (one.low, one.high), total, row.size, self.n)
        if self.exclusive:
            cuts += _off_diagonal_half_planes(tables, row.size)
        region = LatticeRegion.of(row.region.width, row.region.height, cuts)
        found = search_region(
            region, tests, lambda tp, fp: (*tables, table(tp, fp, row.size, self.n)), first=first, limit=limit
        )
        spans = None if found.box is None else (*(((tp, tp), (fp, fp)) for tp, fp, _, _ in tables), found.box)
        looked = len(evenly_spaced(region.first, region.last, limit)) if tests else 0
        return FittingCounts(found.count, found.complete, found.first, spans), looked


def _remaining_bounds(demand: SumConstraint, rows: Sequence[ClassCandidates], n: int) -> list[_Bounds]:
    """Between what the shares of each class and all later ones lie."""
    found, low, high = list[_Bounds](), Fraction(0), Fraction(0)
    for place in reversed(range(len(rows))):
        least, most = _share_bounds(demand, place, rows[place], n)
        low, high = low + least, high + most
        found.append((low, high))
    return found[::-1]


def _share_bounds(demand: SumConstraint, place: int, row: ClassCandidates, n: int) -> _Bounds:
    """Between what the share of one class in a sum lies."""
    if row.whole:
        values = [demand.share(place, one) for one in row.tables]
    elif demand.line(place, row.size, n) is not None:
        corners = ((tp, fp) for tp in row.region.span() for fp in row.region.turned().span())
        values = [demand.share(place, table(tp, fp, row.size, n)) for tp, fp in corners]
    else:
        values = [demand.weights[place] * end for end in _ratio_bounds(row, demand.shares[place], n)]
    return min(values), max(values)


def _ratio_bounds(row: ClassCandidates, ratio: LinearRatio, n: int) -> _Bounds:
    """Between what a ratio from -1 to 1 lies at all points of a class, a little further than it does."""

    def least(low: Fraction, high: Fraction, holds: Callable[[Fraction], bool]) -> Fraction:
        for _ in range(_BISECTION_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return low

    ratio = replace(ratio, empty=ratio.empty or Fraction(0))  # without a value it adds nothing
    lowest, highest = Fraction(-1), Fraction(1)
    return (
        least(lowest, highest, lambda end: narrow_region(row.region, ratio, lowest, end, n).count() > 0),
        -least(lowest, highest, lambda end: narrow_region(row.region, ratio, -end, highest, n).count() > 0),
    )


def _merge_sums(sums: Iterable[SumConstraint]) -> list[SumConstraint]:
    """The same demands, with one for each sum."""
    found: dict[object, SumConstraint] = {}
    for one in sums:
        same = found.setdefault((one.shares, one.weights), one)
        lows, highs = (
            [each for each in pair if each is not None] for pair in ((one.low, same.low), (one.high, same.high))
        )
        found[one.shares, one.weights] = replace(one, low=max(lows, default=None), high=min(highs, default=None))
    return list(found.values())


def _sort_likely_first(
    row: ClassCandidates, sums: Sequence[SumConstraint], reach: Sequence[Sequence[_Bounds]], place: int
) -> tuple[ConfusionTable, ...]:
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

    def distance(table: ConfusionTable) -> float:
        return sum(abs(float(one.share(place, table)) - aim) / width for one, aim, width in aims)

    return tuple(sorted(row.tables, key=distance)) if aims else row.tables


def _off_diagonal_half_planes(tables: Iterable[ConfusionTable], size: int) -> Iterator[HalfPlane]:
    """What lets the mistakes of exclusive classes be laid out off the diagonal of a confusion matrix.

    The last class has `size` instances. A mistake misses one class and is a false positive of another, so no class has
    more of both together than there are mistakes in all (Gale 1957; enough as well, for more than one class).
    """
    tables = tuple(tables)
    missed = sum(fn for _, _, fn, _ in tables)
    yield 0, 1, missed
    for _, fp, fn, _ in tables:
        yield 1, 0, missed + size - fn - fp


def _bounding_boxes(boxes: Sequence[tuple[tuple[Span, Span], ...]]) -> tuple[tuple[Span, Span], ...]:
    """Least and greatest tp and fp of each class over all solutions."""

    def both(spans: Iterable[Span]) -> Span:
        ends = list(zip(*spans, strict=True))
        return min(ends[0]), max(ends[1])

    return tuple(
        (both(box[0] for box in of_class), both(box[1] for box in of_class)) for of_class in zip(*boxes, strict=True)
    )
