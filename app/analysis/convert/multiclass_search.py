"""Counts of many classes that fit figures: the points of each class, joined by constraints on their sums.

The search enumerates the tables of all classes except the one with most points. For that last class the remaining
constraints are again a region of the plane.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
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
    Solution,
    Span,
    evenly_spaced,
    line_half_planes,
    narrow_region,
    region_of,
    search_region,
)

_MAX_LISTED_POINTS = 1_000  # a class with at most this many points is enumerated in full
_SAMPLED_POINTS = 300  # sampled from a class with more points
_BISECTION_STEPS = 30  # steps to find the range of a ratio
_Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class ClassCandidates:
    """One class alone: its size, the region of its (tp, fp), its tables (all or a sample), the claims about it."""

    size: int
    region: LatticeRegion
    count: int
    tables: Solution
    claims: tuple[FigureClaim, ...]

    @property
    def whole(self) -> bool:
        """Whether `tables` holds all tables that fit."""
        return self.count == len(self.tables)


def claims_of_class(problem: CountsProblem, number: int) -> tuple[FigureClaim, ...]:
    """The claims about one class, as claims about the first of two classes: this one and the rest."""
    return tuple(replace(claim, row=0) for claim in problem.claims if claim.row == number)


def candidates_of_class(problem: CountsProblem, number: int) -> ClassCandidates:
    """The candidates of one class; a class with many points is sampled evenly."""
    assert problem.sizes is not None
    size, claims = problem.sizes[number], claims_of_class(problem, number)
    region, _ = region_of(claims, size, problem.n, problem.undefined)
    count = region.count()
    points = (
        region.points()
        if count <= _MAX_LISTED_POINTS
        else (region.nth(index) for index in evenly_spaced(0, count - 1, _SAMPLED_POINTS))
    )
    tables = tuple(table(tp, fp, size, problem.n) for tp, fp in points)
    return ClassCandidates(size, region, count, tables, claims)


def search_many_classes(problem: CountsProblem, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts of all classes that fit; a solution holds one table per class, in the order of the sizes."""
    assert problem.sizes is not None
    rows = [candidates_of_class(problem, number) for number in range(len(problem.sizes))]
    order = sorted(range(len(rows)), key=lambda number: rows[number].count)
    if not rows[order[0]].count:
        return FittingCounts(0, complete=True)
    answer = _JointSearch.of(problem, rows, order).run(first, limit)
    positions = sorted(range(len(order)), key=lambda index: order[index])
    solutions = tuple(tuple(tables[index] for index in positions) for tables in answer.first)
    return replace(answer, first=solutions, spans=answer.spans and tuple(answer.spans[index] for index in positions))


