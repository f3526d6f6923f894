"""Counts of one class and the rest that fit figures: the integer points (tp, fp) of a region of the plane."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import gcd, lcm

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import Constraint, SumConstraint, constraints_of, table
from app.analysis.convert.lattice_points import HalfPlane, LatticeRegion, bisect_first
from app.analysis.convert.measures import (
    SIZE_DEPENDENT_MEASURES,
    Coefficients,
    ConfusionTable,
    Inequality,
    LinearRatio,
    ZeroDivisionRule,
    ratio_inequalities,
    ratio_of,
)
from app.analysis.convert.printed_figures import PrintedFigure

Span = tuple[int, int]
Solution = tuple[ConfusionTable, ...]
"""The table of each class."""
SEARCH_LIMIT = 10_000
"""The number of columns, sizes or combinations that are examined before a search stops."""


@dataclass(frozen=True, slots=True)
class FittingCounts:
    """The counts that fit: their number, whether all were examined, the first of them, and their ranges.

    A solution holds the table of each class. `spans` holds the smallest and largest tp and fp of each class; None where
    not all counts were examined. `undefined` is the convention for 0/0.
    """

    count: int
    complete: bool
    first: tuple[Solution, ...] = ()
    spans: tuple[tuple[Span, Span], ...] | None = None
    undefined: ZeroDivisionRule = "worst"

    @property
    def fits(self) -> bool | None:
        """Whether any counts fit; None where the search stopped before it was decided."""
        return True if self.count else (False if self.complete else None)


def search_two_classes(problem: CountsProblem, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts of two exclusive classes that fit; where the first size is unknown, for each possible size."""
    if problem.sizes is not None:
        return search_with_size(problem, problem.sizes[0], first=first, limit=limit)
    sizes = evenly_spaced(*possible_sizes(problem), limit)
    total, complete, solutions = 0, sizes.step == 1, list[Solution]()
    for size in sizes:
        share = max(1, limit // len(sizes))
        answer = search_with_size(problem, size, first=first - len(solutions), limit=share)
        total, complete = total + answer.count, complete and answer.complete
        solutions += answer.first
    return FittingCounts(total, complete, tuple(solutions))


def search_with_size(problem: CountsProblem, size: int, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts that fit where the first class has this size."""
    n = problem.n
    region, tests = region_of(problem.claims, size, n, problem.undefined)
    result = search_region(
        region, tests, lambda tp, fp: complementary_tables(tp, fp, size, n), first=first, limit=limit
    )
    if result.box is None or not result.complete:
        return FittingCounts(result.count, result.complete, result.first)
    (tp, fp), rest = result.box, n - size
    spans = ((tp, fp), ((rest - fp[1], rest - fp[0]), (size - tp[1], size - tp[0])))
    return FittingCounts(result.count, complete=True, first=result.first, spans=spans)


@dataclass(frozen=True, slots=True)
class RegionSearchResult:
    """The points of a region that meet all constraints; `box` holds the smallest and largest tp and fp."""

    count: int
    complete: bool
    first: tuple[Solution, ...]
    box: tuple[Span, Span] | None


def search_region(
    region: LatticeRegion,
    tests: Sequence[Constraint],
    tables: Callable[[int, int], Solution],
    *,
    first: int,
    limit: int,
) -> RegionSearchResult:
    """The points of a region whose tables meet all constraints; without constraints they are counted, not examined."""
    if not tests:
        count = region.count()
        listed = tuple(tables(x, y) for x, y in islice(region.points(), first))
        box = (region.span(), region.transposed().span()) if count else None
        return RegionSearchResult(count, complete=True, first=listed, box=box)
    count, solutions = 0, list[Solution]()
    xs, ys = (region.width, 0), (region.height, 0)
    columns = evenly_spaced(region.first, region.last, limit)
    for x in columns:
        low, high = region.column(x)
        for test in tests:
            low, high = _satisfying_interval(test, lambda fp: tables(x, fp), low, high)  # noqa: B023 (called at once)
        if low <= high:
            count += high - low + 1
            xs, ys = (min(xs[0], x), x), (min(ys[0], low), max(ys[1], high))
            solutions += (tables(x, y) for y in range(low, min(high, low + first - len(solutions) - 1) + 1))
    return RegionSearchResult(count, columns.step == 1, tuple(solutions), (xs, ys) if count else None)


def _satisfying_interval(test: Constraint, tables: Callable[[int], Solution], low: int, high: int) -> Span:
    """The range of fp, from low to high, in which a constraint is met, found by bisection.

    With fixed tp every measure here is monotonic in fp, also where 0/0 counts as its worst value: one more false
    positive takes a right answer from the other class.
    """
    if low > high:
        return low, high
    minimum, maximum = test.bounds
    sign = 1 if test.value(tables(low)) <= test.value(tables(high)) else -1
    start, end = (minimum, maximum) if sign > 0 else (-maximum, -minimum)
    return (
        bisect_first(low, high, lambda fp: sign * test.value(tables(fp)) >= start),
        bisect_first(low, high, lambda fp: sign * test.value(tables(fp)) > end) - 1,
    )


def evenly_spaced(first: int, last: int, limit: int) -> range:
    """All integers from first to last, or at most `limit` of them at equal distances."""
    return range(first, last + 1, max(1, -(-(last - first + 1) // limit)))


def complementary_tables(tp: int, fp: int, size: int, n: int) -> tuple[ConfusionTable, ConfusionTable]:
    """The tables of a class and of the rest."""
    own = table(tp, fp, size, n)
    return own, own[::-1]


def region_of(
    claims: Iterable[FigureClaim], size: int, n: int, undefined: ZeroDivisionRule
) -> tuple[LatticeRegion, list[Constraint]]:
    """The region of (tp, fp) of the first class, and the constraints on both tables that are not half-planes."""
    cuts: list[HalfPlane] = []
    tests: list[Constraint] = []
    for claim in map(as_first_class_claim, claims):
        if claim.row is not None:
            cuts += [_half_plane(*inequality, size, n) for inequality in claim_inequalities(claim, size, n, undefined)]
            continue
        for constraint in constraints_of(claim, (size, n - size), n, undefined=undefined):
            half_planes = sum_half_planes(constraint, size, n) if isinstance(constraint, SumConstraint) else None
            if half_planes is None:
                tests.append(constraint)
            else:
                cuts += half_planes
    return LatticeRegion.of(size, n - size, cuts), tests


def as_first_class_claim(claim: FigureClaim) -> FigureClaim:
    """The claim; accuracy and error rate as the same ratio of the first class, which needs no sizes."""
    key = {"accuracy": "accuracy_ovr", "error_rate": "error_rate_ovr"}.get(claim.key)
    return claim if key is None else replace(claim, key=key, row=0)


def claim_inequalities(claim: FigureClaim, size: int, n: int, undefined: ZeroDivisionRule) -> Iterator[Inequality]:
    """Inequalities: coefficients · (tp, fp, fn, tn of the first class) ≤ bound, for a figure of the first class or of the rest."""
    own = size if claim.row == 0 else n - size
    ratio = ratio_of(claim.key, own, n - own, undefined)
    if ratio is None:
        raise ValueError(f"'{claim.key}' is not a measure of one class")
    for (a, b, c, d), bound in ratio_inequalities(claim.figure, ratio, n):
        yield ((a, b, c, d) if claim.row == 0 else (d, c, b, a)), bound


def narrow_region(region: LatticeRegion, ratio: LinearRatio, low: Fraction, high: Fraction, n: int) -> LatticeRegion:
    """The points of a region of a class (as wide as its size) at which a ratio lies between two values."""
    size, figure = region.width, PrintedFigure("", low, high, Fraction(0))
    cuts = (_half_plane(*inequality, size, n) for inequality in ratio_inequalities(figure, ratio, n))
    return LatticeRegion.of(region.width, region.height, (*region.cuts, *cuts))


def sum_half_planes(constraint: SumConstraint, size: int, n: int) -> list[HalfPlane] | None:
    """A constraint on the sum over both classes as half-planes; None where it is not linear."""
    own, rest = constraint.line(0, size, n), constraint.line(1, n - size, n)
    if own is None or rest is None:
        return None
    total = [left + right for left, right in zip(own, reversed(rest), strict=True)]
    return line_half_planes(total, (constraint.low, constraint.high), Fraction(0), size, n)


def line_half_planes(
    line: Sequence[Fraction], bounds: tuple[Fraction | None, Fraction | None], before: Fraction, size: int, n: int
) -> list[HalfPlane]:
    """The half-planes where `before` + line · (tp, fp, fn, tn) lies within the bounds, for a class of this size."""
    half_planes = []
    for bound, sign in zip(bounds, (-1, 1), strict=True):
        if bound is not None:
            remaining = bound - before
            scale = sign * lcm(remaining.denominator, *(coefficient.denominator for coefficient in line))
            a, b, c, d = (int(coefficient * scale) for coefficient in line)
            half_planes.append(_half_plane((a, b, c, d), int(remaining * scale), size, n))
    return half_planes


def _half_plane(coefficients: Coefficients, bound: int, size: int, n: int) -> HalfPlane:
    """The inequality in tp and fp alone, by fn = size - tp and tn = n - size - fp."""
    a, b, c, d = coefficients
    one, two, remaining = a - c, b - d, bound - c * size - d * (n - size)
    common = gcd(one, two)
    return (one // common, two // common, remaining // common) if common else (0, 0, min(remaining, 0))


def possible_sizes(problem: CountsProblem) -> Span:
    """The range of possible sizes of the first class, from the figures whose inequalities do not depend on it.

    Eliminates fp and tp from the inequalities in (size, tp, fp) over the real numbers (Fourier and Motzkin).
    """
    n = problem.n
    rows: set[tuple[int, ...]] = {
        (0, -1, 0, 0),
        (0, 0, -1, 0),
        (-1, 1, 0, 0),
        (1, 0, 1, n),
        (1, 0, 0, n),
    }  # s·size + t·tp + f·fp ≤ bound
    for claim in map(as_first_class_claim, problem.claims):
        if claim.row is not None and claim.key not in SIZE_DEPENDENT_MEASURES:
            for (a, b, c, d), bound in claim_inequalities(claim, 0, n, problem.undefined):
                rows.add((c - d, a - c, b - d, bound - d * n))
    for position in (2, 1):
        rows = _eliminate_variable(rows, position)
    smallest, largest = 0, n
    for s, _, _, bound in rows:
        if s > 0:
            largest = min(largest, bound // s)
        elif s < 0:
            smallest = max(smallest, -(bound // -s))
        elif bound < 0:
            largest = -1
    return smallest, largest


def _eliminate_variable(rows: set[tuple[int, ...]], position: int) -> set[tuple[int, ...]]:
    """One elimination step: inequalities without this variable that hold exactly where some value of it meets all."""
    remaining = {row for row in rows if not row[position]}
    for upper in (row for row in rows if row[position] > 0):
        for lower in (row for row in rows if row[position] < 0):
            combined = [upper[position] * b - lower[position] * a for a, b in zip(upper, lower, strict=True)]
            common = gcd(*combined) or 1
            remaining.add(tuple(coefficient // common for coefficient in combined))
    return remaining
