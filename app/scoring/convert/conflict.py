"""Why no counts fit: the fewest figures that contradict each other, and the nearest values that each could have."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from app.scoring.convert.claims import Claim, Problem
from app.scoring.convert.classes import joined, own
from app.scoring.convert.demands import measured, of_right
from app.scoring.convert.figures import Figure
from app.scoring.convert.lattice import least_from
from app.scoring.convert.measures import Table
from app.scoring.convert.planar import LIMIT, Answer, planar, region_of, sized

_HALVINGS = 80  # of the distance to the nearest value
_COLUMNS = 200  # that are looked at for those
_LISTED = 2_000  # counts of which every one is looked at
_SMALL = 20  # size of a search for a contradiction of one or two figures


@dataclass(frozen=True, slots=True)
class Near:
    """A value that counts can have beside the other figures, and such counts (none for sums of many classes)."""

    value: Fraction
    tables: tuple[Table, ...] = ()


Nearest = tuple[Near | None, Near | None]


@dataclass(frozen=True, slots=True)
class Contradicted:
    """A figure of a contradiction.

    `below` and `above` are the nearest values to what it prints that counts can have beside the other figures of the
    contradiction; None where there are none, or where looking for them was cut. `without` is what fits all figures but
    this one.
    """

    claim: Claim
    below: Near | None
    above: Near | None
    without: Answer


@dataclass(frozen=True, slots=True)
class Conflict:
    """Figures that no counts fit together.

    `row` is the class that they are about where the other classes play no part; `joint`: they contradict the figures of
    the classes taken together, each of which fits by itself. `figures` is empty where those of the classes cannot come
    together as they are.
    """

    figures: tuple[Contradicted, ...]
    row: int | None = None
    joint: bool = False


def solve(problem: Problem, *, first: int = 10, limit: int = LIMIT) -> Answer:
    """The counts that fit all figures, as far as a search of this size shows."""
    return (planar if problem.planar else joined)(problem, first=first, limit=limit)


def explain(problem: Problem, *, first: int = 10, limit: int = LIMIT) -> Conflict:
    """Why no counts fit a problem of which `solve` has said that none do."""
    if problem.planar:
        few = _fewest(problem.claims, lambda some, size: _none(problem, some, min(size, limit)))
        found = (_nearest(problem, few, claim) for claim in few)
        return Conflict(_told(problem, zip(few, found, strict=True), first, limit))
    return _of_one_class(problem, first, limit) or _of_all_classes(problem, first, limit)


def _none(problem: Problem, claims: tuple[Claim, ...], limit: int) -> bool:
    """Whether it is proved that nothing fits these claims."""
    return solve(replace(problem, claims=claims), first=1, limit=limit).fits is False


def _of_one_class(problem: Problem, first: int, limit: int) -> Conflict | None:
    """The contradiction in the figures of the first class that cannot be as it is claimed."""
    assert problem.sizes is not None
    for row, size in enumerate(problem.sizes):
        alone = Problem(problem.n, (size, problem.n - size), own(problem, row))
        if planar(alone, first=1).count:
            continue
        few = _fewest(alone.claims, lambda some, size: _none(alone, some, size))  # noqa: B023 (called at once)
        found = [(replace(claim, row=row), _nearest(alone, few, claim)) for claim in few]
        return Conflict(_told(problem, found, first, limit), row)
    return None


def _of_all_classes(problem: Problem, first: int, limit: int) -> Conflict:
    """The contradiction of figures of the whole task with those of the classes."""
    rows = tuple(claim for claim in problem.claims if claim.row is not None)
    whole = tuple(claim for claim in problem.claims if claim.row is None)
    few = _fewest(whole, lambda some, size: _none(problem, (*rows, *some), min(size, limit)))
    found = ((claim, _nearest_right(problem, claim) if len(few) == 1 else (None, None)) for claim in few)
    return Conflict(_told(problem, found, first, limit, joint=True), joint=True)


def _fewest(claims: tuple[Claim, ...], impossible: Callable[[tuple[Claim, ...], int], bool]) -> tuple[Claim, ...]:
    """None, one or two of the claims that are seen at once to be impossible; else some of which none can be spared."""
    for count in range(3):
        for some in combinations(claims, count):
            if impossible(some, _SMALL):
                return some
    for claim in reversed(claims):
        fewer = tuple(other for other in claims if other is not claim)
        if impossible(fewer, LIMIT):
            claims = fewer
    return claims


def _told(
    problem: Problem, found: Iterable[tuple[Claim, Nearest]], first: int, limit: int, *, joint: bool = False
) -> tuple[Contradicted, ...]:
    """Each figure with what fits all others of the problem."""
    told = []
    for claim, nearest in found:
        kept = tuple(other for other in problem.claims if other != claim)
        without = solve(replace(problem, claims=kept), first=first, limit=limit)
        if joint and nearest == (None, None) and without.complete and without.count == len(without.first):
            nearest = _among(claim, without)  # noqa: PLW2901 (else it is unknown)
        told.append(Contradicted(claim, *nearest, without))
    return tuple(told)


def _nearest(problem: Problem, few: tuple[Claim, ...], claim: Claim) -> Nearest:
    """The nearest values below and above a figure that two classes of known sizes can have beside the other claims."""
    if problem.sizes is None:
        return None, None
    others = tuple(other for other in few if other is not claim)
    answer = sized(others, problem.sizes[0], problem.n, first=_LISTED, limit=_COLUMNS)
    if answer.complete and answer.count <= _LISTED:
        return _among(claim, answer)
    if region_of(few, problem.sizes[0], problem.n)[1]:
        return None, None  # halving would go through all columns each time
    return _toward(problem, others, claim, -1), _toward(problem, others, claim, 1)


def _among(claim: Claim, answer: Answer) -> Nearest:
    """The nearest values among counts that are all listed; a square root is known by its square here."""
    low, high = claim.figure.low, claim.figure.high
    if claim.key == "mcc":
        low, high = low * abs(low), high * abs(high)
    near = [Near(measured(claim, tables), tables) for tables in answer.first]
    return (
        max((one for one in near if one.value < low), key=lambda one: one.value, default=None),
        min((one for one in near if one.value > high), key=lambda one: one.value, default=None),
    )


def _toward(problem: Problem, others: tuple[Claim, ...], claim: Claim, side: int) -> Near | None:
    """The nearest value on one side, by halving the window in which there is one."""
    assert problem.sizes is not None
    figure, size, n = claim.figure, problem.sizes[0], problem.n

    def window(far: Fraction) -> Answer:
        low, high = (far, figure.low) if side < 0 else (figure.high, far)
        asked = replace(claim, figure=Figure("", low, high, Fraction(0)))
        return sized((*others, asked), size, n, first=1)

    far, near = Fraction(-1 if side < 0 else n + 1), figure.low if side < 0 else figure.high
    best = window(far)
    if not best.count:
        return None
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        found = window(middle)
        far, near, best = (middle, near, found) if found.count else (far, middle, best)
    return Near(measured(claim, best.first[0]), best.first[0])


def _nearest_right(problem: Problem, claim: Claim) -> Nearest:
    """The nearest values of a figure that follows from the number of right answers, whatever the classes say."""
    assert problem.sizes is not None
    n, m = problem.n, len(problem.sizes)
    ends = of_right(claim.key, 0, m, n), of_right(claim.key, n, m, n)
    if not problem.exclusive or ends[0] is None or ends[1] is None:
        return None, None
    rising = ends[0] <= ends[1]

    def value(right: int) -> Fraction:
        return of_right(claim.key, right if rising else n - right, m, n) or Fraction(0)

    beyond = least_from(0, n, lambda right: value(right) > claim.figure.high)
    within = least_from(0, n, lambda right: value(right) >= claim.figure.low)
    return Near(value(within - 1)) if within else None, Near(value(beyond)) if beyond <= n else None
