"""Problems with a known solution: counts are drawn and figures are printed from them."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

from hypothesis import strategies as st

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import (
    SINGLE_LABEL_MEASURES,
    WHOLE_TASK_MEASURES,
    compare_with_figure,
    measure_value,
)
from app.analysis.convert.measures import (
    COUNT_MEASURES,
    ONE_CLASS_MEASURES,
    RATE_RULES,
    ZERO_DIVISION_RULES,
    ConfusionTable,
    ZeroDivisionRule,
)
from app.analysis.convert.printed_figures import PrintedFigure, parse_count, parse_figure

Tables = tuple[ConfusionTable, ...]


def printed_figure(key: str, value: Fraction, decimals: int, *, cut: bool = False) -> PrintedFigure:
    """The figure that is printed of a value, rounded or cut."""
    if key in COUNT_MEASURES or key == "correct":
        return parse_count(str(value))
    if key == "mcc":  # known by its square with its sign
        scale = 10**20  # exact where the root is rational: a binary64 root may lie just below it, and be cut wrongly
        root = Fraction(isqrt(abs(value.numerator) * value.denominator * scale**2), value.denominator * scale)
        value = root if value > 0 else -root
    return parse_figure(PrintedFigure("", value, value, Fraction(1, 10**decimals), cut=cut).printed(value), cut=cut)


def claim(
    key: str,
    tables: Tables,
    row: int | None,
    decimals: int,
    *,
    undefined: ZeroDivisionRule = "worst",
    cut: bool = False,
) -> FigureClaim | None:
    """What is printed of these counts; None where the measure has no value."""
    value = measure_value(FigureClaim(key, parse_figure("0"), row), tables, undefined)
    return None if value is None else FigureClaim(key, printed_figure(key, value, decimals, cut=cut), row)


def claims(
    figures: Iterable[tuple[str, int | None]], tables: Tables, decimals: int, **how: Any
) -> tuple[FigureClaim, ...]:
    """What is printed of these counts, of all measures that have a value."""
    found = (claim(key, tables, row, decimals, **how) for key, row in figures)
    return tuple(one for one in found if one is not None)


def problem_of_figures(n: int, positives: int | None, **figures: str) -> CountsProblem:
    """A problem of two classes: figures of the positive class and of the whole task, as they are printed."""
    whole = {key: None if key in WHOLE_TASK_MEASURES else 0 for key in figures}
    stated = tuple(FigureClaim(key, parse_figure(text), whole[key]) for key, text in figures.items())
    return CountsProblem(n, None if positives is None else (positives, n - positives), stated)


def binary_tables(tp: int, fp: int, size: int, n: int) -> Tables:
    own = (tp, fp, size - tp, n - size - fp)
    return own, own[::-1]


def tables_of_matrix(matrix: Sequence[Sequence[int]]) -> Tables:
    """The tables of exclusive classes, from a confusion matrix with a row for each gold class."""
    n = sum(map(sum, matrix))
    found = []
    for k, row in enumerate(matrix):
        tp, size, chosen = row[k], sum(row), sum(line[k] for line in matrix)
        found.append((tp, chosen - tp, size - tp, n - size - chosen + tp))
    return tuple(found)


def _compositions(total: int, cells: int) -> Iterator[tuple[int, ...]]:
    if cells == 1:
        yield (total,)
        return
    for head in range(total + 1):
        yield from ((head, *rest) for rest in _compositions(total - head, cells - 1))


def all_tables(problem: CountsProblem) -> set[Tables]:
    """All tables that classes of these sizes can have, by going through all confusion matrices (or sets of counts)."""
    n = problem.n
    if problem.sizes is None:
        return {found for size in range(n + 1) for found in all_tables(CountsProblem(n, (size, n - size), ()))}
    if problem.exclusive:
        m = len(problem.sizes)
        return {
            tables_of_matrix(matrix) for matrix in product(*(list(_compositions(size, m)) for size in problem.sizes))
        }
    return set(
        product(
            *(
                [(tp, fp, size - tp, n - size - fp) for tp in range(size + 1) for fp in range(n - size + 1)]
                for size in problem.sizes
            )
        )
    )


def satisfies_claims(problem: CountsProblem, tables: Tables) -> bool:
    """Whether these counts give every claimed figure, by computing each measure."""
    values = ((one, measure_value(one, tables, problem.undefined)) for one in problem.claims)
    return all(value is not None and compare_with_figure(one, value) == 0 for one, value in values)


@st.composite
def drawn_problems(
    draw: st.DrawFn, *, classes: int = 2, most: int = 12, exclusive: bool = True
) -> tuple[CountsProblem, Tables]:
    """A problem with up to five figures, some of which may be off, and the counts that the others were printed of."""
    if exclusive:
        cells = st.lists(st.integers(0, most), min_size=classes, max_size=classes)
        matrix = draw(st.lists(cells, min_size=classes, max_size=classes).filter(lambda rows: any(map(any, rows))))
        tables = tables_of_matrix(matrix)
    else:
        n = draw(st.integers(1, most))
        drawn = draw(st.lists(st.integers(0, n), min_size=classes, max_size=classes))
        tables = tuple(
            (tp, fp, size - tp, n - size - fp)
            for size in drawn
            for tp, fp in [(draw(st.integers(0, size)), draw(st.integers(0, n - size)))]
        )
    whole = [key for key in WHOLE_TASK_MEASURES if exclusive or key not in SINGLE_LABEL_MEASURES]
    figures = draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(ONE_CLASS_MEASURES), st.integers(0, classes - 1)),
                st.tuples(st.sampled_from(whole), st.none()),
            ),
            max_size=5,
            unique=True,
        )
    )
    undefined = draw(st.sampled_from((*ZERO_DIVISION_RULES, *RATE_RULES)))
    stated = claims(figures, tables, draw(st.integers(0, 4)), undefined=undefined, cut=draw(st.booleans()))
    sizes = tuple(tp + fn for tp, _, fn, _ in tables)
    return CountsProblem(sum(tables[0]), sizes, stated, exclusive, undefined), tables