@dataclass(frozen=True, slots=True)
class _JointSearch:
    """Classes in the order of the search, and the constraints on their tables together."""

    n: int
    exclusive: bool
    rows: list[ClassCandidates]
    sums: list[SumConstraint]
    curves: list[NonlinearConstraint]
    reach: list[list[_Bounds]]
    """For each sum and each class, the bounds on the terms of this and all later classes together."""

    @classmethod
    def of(cls, problem: CountsProblem, rows: Sequence[ClassCandidates], order: Sequence[int]) -> "_JointSearch":
        """The classes in this order."""
        sorted_rows = [rows[number] for number in order]
        sizes = [row.size for row in sorted_rows]
        whole = [claim for claim in problem.claims if claim.row is None]
        settings: dict[str, Any] = {"exclusive": problem.exclusive, "undefined": problem.undefined}
        constraints = list(chain.from_iterable(constraints_of(claim, sizes, problem.n, **settings) for claim in whole))
        if problem.exclusive:
            constraints.append(one_prediction_constraint(sizes, problem.n))
        sums = _merge_sums(constraint for constraint in constraints if isinstance(constraint, SumConstraint))
        curves = [constraint for constraint in constraints if isinstance(constraint, NonlinearConstraint)]
        reach = [_remaining_bounds(constraint, sorted_rows, problem.n) for constraint in sums]
        sorted_rows = [
            replace(row, tables=_sort_likely_first(row, sums, reach, at)) for at, row in enumerate(sorted_rows)
        ]
        return cls(problem.n, problem.exclusive, sorted_rows, sums, curves, reach)

    def run(self, first: int, limit: int) -> FittingCounts:
        """Examine all combinations, or as many as the limit allows."""
        start = [Fraction(0)] * len(self.sums)
        if not self._is_reachable(start, 0):
            return FittingCounts(0, complete=True)
        count, steps, solutions, boxes = 0, 0, list[Solution](), list[tuple[tuple[Span, Span], ...]]()
        complete = all(row.whole for row in self.rows[:-1])
        for tables, sums in self._table_combinations():
            if steps >= limit:
                complete = False
                break
            steps += 1
            if sums is None:
                continue
            answer, columns = self._search_last_class(tables, sums, first - len(solutions), limit)
            steps += columns
            count, complete = count + answer.count, complete and answer.complete
            solutions += answer.first
            if answer.spans is not None:
                boxes.append(answer.spans)
        return FittingCounts(count, complete, tuple(solutions), _bounding_boxes(boxes) if complete and count else None)

    def _is_reachable(self, sums: Sequence[Fraction], index: int) -> bool:
        """Whether each sum can still meet its bounds, each considered alone."""
        for constraint, total, reach in zip(self.sums, sums, self.reach, strict=True):
            low, high = constraint.bounds
            if low > high or total + reach[index][0] > high or total + reach[index][1] < low:
                return False
        return True

    def _table_combinations(self) -> Iterator[tuple[Solution, list[Fraction] | None]]:
        """Tables of all classes but the last, with their sums; `((), None)` for a branch that cannot be completed."""
        last = len(self.rows) - 1
        tables, sums = list[ConfusionTable](), [[Fraction(0)] * len(self.sums)]
        iterators = [iter(row.tables) for row in self.rows[:1]] if last else []
        if not last:
            yield (), sums[0]
        while iterators:
            index = len(iterators) - 1
            class_table = next(iterators[-1], None)
            if class_table is None:
                iterators.pop()
                del tables[index - 1 :], sums[max(index, 1) :]
                continue
            new_sums = [
                total + constraint.share(index, class_table)
                for total, constraint in zip(sums[-1], self.sums, strict=True)
            ]
            if not self._is_reachable(new_sums, index + 1):
                yield (), None
            elif index == last - 1:
                yield (*tables, class_table), new_sums
            else:
                tables.append(class_table)
                sums.append(new_sums)
                iterators.append(iter(self.rows[index + 1].tables))

    def _search_last_class(
        self, tables: Solution, sums: list[Fraction], first: int, limit: int
    ) -> tuple[FittingCounts, int]:
        """The answer for the last class given the tables of the others, and the number of examined columns."""
        row, index = self.rows[-1], len(tables)
        cuts: list[HalfPlane] = [*row.region.cuts]
        tests: list[Constraint] = [*self.curves]
        for constraint, total in zip(self.sums, sums, strict=True):
            line = constraint.line(index, row.size, self.n)
            if line is None:
                tests.append(constraint.after(total))
            else:
                cuts += line_half_planes(line, (constraint.low, constraint.high), total, row.size, self.n)
        if self.exclusive:
            cuts += _off_diagonal_half_planes(tables, row.size)
        region = LatticeRegion.of(row.region.width, row.region.height, cuts)
        result = search_region(
            region, tests, lambda tp, fp: (*tables, table(tp, fp, row.size, self.n)), first=first, limit=limit
        )
        spans = None if result.box is None else (*(((tp, tp), (fp, fp)) for tp, fp, _, _ in tables), result.box)
        columns = len(evenly_spaced(region.first, region.last, limit)) if tests else 0
        return FittingCounts(result.count, result.complete, result.first, spans), columns


def _remaining_bounds(constraint: SumConstraint, rows: Sequence[ClassCandidates], n: int) -> list[_Bounds]:
    """For each class, the bounds on the terms of it and all later classes together."""
    bounds, low, high = list[_Bounds](), Fraction(0), Fraction(0)
    for index in reversed(range(len(rows))):
        class_low, class_high = _share_bounds(constraint, index, rows[index], n)
        low, high = low + class_low, high + class_high
        bounds.append((low, high))
    return bounds[::-1]


