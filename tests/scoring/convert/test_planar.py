"""Counts of two classes: against every pair of counts of small problems, and against the metrics of the catalogue."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.convert.claims import Claim, Problem
from app.scoring.convert.demands import WHOLE, measured
from app.scoring.convert.figures import read_figure
from app.scoring.convert.measures import COUNT_KEYS, ONE_CLASS
from app.scoring.convert.planar import planar, possible_sizes
from app.scoring.metric import CATALOGUE
from tests.scoring.build import case, value
from tests.scoring.convert.drawn import Tables, binary, claim, every, holds, problems


@settings(max_examples=150, deadline=None)
@given(problems(most=4), st.booleans(), st.booleans())
def test_all_counts_that_fit_are_found_and_no_others(drawn: tuple[Problem, Tables], unknown: bool, off: bool) -> None:
    problem, tables = drawn
    if off and problem.claims:
        wrong = replace(problem.claims[0], figure=read_figure("0.61"))
        problem = replace(problem, claims=(wrong, *problem.claims[1:]))
    if unknown:
        problem = replace(problem, sizes=None)
    answer = planar(problem, first=10**6)
    fitting = {found for found in every(problem) if holds(problem, found)}
    assert answer.complete
    assert set(answer.first) == fitting
    assert answer.count == len(fitting)
    assert off or tables in fitting
    if fitting and not unknown:
        assert answer.spans == tuple(
            tuple((min(one[k][cell] for one in fitting), max(one[k][cell] for one in fitting)) for cell in (0, 1))
            for k in (0, 1)
        )


@settings(max_examples=200, deadline=None)
@given(problems(most=10**5))
def test_the_counts_that_were_printed_are_among_those_that_fit(drawn: tuple[Problem, Tables]) -> None:
    problem, tables = drawn
    exact = tuple(claim(key, tables, 0, 0) for key in COUNT_KEYS)
    answer = planar(replace(problem, claims=(*problem.claims, *exact)))
    assert answer.first == (tables,)
    assert planar(problem, limit=20).fits is not False


CATALOGUED = [key for key in (*ONE_CLASS, *WHOLE) if key in CATALOGUE and "binary" in CATALOGUE[key].tasks]


def test_most_measures_are_those_of_the_catalogue() -> None:
    assert len(CATALOGUED) >= 40


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CATALOGUED), st.lists(st.tuples(*[st.sampled_from("ab")] * 2), min_size=1, max_size=12))
def test_a_measure_has_the_value_that_the_catalogue_gives_it(key: str, pairs: list[tuple[str, str]]) -> None:
    of = case("binary", ["a", "b"], [gold for gold, _ in pairs], [predicted for _, predicted in pairs])
    tp, fp, fn = (pairs.count(pair) for pair in (("a", "a"), ("b", "a"), ("a", "b")))
    exact = measured(Claim(key, read_figure("0"), None if key in WHOLE else 0), binary(tp, fp, tp + fn, len(pairs)))
    found = value(of, key)
    if found is not None:
        expected = found * abs(found) if key == "mcc" else found
        assert float(exact) == pytest.approx(expected, abs=1e-12), key


def asked(n: int, positives: int | None, **figures: str) -> Problem:
    claims = (Claim(key, read_figure(text), None if key in WHOLE else 0) for key, text in figures.items())
    return Problem(n, None if positives is None else (positives, n - positives), tuple(claims))


def test_an_example_that_can_be_counted_by_hand() -> None:
    answer = planar(asked(10, 4, precision="0.75", recall="0.75"))
    assert answer.first == (((3, 1, 1, 5), (5, 1, 1, 3)),)
    assert planar(asked(10, 4, recall="0.70")).count == 0
    assert planar(asked(10, 4, precision="0.00")).count == 7  # no prediction at all is printed as 0 too


def test_a_million_instances_take_no_longer_than_ten() -> None:
    answer = planar(asked(10**6, 120_000, precision="0.81", recall="0.74", f1="0.77", accuracy="0.95"))
    assert answer.complete
    assert answer.count == 1_243_461
    assert answer.spans is not None
    assert answer.spans[0] == ((88_200, 89_400), (20_021, 21_655))
    far = planar(asked(10**15, 5 * 10**14, precision="0.812345", recall="0.741234"))
    assert far.count > 10**17


def test_figures_alone_bound_the_size_of_the_positive_class() -> None:
    low, high = possible_sizes(asked(10_000, None, precision="0.81", recall="0.74", accuracy="0.95").claims, 10_000)
    assert 1_000 < low < high < 1_300
    assert planar(asked(10_000, None, precision="0.5000", recall="0.5000", f1="0.6000")).fits is False


def test_a_search_that_is_cut_says_so() -> None:
    some = planar(asked(10**6, 120_000, precision_macro="0.81"), limit=50)
    assert (some.complete, some.fits) == (False, True)
    none = planar(asked(10**6, 120_000, precision_macro="0.8123456789", recall="0.51"), limit=5)
    assert (none.complete, none.fits) == (False, None)
