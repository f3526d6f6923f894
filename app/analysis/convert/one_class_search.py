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
    LinearRatio,
    ZeroDivisionRule,
    ratio_inequalities,
    ratio_of,
)
from app.analysis.convert.printed_figures import PrintedFigure

Span = tuple[int, int]
SEARCH_LIMIT = 10_000
"""Columns, sizes or combinations that are looked at before a search is cut."""


@dataclass(frozen=True, slots=True)
class FittingCounts:
    """The counts that fit: how many, whether all were looked at, the first of them, and between what they lie.

    A solution is the table of each class. `spans` are least and greatest tp and fp of each class; None where not all
    were looked at. `undefined`: what 0/0 counts as in it.
    """

    count: int
    complete: bool
    first: tuple[tuple[ConfusionTable, ...], ...] = ()
    spans: tuple[tuple[Span, Span], ...] | None = None
    undefined: ZeroDivisionRule = "worst"

    @property
    def fits(self) -> bool | None:
        """Whether any counts fit; None where the search was cut before it was decided."""
        return True if self.count else (False if self.complete else None)


def search_two_classes(problem: CountsProblem, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts of two exclusive classes that fit; with an unknown size of the first one, for each that it may have."""
    if problem.sizes is not None:
        return search_with_size(problem, problem.sizes[0], first=first, limit=limit)
    sizes = evenly_spaced(*possible_sizes(problem), limit)
    total, complete, found = 0, sizes.step == 1, list[tuple[ConfusionTable, ...]]()
    for size in sizes:
        share = max(1, limit // len(sizes))
        answer = search_with_size(problem, size, first=first - len(found), limit=share)
        total, complete = total + answer.count, complete and answer.complete
        found += answer.first
    return FittingCounts(total, complete, tuple(found))


def search_with_size(problem: CountsProblem, size: int, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts that fit where the first class has this size."""
    n = problem.n
    region, tests = region_of(problem.claims, size, n, problem.undefined)
    found = search_region(region, tests, lambda tp, fp: complementary_tables(tp, fp, size, n), first=first, limit=limit)
    if found.box is None or not found.complete:
        return FittingCounts(found.count, found.complete, found.first)
    (tp, fp), rest = found.box, n - size
    spans = ((tp, fp), ((rest - fp[1], rest - fp[0]), (size - tp[1], size - tp[0])))
    return FittingCounts(found.count, complete=True, first=found.first, spans=spans)


@dataclass(frozen=True, slots=True)
class RegionSearchResult:
    """The points of a region that meet demands: as an Answer, with `box` for least and greatest tp and fp."""

    count: int
    complete: bool
    first: tuple[tuple[ConfusionTable, ...], ...]
    box: tuple[Span, Span] | None


def search_region(
    region: LatticeRegion,
    tests: Sequence[Constraint],
    tables: Callable[[int, int], tuple[ConfusionTable, ...]],
    *,
    first: int,
    limit: int,
) -> RegionSearchResult:
    """The points of a region whose tables meet all demands; without demands they are counted, not looked at."""
    if not tests:
        count = region.count()
        some = tuple(tables(x, y) for x, y in islice(region.points(), first))
        box = (region.span(), region.turned().span()) if count else None
        return RegionSearchResult(count, complete=True, first=some, box=box)
    count, found = 0, list[tuple[ConfusionTable, ...]]()
    xs, ys = (region.width, 0), (region.height, 0)
    columns = evenly_spaced(region.first, region.last, limit)
    for x in columns:
        low, high = region.column(x)
        for test in tests:
            low, high = _satisfying_interval(test, lambda fp: tables(x, fp), low, high)  # noqa: B023 (called at once)
        if low <= high:
            count += high - low + 1
            xs, ys = (min(xs[0], x), x), (min(ys[0], low), max(ys[1], high))
            found += (tables(x, y) for y in range(low, min(high, low + first - len(found) - 1) + 1))
    return RegionSearchResult(count, columns.step == 1, tuple(found), (xs, ys) if count else None)


def _satisfying_interval(
    test: Constraint, tables: Callable[[int], tuple[ConfusionTable, ...]], low: int, high: int
) -> Span:
    """Between which fp a demand is met, of those from low to high.

    With fixed tp every measure here either never rises or never falls with fp, also where 0/0 counts as its worst value:
    one more false positive takes a right answer from the other class.
    """
    if low > high:
        return low, high
    least, most = test.bounds
    sign = 1 if test.value(tables(low)) <= test.value(tables(high)) else -1
    start, end = (least, most) if sign > 0 else (-most, -least)
    return (
        bisect_first(low, high, lambda fp: sign * test.value(tables(fp)) >= start),
        bisect_first(low, high, lambda fp: sign * test.value(tables(fp)) > end) - 1,
    )


def evenly_spaced(first: int, last: int, limit: int) -> range:
    """All whole numbers from first to last, or at most `limit` that lie evenly between them."""
    return range(first, last + 1, max(1, -(-(last - first + 1) // limit)))


def complementary_tables(tp: int, fp: int, size: int, n: int) -> tuple[ConfusionTable, ConfusionTable]:
    """The tables of a class and of the rest."""
    own = table(tp, fp, size, n)
    return own, own[::-1]


def region_of(
    claims: Iterable[FigureClaim], size: int, n: int, undefined: ZeroDivisionRule
) -> tuple[LatticeRegion, list[Constraint]]:
    """The region of (tp, fp) of the first class that fits, and the demands on both tables that are no half-planes."""
    cuts: list[HalfPlane] = []
    tests: list[Constraint] = []
    for claim in map(as_first_class_claim, claims):
        if claim.row is not None:
            cuts += [_half_plane(*one, size, n) for one in claim_inequalities(claim, size, n, undefined)]
            continue
        for demand in constraints_of(claim, (size, n - size), n, undefined=undefined):
            halves = sum_half_planes(demand, size, n) if isinstance(demand, SumConstraint) else None
            if halves is None:
                tests.append(demand)
            else:
                cuts += halves
    return LatticeRegion.of(size, n - size, cuts), tests


def as_first_class_claim(claim: FigureClaim) -> FigureClaim:
    """The claim; accuracy over both classes as what it is of the first one: a ratio that needs no sizes."""
    same = {"accuracy": "accuracy_ovr", "error_rate": "error_rate_ovr"}.get(claim.key)
    return claim if same is None else replace(claim, key=same, row=0)


def claim_inequalities(
    claim: FigureClaim, size: int, n: int, undefined: ZeroDivisionRule
) -> Iterator[tuple[Coefficients, int]]:
    """Inequalities: coefficients · (tp, fp, fn, tn of the first class) ≤ bound, for a figure of the first class or of the rest."""
    own = size if claim.row == 0 else n - size
    ratio = ratio_of(claim.key, own, n - own, undefined)
    if ratio is None:
        raise ValueError(f"'{claim.key}' is no measure of one class")
    for (a, b, c, d), bound in ratio_inequalities(claim.figure, ratio, n):
        yield ((a, b, c, d) if claim.row == 0 else (d, c, b, a)), bound


def narrow_region(region: LatticeRegion, ratio: LinearRatio, low: Fraction, high: Fraction, n: int) -> LatticeRegion:
    """The points of a region of a class (as wide as its size) at which a ratio lies between two values."""
    size, figure = region.width, PrintedFigure("", low, high, Fraction(0))
    cuts = (_half_plane(*one, size, n) for one in ratio_inequalities(figure, ratio, n))
    return LatticeRegion.of(region.width, region.height, (*region.cuts, *cuts))


def sum_half_planes(demand: SumConstraint, size: int, n: int) -> list[HalfPlane] | None:
    """A demand on the sum over both classes as half-planes; None where it is not linear."""
    own, rest = demand.line(0, size, n), demand.line(1, n - size, n)
    if own is None or rest is None:
        return None
    total = [one + other for one, other in zip(own, reversed(rest), strict=True)]
    return line_half_planes(total, (demand.low, demand.high), Fraction(0), size, n)


def line_half_planes(
    line: Sequence[Fraction], bounds: tuple[Fraction | None, Fraction | None], before: Fraction, size: int, n: int
) -> list[HalfPlane]:
    """The half-planes where `before` + line · (tp, fp, fn, tn) lies within the bounds, for a class of this size."""
    found = []
    for bound, sign in zip(bounds, (-1, 1), strict=True):
        if bound is not None:
            left = bound - before
            scale = sign * lcm(left.denominator, *(each.denominator for each in line))
            a, b, c, d = (int(each * scale) for each in line)
            found.append(_half_plane((a, b, c, d), int(left * scale), size, n))
    return found


def _half_plane(coefficients: Coefficients, bound: int, size: int, n: int) -> HalfPlane:
    """The inequality in tp and fp alone, by fn = size - tp and tn = n - size - fp."""
    a, b, c, d = coefficients
    one, two, left = a - c, b - d, bound - c * size - d * (n - size)
    common = gcd(one, two)
    return (one // common, two // common, left // common) if common else (0, 0, min(left, 0))


def possible_sizes(problem: CountsProblem) -> Span:
    """Between what the size of the first class must lie, by figures whose inequalities do not depend on it.

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
    for place in (2, 1):
        rows = _eliminate_variable(rows, place)
    least, most = 0, n
    for s, _, _, bound in rows:
        if s > 0:
            most = min(most, bound // s)
        elif s < 0:
            least = max(least, -(bound // -s))
        elif bound < 0:
            most = -1
    return least, most


def _eliminate_variable(rows: set[tuple[int, ...]], place: int) -> set[tuple[int, ...]]:
    """The inequalities without the variable at this place that hold exactly where some value of it meets all."""
    kept = {row for row in rows if not row[place]}
    for up in (row for row in rows if row[place] > 0):
        for down in (row for row in rows if row[place] < 0):
            made = [up[place] * b - down[place] * a for a, b in zip(up, down, strict=True)]
            common = gcd(*made) or 1
            kept.add(tuple(each // common for each in made))
    return kept