def _share_bounds(constraint: SumConstraint, index: int, row: ClassCandidates, n: int) -> _Bounds:
    """The bounds on the term of one class in a sum."""
    if row.whole:
        values = [constraint.share(index, class_table) for class_table in row.tables]
    elif constraint.line(index, row.size, n) is not None:
        corners = ((tp, fp) for tp in row.region.span() for fp in row.region.transposed().span())
        values = [constraint.share(index, table(tp, fp, row.size, n)) for tp, fp in corners]
    else:
        values = [constraint.weights[index] * end for end in _ratio_bounds(row, constraint.shares[index], n)]
    return min(values), max(values)


def _ratio_bounds(row: ClassCandidates, ratio: LinearRatio, n: int) -> _Bounds:
    """Bounds on a ratio from -1 to 1 over all points of a class, slightly too wide, by bisection."""

    def lowest_end(low: Fraction, high: Fraction, holds: Callable[[Fraction], bool]) -> Fraction:
        for _ in range(_BISECTION_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return low

    ratio = replace(ratio, empty=ratio.empty or Fraction(0))  # an undefined ratio adds nothing to the sum
    lowest, highest = Fraction(-1), Fraction(1)
    return (
        lowest_end(lowest, highest, lambda end: narrow_region(row.region, ratio, lowest, end, n).count() > 0),
        -lowest_end(lowest, highest, lambda end: narrow_region(row.region, ratio, -end, highest, n).count() > 0),
    )


def _merge_sums(sums: Iterable[SumConstraint]) -> list[SumConstraint]:
    """The constraints merged, with one per distinct sum."""
    merged: dict[object, SumConstraint] = {}
    for constraint in sums:
        existing = merged.setdefault((constraint.shares, constraint.weights), constraint)
        lows, highs = (
            [bound for bound in pair if bound is not None]
            for pair in ((constraint.low, existing.low), (constraint.high, existing.high))
        )
        merged[constraint.shares, constraint.weights] = replace(
            constraint, low=max(lows, default=None), high=min(highs, default=None)
        )
    return list(merged.values())


def _sort_likely_first(
    row: ClassCandidates, sums: Sequence[SumConstraint], reach: Sequence[Sequence[_Bounds]], index: int
) -> Solution:
    """The tables of a class, most promising first.

    A table is promising if each sum is met when all classes lie at the same relative position between their bounds.
    """
    targets = []
    for constraint, reaches in zip(sums, reach, strict=True):
        low, high = (float(bound) for bound in reaches[0])
        after = reaches[index + 1] if index + 1 < len(reaches) else (Fraction(0), Fraction(0))
        own_low, own_high = (float(bound - rest) for bound, rest in zip(reaches[index], after, strict=True))
        bounds = [float(bound) for bound in (constraint.low, constraint.high) if bound is not None]
        if bounds and own_high > own_low:
            part = (sum(bounds) / len(bounds) - low) / (high - low)
            targets.append((constraint, own_low + min(max(part, 0.0), 1.0) * (own_high - own_low), own_high - own_low))

    def distance(table: ConfusionTable) -> float:
        return sum(abs(float(constraint.share(index, table)) - target) / width for constraint, target, width in targets)

    return tuple(sorted(row.tables, key=distance)) if targets else row.tables


def _off_diagonal_half_planes(tables: Iterable[ConfusionTable], size: int) -> Iterator[HalfPlane]:
    """The half-planes under which the mistakes of exclusive classes fit off the diagonal of a confusion matrix.

    The last class has `size` instances. A mistake misses one class and is a false positive of another, so no class has
    more misses and false positives together than there are mistakes in total. For more than one class this condition is
    also sufficient (Gale 1957).
    """
    tables = tuple(tables)
    missed = sum(fn for _, _, fn, _ in tables)
    yield 0, 1, missed
    for _, fp, fn, _ in tables:
        yield 1, 0, missed + size - fn - fp


def _bounding_boxes(boxes: Sequence[tuple[tuple[Span, Span], ...]]) -> tuple[tuple[Span, Span], ...]:
    """The smallest and largest tp and fp of each class over all solutions."""

    def outer_span(spans: Iterable[Span]) -> Span:
        ends = list(zip(*spans, strict=True))
        return min(ends[0]), max(ends[1])

    return tuple(
        (outer_span(box[0] for box in row), outer_span(box[1] for box in row)) for row in zip(*boxes, strict=True)
    )
