"""Explains why no counts fit: a minimal set of contradicting figures, and the nearest possible values of each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import compare_with_figure, measure_value, value_from_right_answers
from app.analysis.convert.lattice_points import bisect_first
from app.analysis.convert.measures import ZeroDivisionRule
from app.analysis.convert.multiclass_search import claims_of_class, search_many_classes
from app.analysis.convert.one_class_search import (
    SEARCH_LIMIT,
    FittingCounts,
    Solution,
    region_of,
    search_two_classes,
    search_with_size,
)
from app.analysis.convert.printed_figures import PrintedFigure

_BISECTION_STEPS = 80  # halvings of the distance to the nearest value
_MAX_COLUMNS = 200  # columns searched for the nearest values
_MAX_LISTED_COUNTS = 2_000  # up to this many counts, each one is examined
_QUICK_SEARCH_LIMIT = 20  # search limit when looking for a contradiction of one or two figures


@dataclass(frozen=True, slots=True)
class NearestValue:
    """A value that is possible with the other figures, and counts that give it (none for sums over many classes)."""

    value: Fraction
    tables: Solution = ()


NearestValues = tuple[NearestValue | None, NearestValue | None]


@dataclass(frozen=True, slots=True)
class ContradictedFigure:
    """A figure of a contradiction.

    `below` and `above` are the nearest values on each side of the printed figure that are possible with the other
    figures of the contradiction; None where there are none, or where the search for them stopped early. `without` is
    the answer for all figures but this one.
    """

    claim: FigureClaim
    below: NearestValue | None
    above: NearestValue | None
    without: FittingCounts
    answers: tuple[FittingCounts, ...]
    """The answer without this figure under each convention for 0/0; `without` is the first one that fits."""


@dataclass(frozen=True, slots=True)
class FigureContradiction:
    """Figures that no counts fit together.

    `row` is the class that they concern, where the other classes play no part. `joint`: the figures of the classes, each
    of which fits alone, contradict these figures when taken together. `figures` is empty where the figures of the
    classes contradict each other by themselves.
    """

    figures: tuple[ContradictedFigure, ...]
    row: int | None = None
    joint: bool = False


@dataclass(frozen=True, slots=True)
class ProblemVariants:
    """A problem, and the conventions for 0/0 that may apply; all its figures were printed under the same one."""

    problem: CountsProblem
    conventions: tuple[ZeroDivisionRule, ...] = ("worst",)

    @property
    def problems(self) -> list[CountsProblem]:
        """The problem under each convention."""
        return [replace(self.problem, undefined=convention) for convention in self.conventions]

    def of(self, claims: tuple[FigureClaim, ...]) -> "ProblemVariants":
        """The same variants with these claims only."""
        return replace(self, problem=replace(self.problem, claims=claims))


def solve(problem: CountsProblem, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The counts that fit all figures, as far as a search with this limit shows."""
    answer = (search_two_classes if problem.has_two_classes else search_many_classes)(problem, first=first, limit=limit)
    return replace(answer, undefined=problem.undefined)


def solve_any(variants: ProblemVariants, *, first: int = 10, limit: int = SEARCH_LIMIT) -> FittingCounts:
    """The answer under the first convention with counts that fit; else whether all conventions are excluded."""
    return best_answer(solve(problem, first=first, limit=limit) for problem in variants.problems)


def best_answer(answers: Iterable[FittingCounts]) -> FittingCounts:
    """The first answer that fits; else an undecided one, if there is one."""
    best: FittingCounts | None = None
    for answer in answers:
        if answer.count:
            return answer
        best = answer if best is None or answer.fits is None else best
    assert best is not None
    return best


