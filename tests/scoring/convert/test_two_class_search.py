"""Counts of two classes: against every pair of counts of small problems, and against the metrics of the catalogue."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import WHOLE_TASK_MEASURES, measure_value
from app.analysis.convert.measures import COUNT_MEASURES, ONE_CLASS_MEASURES, ZERO_DIVISION_RULES, ZeroDivisionRule
from app.analysis.convert.multiclass_search import search_many_classes
from app.analysis.convert.one_class_search import possible_sizes, search_two_classes
from app.analysis.convert.printed_figures import parse_figure
from app.analysis.convert.report import report
from app.analysis.convert.statements import FigureFormat, PublishedFigures
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.hypothesis_profiles import is_thorough
from tests.scoring.case_builder import case, results
from tests.scoring.convert.strategies import (
    Tables,
    all_tables,
    binary_tables,
    claims,
    drawn_problems,
    problem_of_figures,
    satisfies_claims,
    tables_of_matrix,
)


@settings(max_examples=150, deadline=None)
@given(drawn_problems(most=4), st.booleans(), st.booleans())
def test_all_counts_that_fit_are_found_and_no_others(
    drawn: tuple[CountsProblem, Tables], unknown: bool, off: bool
) -> None:
    problem, tables = drawn
    if off and problem.claims:
        wrong = replace(problem.claims[0], figure=parse_figure("0.61"))
        problem = replace(problem, claims=(wrong, *problem.claims[1:]))
    if unknown:
        problem = replace(problem, sizes=None)
    answer = search_two_classes(problem, first=10**6)
    fitting = {found for found in all_tables(problem) if satisfies_claims(problem, found)}
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
@given(drawn_problems(most=10**5))
def test_the_counts_that_were_printed_are_among_those_that_fit(drawn: tuple[CountsProblem, Tables]) -> None:
    problem, tables = drawn
    exact = claims(((key, 0) for key in COUNT_MEASURES), tables, 0)
    answer = search_two_classes(replace(problem, claims=(*problem.claims, *exact)))
    assert answer.first == (tables,)
    assert search_two_classes(problem, limit=20).fits is not False


CATALOGUED = [
    key for key in (*ONE_CLASS_MEASURES, *WHOLE_TASK_MEASURES) if key in CATALOGUE and "binary" in CATALOGUE[key].tasks
]


def test_most_measures_are_those_of_the_catalogue() -> None:
    assert len(CATALOGUED) >= 40


def check_values(of: EvaluationInput, tables: Tables, undefined: ZeroDivisionRule) -> None:
    """Every measure that the catalogue has, too, has the value that scoring gives it."""
    task, names = of.spec.task, of.spec.classes
    rows: dict[str, int | None] = {}
    for key in (*ONE_CLASS_MEASURES, *WHOLE_TASK_MEASURES):
        if key in CATALOGUE and task in CATALOGUE[key].tasks:
            rows.update(
                {key: None}
                if key in WHOLE_TASK_MEASURES
                else {f"{key}:label={name}": k for k, name in enumerate(names)}
            )
    for text, result in results(of, list(rows), {"zero_division": undefined}).items():
        key, found = text.partition(":")[0], result.value
        exact = measure_value(FigureClaim(key, parse_figure("0"), rows[text]), tables, undefined)
        if found is not None:
            assert exact is not None, (text, tables)
            expected = found * abs(found) if key == "mcc" else found
            assert float(exact) == pytest.approx(expected, abs=1e-12), (text, tables)


@pytest.mark.parametrize("undefined", ZERO_DIVISION_RULES)
@given(pairs=st.lists(st.tuples(*[st.sampled_from("ab")] * 2), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_a_measure_has_the_value_that_scoring_gives_it(
    undefined: ZeroDivisionRule, pairs: list[tuple[str, str]]
) -> None:
    tp, fp, fn = (pairs.count(pair) for pair in (("a", "a"), ("b", "a"), ("a", "b")))
    of = case("binary", ["a", "b"], [gold for gold, _ in pairs], [predicted for _, predicted in pairs])
    check_values(of, binary_tables(tp, fp, tp + fn, len(pairs)), undefined)


@pytest.mark.ci
@for_each("undefined", ZERO_DIVISION_RULES)
def test_a_measure_has_the_value_that_scoring_gives_it_where_there_is_little_to_divide(
    undefined: ZeroDivisionRule,
) -> None:
    """Every answer to one or two instances, of two and three classes, and every answer to one with a set of labels.

    Of three classes, those that occur are the first ones or the last ones.
    """
    for n, classes in product((1, 2), ("ab", "abc")):
        for pairs in combinations_with_replacement(product(classes, repeat=2), n):  # in one order: they are counted
            named = "".join(dict.fromkeys(name for pair in pairs for name in pair))
            if classes == "abc" and not ("abc".startswith(named) or "cba".startswith(named)):
                continue
            gold, predicted = zip(*pairs, strict=True)
            tables = tables_of_matrix([[pairs.count((row, column)) for column in classes] for row in classes])
            check_values(case("multiclass", list(classes), gold, predicted), tables, undefined)
    for has, gets in product(product((True, False), repeat=2), repeat=2):
        sets = [[name for name, given in zip("ab", one, strict=True) if given] for one in (has, gets)]
        of_set = case("multilabel", ["a", "b"], [sets[0]], [sets[1]])
        cells = [(x and y, y and not x, x and not y, not x and not y) for x, y in zip(has, gets, strict=True)]
        check_values(of_set, tuple((int(a), int(b), int(c), int(d)) for a, b, c, d in cells), undefined)


@for_each("printed, conventions", [("0", ["0", "rate=1"]), ("1", ["1"]), ("-1/2", ["rate=0"])])
def test_an_informedness_without_one_of_its_rates_is_read_in_either_way(printed: str, conventions: list[str]) -> None:
    """Of a class that gold lacks, and that is predicted twice (once for -1/2): scoring gives the whole of it a value."""
    fp = 1 if printed == "-1/2" else 2
    stated = PublishedFigures(whole={"informedness": printed, "fp": str(fp)}, n=2, positives=0)
    found = report(stated, FigureFormat())
    answers = [found, *found["otherwise"]]
    assert [each for one in answers if one["fits"] for each in one["undefined"]] == conventions


def test_an_example_that_can_be_counted_by_hand() -> None:
    answer = search_two_classes(problem_of_figures(10, 4, precision="0.75", recall="0.75"))
    assert answer.first == (((3, 1, 1, 5), (5, 1, 1, 3)),)
    assert search_two_classes(problem_of_figures(10, 4, recall="0.70")).count == 0
    assert (
        search_two_classes(problem_of_figures(10, 4, precision="0.00")).count == 7
    )  # no prediction at all is printed as 0 too


def test_a_million_instances_take_no_longer_than_ten() -> None:
    answer = search_two_classes(
        problem_of_figures(10**6, 120_000, precision="0.81", recall="0.74", f1="0.77", accuracy="0.95")
    )
    assert answer.complete
    assert answer.count == 1_243_461
    assert answer.spans is not None
    assert answer.spans[0] == ((88_200, 89_400), (20_021, 21_655))
    far = search_two_classes(problem_of_figures(10**15, 5 * 10**14, precision="0.812345", recall="0.741234"))
    assert far.count > 10**17


def test_figures_alone_bound_the_size_of_the_positive_class() -> None:
    low, high = possible_sizes(problem_of_figures(10_000, None, precision="0.81", recall="0.74", accuracy="0.95"))
    assert 1_000 < low < high < 1_300
    assert (
        search_two_classes(problem_of_figures(10_000, None, precision="0.5000", recall="0.5000", f1="0.6000")).fits
        is False
    )


def test_a_search_that_is_cut_says_so() -> None:
    some = search_two_classes(problem_of_figures(10**6, 120_000, precision_macro="0.81"), limit=50)
    assert (some.complete, some.fits) == (False, True)
    none = search_two_classes(
        problem_of_figures(10**6, 120_000, precision_macro="0.8123456789", recall="0.51"), limit=5
    )
    assert (none.complete, none.fits) == (False, None)


SETS = (
    (("precision", 0), ("recall", 0)),
    (("f1", 0), ("specificity", 0), ("npv", 1)),
    (("fdr", 0), ("for", 0), ("informedness", 0)),
    (("cohen_kappa", None), ("jaccard", 1)),
    (("precision_macro", None), ("f1_macro", None)),
    (("precision_weighted", None), ("f1_of_averages_weighted", None)),
    (("balanced_accuracy", None), ("mcc", None), ("npv_macro", None)),
)
"""Figures that are often printed together; each measure of them can be 0/0."""


def small_tables(n: int) -> list[Tables]:
    return [
        binary_tables(tp, fp, size, n) for size in range(n + 1) for tp in range(size + 1) for fp in range(n - size + 1)
    ]


@pytest.mark.ci
@for_each("undefined", ZERO_DIVISION_RULES)
def test_no_small_table_is_called_impossible_by_its_own_figures(undefined: ZeroDivisionRule) -> None:
    """Every table of counts: where 0/0 occurs with every set of figures, else with one set in turn."""
    printed: dict[CountsProblem, list[Tables]] = {}
    for n in range(1, 10 if is_thorough() else 7):
        for number, tables in enumerate(small_tables(n)):
            (tp, fp, fn, tn), _ = tables
            degenerate = 0 in {tp + fp, tp + fn, tn + fp, tn + fn}
            for keys in SETS if degenerate else SETS[number % len(SETS) :][:1]:
                stated = claims(keys, tables, 2, undefined=undefined, cut=number % 2 == 1)
                printed.setdefault(CountsProblem(n, (tp + fn, fp + tn), stated, undefined=undefined), []).append(tables)
    for problem, expected in printed.items():
        assert set(expected) <= set(search_two_classes(problem, first=10**6).first), problem


def test_a_precision_of_one_beside_a_recall_of_zero_fits_where_nothing_divided_by_nothing_is_one() -> None:
    problem = problem_of_figures(10, 4, precision="1.00", recall="0.00")
    fits = {how: search_two_classes(replace(problem, undefined=how)).fits for how in ZERO_DIVISION_RULES}
    assert fits == {"worst": False, "0": False, "1": True, "skip": False}


def test_a_kappa_of_nothing_divided_by_nothing_is_no_figure_unless_a_convention_gives_one() -> None:
    constant = replace(
        problem_of_figures(3, 3, tp="3"),
        claims=(*problem_of_figures(3, 3, tp="3").claims, *problem_of_figures(3, 3, cohen_kappa="0.00").claims),
    )
    fits = {how: search_two_classes(replace(constant, undefined=how)).fits for how in ZERO_DIVISION_RULES}
    assert fits == {"worst": False, "0": True, "1": False, "skip": False}
    assert search_many_classes(replace(constant, sizes=(3, 0, 0))).fits is False
    assert search_many_classes(replace(constant, sizes=(3, 0, 0), undefined="0")).fits is True


def test_cut_digits_leave_out_the_next_figure() -> None:
    (figure,) = problem_of_figures(10, 10, recall="0.3").claims
    cut = replace(figure, figure=parse_figure("0.3", cut=True))
    answer = search_two_classes(CountsProblem(10, (10, 0), (cut,)))
    assert [own[0] for own, _ in answer.first] == [3]
    assert cut.figure.printed(Fraction(39, 100)) == "0.3"
