"""Counts of many classes: against every confusion matrix of small problems."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import WHOLE_TASK_MEASURES, measure_value
from app.analysis.convert.measures import COUNT_MEASURES
from app.analysis.convert.multiclass_search import search_many_classes
from app.analysis.convert.printed_figures import parse_count, parse_figure
from app.scoring.declaration.metric import CATALOGUE
from tests.hypothesis_profiles import is_thorough
from tests.scoring.case_builder import case, value
from tests.scoring.convert.strategies import (
    Tables,
    all_tables,
    claims,
    drawn_problems,
    satisfies_claims,
    tables_of_matrix,
)


def check(problem: CountsProblem, tables: Tables | None) -> None:
    answer = search_many_classes(problem, first=10**6, limit=10**6)
    fitting = {found for found in all_tables(problem) if satisfies_claims(problem, found)}
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
@given(drawn_problems(classes=3, most=1), st.booleans())
def test_all_counts_of_exclusive_classes_are_found_and_no_others(
    drawn: tuple[CountsProblem, Tables], off: bool
) -> None:
    problem, tables = drawn
    if off and problem.claims:
        wrong = replace(problem.claims[-1], figure=parse_figure("0.5"))
        problem = replace(problem, claims=(*problem.claims[:-1], wrong))
    check(problem, None if off else tables)


@settings(max_examples=60, deadline=None)
@given(drawn_problems(classes=2, most=4, exclusive=False))
def test_all_counts_of_labels_that_may_come_together_are_found(drawn: tuple[CountsProblem, Tables]) -> None:
    check(*drawn)


@settings(max_examples=60, deadline=None)
@given(drawn_problems(classes=4, most=1000))
def test_the_counts_that_were_printed_are_among_those_that_fit(drawn: tuple[CountsProblem, Tables]) -> None:
    problem, tables = drawn
    exact = claims(((key, row) for key in COUNT_MEASURES for row in range(4)), tables, 0)
    assert search_many_classes(replace(problem, claims=(*problem.claims, *exact))).first == (tables,)


CATALOGUED = [key for key in WHOLE_TASK_MEASURES if key in CATALOGUE and "multiclass" in CATALOGUE[key].tasks]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CATALOGUED), st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=1, max_size=12))
def test_a_measure_has_the_value_that_the_catalogue_gives_it(key: str, pairs: list[tuple[str, str]]) -> None:
    of = case("multiclass", list("abc"), [gold for gold, _ in pairs], [predicted for _, predicted in pairs])
    tables = tables_of_matrix([[pairs.count((gold, predicted)) for predicted in "abc"] for gold in "abc"])
    found = value(of, key)
    if found is not None:
        measure = measure_value(FigureClaim(key, parse_figure("0")), tables)
        assert measure is not None
        exact = float(measure)
        assert exact == pytest.approx(found * abs(found) if key == "mcc" else found, abs=1e-12), key


def test_mistakes_have_to_find_a_place_off_the_diagonal() -> None:
    """Two misses of the first class and two false positives of it cannot be the only mistakes."""
    counts = {"tp": "1", "fp": "2"}
    claims = [FigureClaim(key, parse_count(text), 0) for key, text in counts.items()]
    claims += [FigureClaim("tp", parse_count("3"), row) for row in (1, 2)]
    assert search_many_classes(CountsProblem(9, (3, 3, 3), tuple(claims))).fits is False
    assert search_many_classes(CountsProblem(9, (3, 3, 3), tuple(claims), exclusive=False)).fits is True


def test_figures_out_of_reach_of_the_classes_are_told_without_a_search() -> None:
    rows = [FigureClaim(key, parse_figure("0.70"), row) for row in range(8) for key in ("precision", "recall")]
    problem = CountsProblem(40_000, (5_000,) * 8, tuple(rows))
    more = ("accuracy", "recall_weighted") if is_thorough() else ()
    for key in ("f1_macro", "f1_of_averages_macro", *more):
        right = search_many_classes(
            replace(problem, claims=(*rows, FigureClaim(key, parse_figure("0.70")))), limit=2_000
        )
        assert right.fits is True, key
    for key in ("f1_macro", "accuracy", "recall_weighted"):
        wrong = search_many_classes(replace(problem, claims=(*rows, FigureClaim(key, parse_figure("0.72")))), limit=10)
        assert (wrong.fits, wrong.complete) == (False, True), key


def test_a_thousand_classes_are_no_deeper_than_ten() -> None:
    m = 1_000
    rows = [FigureClaim(key, parse_figure("0.50"), row) for row in range(m) for key in ("precision", "recall")]
    answer = search_many_classes(CountsProblem(2 * m, (2,) * m, tuple(rows)))
    assert answer.first == (((1, 1, 1, 2 * m - 3),) * m,)
    assert (answer.count, answer.complete) == (1, True)


def test_a_search_that_is_cut_says_so() -> None:
    rows = [FigureClaim(key, parse_figure("0.7"), row) for row in range(5) for key in ("precision", "recall")]
    answer = search_many_classes(CountsProblem(50_000, (10_000,) * 5, tuple(rows)), limit=100)
    assert (answer.fits, answer.complete, answer.spans) == (True, False, None)