def explain_contradiction(
    variants: ProblemVariants, *, first: int = 10, limit: int = SEARCH_LIMIT
) -> FigureContradiction:
    """Why no counts fit; to be called where `solve_any` has shown that none do."""
    problem = variants.problem
    if problem.has_two_classes:
        core = _minimal_contradiction(problem.claims, lambda subset, size: _is_impossible(variants, subset, size))
        nearest = (_find_nearest_values(variants, core, claim) for claim in core)
        return FigureContradiction(_describe_figures(variants, zip(core, nearest, strict=True), first, limit))
    return _explain_one_class(variants, first, limit) or _explain_all_classes(variants, first, limit)


def _is_impossible(variants: ProblemVariants, claims: tuple[FigureClaim, ...], limit: int) -> bool:
    """Whether the search proves that no counts fit these claims."""
    return solve_any(variants.of(claims), first=1, limit=limit).fits is False


def _explain_one_class(variants: ProblemVariants, first: int, limit: int) -> FigureContradiction | None:
    """The contradiction in the figures of the first class whose own claims contradict each other; None where none do."""
    problem = variants.problem
    assert problem.sizes is not None
    for row, size in enumerate(problem.sizes):
        alone = replace(
            variants, problem=CountsProblem(problem.n, (size, problem.n - size), claims_of_class(problem, row))
        )
        if solve_any(alone, first=1).fits is not False:
            continue
        core = _minimal_contradiction(alone.problem.claims, lambda subset, size: _is_impossible(alone, subset, size))  # noqa: B023 (called at once)
        figures = [(replace(claim, row=row), _find_nearest_values(alone, core, claim)) for claim in core]
        return FigureContradiction(_describe_figures(variants, figures, first, limit), row)
    return None


def _explain_all_classes(variants: ProblemVariants, first: int, limit: int) -> FigureContradiction:
    """The contradiction between figures of the whole task and those of the classes."""
    problem = variants.problem
    rows = tuple(claim for claim in problem.claims if claim.row is not None)
    whole = tuple(claim for claim in problem.claims if claim.row is None)
    core = _minimal_contradiction(whole, lambda subset, size: _is_impossible(variants, (*rows, *subset), size))
    nearest = ((claim, _nearest_by_hits(problem, claim) if len(core) == 1 else (None, None)) for claim in core)
    return FigureContradiction(_describe_figures(variants, nearest, first, limit, joint=True), joint=True)


def _minimal_contradiction(
    claims: tuple[FigureClaim, ...], impossible: Callable[[tuple[FigureClaim, ...], int], bool]
) -> tuple[FigureClaim, ...]:
    """A minimal impossible set of claims: up to two claims found by a quick search, else a set reduced one by one."""
    small = (
        subset for size in range(3) for subset in combinations(claims, size) if impossible(subset, _QUICK_SEARCH_LIMIT)
    )
    claims = next(small, claims)  # a claim of a pair may be impossible alone, which a longer search shows
    for claim in reversed(claims):
        remaining = tuple(other for other in claims if other is not claim)
        if impossible(remaining, SEARCH_LIMIT):
            claims = remaining
    return claims


def _describe_figures(
    variants: ProblemVariants,
    claims_with_nearest: Iterable[tuple[FigureClaim, NearestValues]],
    first: int,
    limit: int,
    *,
    joint: bool = False,
) -> tuple[ContradictedFigure, ...]:
    """Each figure with the counts that fit all other figures of the problem."""
    figures = []
    for claim, nearest in claims_with_nearest:
        others = variants.of(tuple(other for other in variants.problem.claims if other != claim))
        if joint and nearest == (None, None):
            nearest = _nearest_among_listed(claim, others, first, limit) or nearest  # noqa: PLW2901 (otherwise it stays unknown)
        answers = tuple(solve(problem, first=first, limit=limit) for problem in others.problems)
        figures.append(ContradictedFigure(claim, *nearest, best_answer(answers), answers))
    return tuple(figures)


