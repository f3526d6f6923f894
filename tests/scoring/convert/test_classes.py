"""Counts of many classes: against every confusion matrix of small problems."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.convert.claims import Claim, Problem
from app.analysis.convert.constraints import WHOLE, measured
from app.analysis.convert.measures import COUNT_KEYS
from app.analysis.convert.multiclass_search import joined
from app.analysis.convert.printed_figures import read_count, read_figure
from app.scoring.declaration.metric import CATALOGUE
from tests.scoring.build import case, value
from tests.scoring.convert.drawn import Tables, claims, every, holds, of_matrix, problems


def check(problem: Problem, tables: Tables | None) -> None:
    answer = joined(problem, first=10**6, limit=10**6)
    fitting = {found for found in every(problem) if holds(problem, found)}
    assert answer.complete
    assert set(answer.first) == fitting
    assert answer.count == len(fitting)
    assert tables is None or tables in fitting
    if fitting:
        assert answer.spans == tuple(
            tuple((min(one[k][cell] for one in fitting), max(one[k][cell] for one in fitting)) for cell in (0, 1))
            for k in range(len(problem.sizes or ()))
        )


@settings(max_examples=100, deadline=None)
@given(problems(classes=3, most=1), st.booleans())
def test_all_counts_of_exclusive_classes_are_found_and_no_others(drawn: tuple[Problem, Tables], off: bool) -> None:
    problem, tables = drawn
    if off and problem.claims:
        wrong = replace(problem.claims[-1], figure=read_figure("0.5"))
        problem = replace(problem, claims=(*problem.claims[:-1], wrong))
    check(problem, None if off else tables)


@settings(max_examples=60, deadline=None)
@given(problems(classes=2, most=4, exclusive=False))
def test_all_counts_of_labels_that_may_come_together_are_found(drawn: tuple[Problem, Tables]) -> None:
    check(*drawn)


@settings(max_examples=60, deadline=None)
@given(problems(classes=4, most=1000))
def test_the_counts_that_were_printed_are_among_those_that_fit(drawn: tuple[Problem, Tables]) -> None:
    problem, tables = drawn
    exact = claims(((key, row) for key in COUNT_KEYS for row in range(4)), tables, 0)
    assert joined(replace(problem, claims=(*problem.claims, *exact))).first == (tables,)


CATALOGUED = [key for key in WHOLE if key in CATALOGUE and "multiclass" in CATALOGUE[key].tasks]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CATALOGUED), st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=1, max_size=12))
def test_a_measure_has_the_value_that_the_catalogue_gives_it(key: str, pairs: list[tuple[str, str]]) -> None:
    of = case("multiclass", list("abc"), [gold for gold, _ in pairs], [predicted for _, predicted in pairs])
    tables = of_matrix([[pairs.count((gold, predicted)) for predicted in "abc"] for gold in "abc"])
    found = value(of, key)
    if found is not None:
        measure = measured(Claim(key, read_figure("0")), tables)
        assert measure is not None
        exact = float(measure)
        assert exact == pytest.approx(found * abs(found) if key == "mcc" else found, abs=1e-12), key


def test_mistakes_have_to_find_a_place_off_the_diagonal() -> None:
    """Two misses of the first class and two false positives of it cannot be the only mistakes."""
    counts = {"tp": "1", "fp": "2"}
    claims = [Claim(key, read_count(text), 0) for key, text in counts.items()]
    claims += [Claim("tp", read_count("3"), row) for row in (1, 2)]
    assert joined(Problem(9, (3, 3, 3), tuple(claims))).fits is False
    assert joined(Problem(9, (3, 3, 3), tuple(claims), exclusive=False)).fits is True


def test_figures_out_of_reach_of_the_classes_are_told_without_a_search() -> None:
    rows = [Claim(key, read_figure("0.70"), row) for row in range(8) for key in ("precision", "recall")]
    problem = Problem(40_000, (5_000,) * 8, tuple(rows))
    for key in ("f1_macro", "accuracy", "f1_of_averages_macro", "recall_weighted"):
        right = joined(replace(problem, claims=(*rows, Claim(key, read_figure("0.70")))), limit=2_000)
        assert right.fits is True, key
    for key in ("f1_macro", "accuracy", "recall_weighted"):
        wrong = joined(replace(problem, claims=(*rows, Claim(key, read_figure("0.72")))), limit=10)
        assert (wrong.fits, wrong.complete) == (False, True), key


def test_a_thousand_classes_are_no_deeper_than_ten() -> None:
    m = 1_000
    rows = [Claim(key, read_figure("0.50"), row) for row in range(m) for key in ("precision", "recall")]
    answer = joined(Problem(2 * m, (2,) * m, tuple(rows)))
    assert answer.first == (((1, 1, 1, 2 * m - 3),) * m,)
    assert (answer.count, answer.complete) == (1, True)


def test_a_search_that_is_cut_says_so() -> None:
    rows = [Claim(key, read_figure("0.7"), row) for row in range(5) for key in ("precision", "recall")]
    answer = joined(Problem(50_000, (10_000,) * 5, tuple(rows)), limit=100)
    assert (answer.fits, answer.complete, answer.spans) == (True, False, None)
