"""Chi-squared and Cramér's V of a table, against scipy and against the textbook sum."""

from fractions import Fraction
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.chi_squared import association

scipy = import_module("scipy.stats.contingency")  # which has no types

TABLES = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 9), min_size=width, max_size=width), min_size=1, max_size=5)
)


def without_empty(table: list[list[int]]) -> list[list[int]]:
    rows = [row for row in table if any(row)]
    kept = [at for at in range(len(table[0])) if any(row[at] for row in rows)]
    return [[row[at] for at in kept] for row in rows]


def textbook(table: list[list[int]]) -> Fraction:
    """The sum of (observed - expected)² / expected."""
    n = sum(map(sum, table))
    down = [sum(column) for column in zip(*table, strict=True)]
    cells = [(o, Fraction(sum(row) * c, n)) for row in table for o, c in zip(row, down, strict=True)]
    return sum(((o - e) ** 2 / e for o, e in cells), Fraction(0))


@given(table=TABLES)
def test_it_is_the_sum_of_the_textbook_and_that_of_scipy(table: list[list[int]]) -> None:
    found, kept = association(table), without_empty(table)
    assert (found.rows, found.columns) == (len(kept), len(kept[0]) if kept else 0)
    if min(found.rows, found.columns) < 2:
        assert found.chi_squared is None
        assert found.cramers_v is None
        assert found.reason
        return
    exact = textbook(kept)
    assert found.chi_squared == float(exact)
    expected = scipy.chi2_contingency(kept, correction=False)
    assert found.chi_squared == pytest.approx(expected.statistic, rel=1e-12, abs=1e-12)
    assert found.degrees_of_freedom == expected.dof
    assert found.cramers_v == pytest.approx(scipy.association(kept, method="cramer"), rel=1e-12, abs=1e-7)
    assert found.cramers_v is not None
    square = exact / (found.n * (min(found.rows, found.columns) - 1))
    assert abs(Fraction(found.cramers_v) ** 2 - square) <= square / 2**51


def test_nothing_at_all_has_no_association() -> None:
    assert association([]).reason == association([[0, 0]]).reason
    assert association([[3, 0], [0, 4]]).cramers_v == 1.0
    assert association([[2, 4], [1, 2]]).cramers_v == 0.0


def test_counts_of_any_size_are_exact() -> None:
    big = 10**30
    table = [[3 * big, big], [big, 2 * big]]
    assert association(table).chi_squared == float(big * textbook([[3, 1], [1, 2]]))
    assert association(table).cramers_v == association([[3, 1], [1, 2]]).cramers_v


def test_many_different_totals_are_summed_exactly() -> None:
    table = [[at * at + 1 for at in range(3000)], [at + 7 for at in range(3000)]]
    found = association([row[:60] for row in table])
    assert found.chi_squared == float(textbook([row[:60] for row in table]))
    assert association(table).chi_squared == pytest.approx(
        scipy.chi2_contingency(table, correction=False).statistic, rel=1e-9
    )