def _find_nearest_values(variants: ProblemVariants, core: tuple[FigureClaim, ...], claim: FigureClaim) -> NearestValues:
    """The nearest values below and above a figure that are possible with the other claims, for two classes of known size."""
    problem = variants.problem
    if problem.sizes is None:
        return None, None
    others = variants.of(tuple(other for other in core if other is not claim))
    nearest = _nearest_among_listed(claim, others, _MAX_LISTED_COUNTS, _MAX_COLUMNS)
    if nearest is not None:
        return nearest
    if any(region_of(core, problem.sizes[0], problem.n, convention)[1] for convention in variants.conventions):
        return None, None  # bisection would scan all columns at every step
    below = [_nearest_by_bisection(variant, claim, -1) for variant in others.problems]
    above = [_nearest_by_bisection(variant, claim, 1) for variant in others.problems]
    return _closest_value(filter(None, below)), _closest_value(filter(None, above), largest=False)


def _closest_value(values: Iterable[NearestValue], *, largest: bool = True) -> NearestValue | None:
    return (max if largest else min)(values, key=lambda nearest: nearest.value, default=None)


def _nearest_among_listed(
    claim: FigureClaim, others: ProblemVariants, max_count: int, limit: int
) -> NearestValues | None:
    """The nearest values among all counts that fit the other claims; None where there are too many to list.

    A square root is represented by its signed square.
    """
    candidates: list[NearestValue] = []
    for problem in others.problems:
        answer = solve(problem, first=max_count, limit=limit)
        if not answer.complete or answer.count > len(answer.first):
            return None
        values = ((measure_value(claim, tables, problem.undefined), tables) for tables in answer.first)
        candidates += (NearestValue(value, tables) for value, tables in values if value is not None)
    sides = [(compare_with_figure(claim, candidate.value), candidate) for candidate in candidates]
    return (
        _closest_value(candidate for side, candidate in sides if side < 0),
        _closest_value((candidate for side, candidate in sides if side > 0), largest=False),
    )


def _nearest_by_bisection(problem: CountsProblem, claim: FigureClaim, side: int) -> NearestValue | None:
    """The nearest value on one side of a figure that is possible with the claims, by bisection of a window with a solution."""
    assert problem.sizes is not None
    figure, size = claim.figure, problem.sizes[0]

    def window(far: Fraction) -> FittingCounts:
        low, high = (far, figure.low) if side < 0 else (figure.high, far)
        window_claim = replace(claim, figure=PrintedFigure("", low, high, Fraction(0)))
        return search_with_size(replace(problem, claims=(*problem.claims, window_claim)), size, first=1)

    far, near = Fraction(-1 if side < 0 else problem.n + 1), figure.low if side < 0 else figure.high
    best = window(far)
    if not best.count:
        return None
    for _ in range(_BISECTION_STEPS):
        middle = (far + near) / 2
        answer = window(middle)
        far, near, best = (middle, near, answer) if answer.count else (far, middle, best)
    value = measure_value(claim, best.first[0], problem.undefined)
    return None if value is None else NearestValue(value, best.first[0])


def _nearest_by_hits(problem: CountsProblem, claim: FigureClaim) -> NearestValues:
    """The nearest values of a figure that follows from the number of right answers, ignoring the classes."""
    assert problem.sizes is not None
    n, m = problem.n, len(problem.sizes)
    ends = value_from_right_answers(claim.key, 0, m, n), value_from_right_answers(claim.key, n, m, n)
    if not problem.exclusive or ends[0] is None or ends[1] is None:
        return None, None
    rising = ends[0] <= ends[1]

    def value(right: int) -> Fraction:
        return value_from_right_answers(claim.key, right if rising else n - right, m, n) or Fraction(0)

    above = bisect_first(0, n, lambda right: claim.figure.side(value(right)) > 0)
    within = bisect_first(0, n, lambda right: claim.figure.side(value(right)) >= 0)
    below = NearestValue(value(within - 1)) if within else None
    return below, NearestValue(value(above)) if above <= n else None
