"""Why no counts fit: the fewest figures that contradict each other, and the nearest values that each could have."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from app.analysis.convert.claims import Claim, Problem
from app.analysis.convert.constraints import measured, of_right, side_of
from app.analysis.convert.lattice_points import least_from
from app.analysis.convert.measures import Table, Undefined
from app.analysis.convert.multiclass_search import joined, own
from app.analysis.convert.one_class_search import LIMIT, Answer, planar, region_of, sized
from app.analysis.convert.printed_figures import Figure

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
    answers: tuple[Answer, ...]
    """What fits without it under each convention for 0/0; `without` is the first of them that fits."""


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


@dataclass(frozen=True, slots=True)
class Question:
    """A problem, and the conventions for 0/0 under which its figures may have been printed: all under one of them."""

    problem: Problem
    conventions: tuple[Undefined, ...] = ("worst",)

    @property
    def problems(self) -> list[Problem]:
        """The problem under each convention."""
        return [replace(self.problem, undefined=one) for one in self.conventions]

    def of(self, claims: tuple[Claim, ...]) -> "Question":
        """The same question about these claims."""
        return replace(self, problem=replace(self.problem, claims=claims))


def solve(problem: Problem, *, first: int = 10, limit: int = LIMIT) -> Answer:
    """The counts that fit all figures, as far as a search of this size shows."""
    found = (planar if problem.planar else joined)(problem, first=first, limit=limit)
    return replace(found, undefined=problem.undefined)


def solve_any(question: Question, *, first: int = 10, limit: int = LIMIT) -> Answer:
    """The counts that fit under the first convention under which some do; else whether all conventions are excluded."""
    return best_of(solve(problem, first=first, limit=limit) for problem in question.problems)


def best_of(answers: Iterable[Answer]) -> Answer:
    """The first answer that fits; else one that is undecided, if there is one."""
    best: Answer | None = None
    for answer in answers:
        if answer.count:
            return answer
        best = answer if best is None or answer.fits is None else best
    assert best is not None
    return best


def explain(question: Question, *, first: int = 10, limit: int = LIMIT) -> Conflict:
    """Why no counts fit a question of which `solve_any` has said that none do."""
    problem = question.problem
    if problem.planar:
        few = _fewest(problem.claims, lambda some, size: _none(question, some, size))
        found = (_nearest(question, few, claim) for claim in few)
        return Conflict(_told(question, zip(few, found, strict=True), first, limit))
    return _of_one_class(question, first, limit) or _of_all_classes(question, first, limit)


def _none(question: Question, claims: tuple[Claim, ...], limit: int) -> bool:
    """Whether it is proved that nothing fits these claims."""
    return solve_any(question.of(claims), first=1, limit=limit).fits is False


def _of_one_class(question: Question, first: int, limit: int) -> Conflict | None:
    """The contradiction in the figures of the first class that cannot be as it is claimed."""
    problem = question.problem
    assert problem.sizes is not None
    for row, size in enumerate(problem.sizes):
        alone = replace(question, problem=Problem(problem.n, (size, problem.n - size), own(problem, row)))
        if solve_any(alone, first=1).fits is not False:
            continue
        few = _fewest(alone.problem.claims, lambda some, size: _none(alone, some, size))  # noqa: B023 (called at once)
        found = [(replace(claim, row=row), _nearest(alone, few, claim)) for claim in few]
        return Conflict(_told(question, found, first, limit), row)
    return None


def _of_all_classes(question: Question, first: int, limit: int) -> Conflict:
    """The contradiction of figures of the whole task with those of the classes."""
    problem = question.problem
    rows = tuple(claim for claim in problem.claims if claim.row is not None)
    whole = tuple(claim for claim in problem.claims if claim.row is None)
    few = _fewest(whole, lambda some, size: _none(question, (*rows, *some), size))
    found = ((claim, _nearest_right(problem, claim) if len(few) == 1 else (None, None)) for claim in few)
    return Conflict(_told(question, found, first, limit, joint=True), joint=True)


def _fewest(claims: tuple[Claim, ...], impossible: Callable[[tuple[Claim, ...], int], bool]) -> tuple[Claim, ...]:
    """None, one or two of the claims that are seen at once to be impossible, else some of them; none can be spared."""
    few = (some for count in range(3) for some in combinations(claims, count) if impossible(some, _SMALL))
    claims = next(few, claims)  # of a pair one may be impossible alone, though that takes longer to see
    for claim in reversed(claims):
        fewer = tuple(other for other in claims if other is not claim)
        if impossible(fewer, LIMIT):
            claims = fewer
    return claims


def _told(
    question: Question, found: Iterable[tuple[Claim, Nearest]], first: int, limit: int, *, joint: bool = False
) -> tuple[Contradicted, ...]:
    """Each figure with what fits all others of the problem."""
    told = []
    for claim, nearest in found:
        kept = question.of(tuple(other for other in question.problem.claims if other != claim))
        if joint and nearest == (None, None):
            nearest = _among(claim, kept, first, limit) or nearest  # noqa: PLW2901 (else it is unknown)
        answers = tuple(solve(problem, first=first, limit=limit) for problem in kept.problems)
        told.append(Contradicted(claim, *nearest, best_of(answers), answers))
    return tuple(told)


def _nearest(question: Question, few: tuple[Claim, ...], claim: Claim) -> Nearest:
    """The nearest values below and above a figure that two classes of known sizes can have beside the other claims."""
    problem = question.problem
    if problem.sizes is None:
        return None, None
    kept = question.of(tuple(other for other in few if other is not claim))
    listed = _among(claim, kept, _LISTED, _COLUMNS)
    if listed is not None:
        return listed
    if any(region_of(few, problem.sizes[0], problem.n, one)[1] for one in question.conventions):
        return None, None  # halving would go through all columns each time
    ends = [(_toward(one, claim, -1), _toward(one, claim, 1)) for one in kept.problems]
    return _best(one for one, _ in ends if one), _best((one for _, one in ends if one), largest=False)


def _best(found: Iterable[Near], *, largest: bool = True) -> Near | None:
    return (max if largest else min)(found, key=lambda one: one.value, default=None)


def _among(claim: Claim, kept: Question, listed: int, limit: int) -> Nearest | None:
    """The nearest values among all counts that fit the other claims; None where these are too many to list.

    A square root is known by its square here.
    """
    near: list[Near] = []
    for problem in kept.problems:
        answer = solve(problem, first=listed, limit=limit)
        if not answer.complete or answer.count > len(answer.first):
            return None
        values = ((measured(claim, tables, problem.undefined), tables) for tables in answer.first)
        near += (Near(value, tables) for value, tables in values if value is not None)
    sides = [(side_of(claim, one.value), one) for one in near]
    return (
        _best(one for side, one in sides if side < 0),
        _best((one for side, one in sides if side > 0), largest=False),
    )


def _toward(problem: Problem, claim: Claim, side: int) -> Near | None:
    """The nearest value on one side of a figure beside the claims of a problem, by halving the window in which there is one."""
    assert problem.sizes is not None
    figure, size = claim.figure, problem.sizes[0]

    def window(far: Fraction) -> Answer:
        low, high = (far, figure.low) if side < 0 else (figure.high, far)
        asked = replace(claim, figure=Figure("", low, high, Fraction(0)))
        return sized(replace(problem, claims=(*problem.claims, asked)), size, first=1)

    far, near = Fraction(-1 if side < 0 else problem.n + 1), figure.low if side < 0 else figure.high
    best = window(far)
    if not best.count:
        return None
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        found = window(middle)
        far, near, best = (middle, near, found) if found.count else (far, middle, best)
    value = measured(claim, best.first[0], problem.undefined)
    return None if value is None else Near(value, best.first[0])


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

    beyond = least_from(0, n, lambda right: claim.figure.side(value(right)) > 0)
    within = least_from(0, n, lambda right: claim.figure.side(value(right)) >= 0)
    return Near(value(within - 1)) if within else None, Near(value(beyond)) if beyond <= n else None
