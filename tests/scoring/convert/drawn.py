"""Problems that hold by construction: counts are drawn, and what is printed of them follows."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

from hypothesis import strategies as st

from app.analysis.convert.claims import Claim, Problem
from app.analysis.convert.constraints import EXCLUSIVE, WHOLE, measured, side_of
from app.analysis.convert.measures import BY_RATES, CONVENTIONS, COUNT_KEYS, ONE_CLASS, Table, Undefined
from app.analysis.convert.printed_figures import Figure, read_count, read_figure

Tables = tuple[Table, ...]


def printed(key: str, value: Fraction, decimals: int, *, cut: bool = False) -> Figure:
    """The figure that is printed of a value, rounded or cut."""
    if key in COUNT_KEYS or key == "correct":
        return read_count(str(value))
    if key == "mcc":  # known by its square with its sign
        scale = 10**20  # exact where the root is rational: a binary64 root may lie just below it, and be cut wrongly
        root = Fraction(isqrt(abs(value.numerator) * value.denominator * scale**2), value.denominator * scale)
        value = root if value > 0 else -root
    return read_figure(Figure("", value, value, Fraction(1, 10**decimals), cut=cut).printed(value), cut=cut)


def claim(
    key: str, tables: Tables, row: int | None, decimals: int, *, undefined: Undefined = "worst", cut: bool = False
) -> Claim | None:
    """What is printed of these counts; None where the measure has no value."""
    value = measured(Claim(key, read_figure("0"), row), tables, undefined)
    return None if value is None else Claim(key, printed(key, value, decimals, cut=cut), row)


def claims(asked: Iterable[tuple[str, int | None]], tables: Tables, decimals: int, **how: Any) -> tuple[Claim, ...]:
    """What is printed of these counts, of all measures that have a value."""
    found = (claim(key, tables, row, decimals, **how) for key, row in asked)
    return tuple(one for one in found if one is not None)


def binary(tp: int, fp: int, size: int, n: int) -> Tables:
    own = (tp, fp, size - tp, n - size - fp)
    return own, own[::-1]


def of_matrix(matrix: Sequence[Sequence[int]]) -> Tables:
    """The tables of exclusive classes, from a confusion matrix with a row for each gold class."""
    n = sum(map(sum, matrix))
    found = []
    for k, row in enumerate(matrix):
        tp, size, chosen = row[k], sum(row), sum(line[k] for line in matrix)
        found.append((tp, chosen - tp, size - tp, n - size - chosen + tp))
    return tuple(found)


def _rows(total: int, cells: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (total,)
        return
    for head in range(total + 1):
        yield from ((head, *rest) for rest in _rows(total - head, cells - 1))


def every(problem: Problem) -> set[Tables]:
    """All tables that classes of these sizes can have, by going through all confusion matrices (or sets of counts)."""
    n = problem.n
    if problem.sizes is None:
        return {found for size in range(n + 1) for found in every(Problem(n, (size, n - size), ()))}
    if problem.exclusive:
        m = len(problem.sizes)
        return {of_matrix(matrix) for matrix in product(*(list(_rows(size, m)) for size in problem.sizes))}
    return set(
        product(
            *(
                [(tp, fp, size - tp, n - size - fp) for tp in range(size + 1) for fp in range(n - size + 1)]
                for size in problem.sizes
            )
        )
    )


def holds(problem: Problem, tables: Tables) -> bool:
    """Whether counts may be printed as is claimed: each value is computed, none solved for."""
    values = ((one, measured(one, tables, problem.undefined)) for one in problem.claims)
    return all(value is not None and side_of(one, value) == 0 for one, value in values)


@st.composite
def problems(draw: st.DrawFn, *, classes: int = 2, most: int = 12, exclusive: bool = True) -> tuple[Problem, Tables]:
    """A problem with up to five figures, some of which may be off, and the counts that the others were printed of."""
    if exclusive:
        cells = st.lists(st.integers(0, most), min_size=classes, max_size=classes)
        matrix = draw(st.lists(cells, min_size=classes, max_size=classes).filter(lambda rows: any(map(any, rows))))
        tables = of_matrix(matrix)
    else:
        n = draw(st.integers(1, most))
        drawn = draw(st.lists(st.integers(0, n), min_size=classes, max_size=classes))
        tables = tuple(
            (tp, fp, size - tp, n - size - fp)
            for size in drawn
            for tp, fp in [(draw(st.integers(0, size)), draw(st.integers(0, n - size)))]
        )
    whole = [key for key in WHOLE if exclusive or key not in EXCLUSIVE]
    asked = draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(ONE_CLASS), st.integers(0, classes - 1)),
                st.tuples(st.sampled_from(whole), st.none()),
            ),
            max_size=5,
            unique=True,
        )
    )
    undefined = draw(st.sampled_from((*CONVENTIONS, *BY_RATES)))
    stated = claims(asked, tables, draw(st.integers(0, 4)), undefined=undefined, cut=draw(st.booleans()))
    sizes = tuple(tp + fn for tp, _, fn, _ in tables)
    return Problem(sum(tables[0]), sizes, stated, exclusive, undefined), tables
