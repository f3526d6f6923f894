"""Explanations of contradictions: a minimal set of figures, and the nearest possible values of each."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import compare_with_figure, measure_value
from app.analysis.convert.contradictions import (
    ContradictedFigure,
    FigureContradiction,
    ProblemVariants,
    explain_contradiction,
    solve_any,
)
from app.analysis.convert.measures import ZERO_DIVISION_RULES, ZeroDivisionRule
from app.analysis.convert.printed_figures import parse_count, parse_figure
from tests.each_case import for_each
from tests.scoring.convert.strategies import Tables, all_tables, drawn_problems, problem_of_figures, satisfies_claims


def contradiction_of(problem: CountsProblem) -> FigureContradiction:
    question = ProblemVariants(problem, ZERO_DIVISION_RULES)
    assert solve_any(question).fits is False
    return explain_contradiction(question)


def nearest_values(figure: ContradictedFigure) -> tuple[Fraction | None, Fraction | None]:
    """The nearest values that the measure can have, below and above the figure."""
    below, above = figure.below, figure.above
    return below.value if below else None, above.value if above else None


@settings(max_examples=80, deadline=None)
@given(drawn_problems(most=3), st.booleans())
def test_a_contradiction_is_one_none_can_be_spared_and_the_nearest_values_are(
    drawn: tuple[CountsProblem, Tables], single: bool
) -> None:
    problem, _ = drawn
    wrong = tuple(replace(one, figure=parse_figure("0.61")) for one in problem.claims[:1])
    problem = replace(problem, claims=(*wrong, *problem.claims[1:]))
    conventions = (problem.undefined,) if single else ZERO_DIVISION_RULES
    question = ProblemVariants(problem, conventions)
    assume(solve_any(question).fits is False)
    found = explain_contradiction(question)
    few = tuple(one.claim for one in found.figures)
    tables = all_tables(problem)

    def fitting(claims: tuple[FigureClaim, ...]) -> dict[ZeroDivisionRule, set[Tables]]:
        each = {one: replace(problem, claims=claims, undefined=one) for one in conventions}
        return {one: {table for table in tables if satisfies_claims(stated, table)} for one, stated in each.items()}

    assert not any(fitting(few).values())
    for one in found.figures:
        others = fitting(tuple(other for other in few if other is not one.claim))
        assert any(others.values())
        measures = {measure_value(one.claim, table, how) for how, fit in others.items() for table in fit}
        values = {value for value in measures if value is not None}
        below = (value for value in values if compare_with_figure(one.claim, value) < 0)
        above = (value for value in values if compare_with_figure(one.claim, value) > 0)
        assert nearest_values(one) == (max(below, default=None), min(above, default=None))
        spared = fitting(tuple(each for each in problem.claims if each is not one.claim))
        assert one.without.count == len(next((fit for fit in spared.values() if fit), ()))


def test_a_figure_that_no_count_can_have() -> None:
    (one,) = contradiction_of(problem_of_figures(10, 5, recall="0.743", accuracy="0.5")).figures
    assert one.claim.key == "recall"
    assert nearest_values(one) == (Fraction(3, 5), Fraction(4, 5))


@for_each("limit", [1, 3, 20, 10_000])
def test_no_figure_is_named_that_can_be_spared_however_short_the_search(limit: int) -> None:
    figures = {"f1_of_averages_macro": "0.6", "f1_weighted": "0.2", "jaccard_macro": "0.2"}
    tp = FigureClaim("tp", parse_count("2"), 0)
    problem = problem_of_figures(5, 5, **figures)
    question = ProblemVariants(replace(problem, claims=(*problem.claims, tp)), ZERO_DIVISION_RULES)
    assert solve_any(question, limit=limit).fits is False
    assert [one.claim.key for one in explain_contradiction(question, limit=limit).figures] == ["f1_weighted"]


def test_the_figure_without_which_all_others_fit_is_told_with_what_it_would_be() -> None:
    found = contradiction_of(problem_of_figures(1000, 120, precision="0.81", recall="0.74", f1="0.80", accuracy="0.95"))
    assert [one.claim.key for one in found.figures] == ["precision", "recall", "f1"]
    f1 = found.figures[2]
    assert f1.without.first == (((89, 21, 31, 859), (859, 31, 21, 89)),)
    assert f1.below is not None
    assert f1.claim.figure.printed(f1.below.value) == "0.77"


def test_a_million_instances_are_explained_as_well() -> None:
    found = contradiction_of(problem_of_figures(10**6, 120_000, precision="0.8123", recall="0.7412", f1="0.7800"))
    f1 = found.figures[-1]
    assert f1.below is not None
    assert abs(f1.below.value - Fraction("0.7752")) < Fraction(1, 10**4)


def test_an_unknown_number_of_positives_makes_no_difference_to_a_contradiction() -> None:
    found = contradiction_of(problem_of_figures(1000, None, precision="0.50", recall="0.50", f1="0.60"))
    assert {one.claim.key for one in found.figures} == {"precision", "recall", "f1"}


def test_the_figures_of_one_class_are_told_apart_from_the_others() -> None:
    claims = tuple(
        FigureClaim(key, parse_figure(text), row)
        for row, texts in enumerate((("0.5", "0.5"), ("0.5", "0.93"), ("0.5", "0.5")))
        for key, text in zip(("precision", "recall"), texts, strict=True)
    )
    found = contradiction_of(CountsProblem(30, (10, 10, 10), claims))
    assert (found.row, found.joint) == (1, False)
    assert [(one.claim.key, one.claim.row) for one in found.figures] == [("recall", 1)]


def test_figures_of_the_whole_task_are_held_against_those_of_the_classes() -> None:
    rows = [FigureClaim(key, parse_count(text), row) for row in range(3) for key, text in (("tp", "8"), ("fp", "2"))]
    found = contradiction_of(CountsProblem(30, (10, 10, 10), (*rows, FigureClaim("f1_macro", parse_figure("0.90")))))
    (one,) = found.figures
    assert (found.row, found.joint, one.claim.key) == (None, True, "f1_macro")
    assert nearest_values(one)[0] == Fraction(4, 5)
    found = contradiction_of(
        CountsProblem(30, (10, 10, 10), tuple(replace(one, figure=parse_count("8")) for one in rows))
    )
    assert (found.figures, found.joint) == ((), True)


def test_a_figure_that_follows_from_the_right_answers_names_the_nearest() -> None:
    claim = FigureClaim("accuracy", parse_figure("0.745"))
    (one,) = contradiction_of(CountsProblem(15, (5, 5, 5), (claim,))).figures
    assert nearest_values(one) == (Fraction(11, 15), Fraction(12, 15))


def test_a_kappa_that_is_nothing_divided_by_nothing_is_told_from_one_that_contradicts() -> None:
    claims = (
        FigureClaim("cohen_kappa", parse_figure("0")),
        FigureClaim("fp", parse_count("0"), 0),
        FigureClaim("tp", parse_count("0"), 0),
    )
    found = contradiction_of(CountsProblem(1, (1, 0), (*claims, FigureClaim("recall", parse_figure("0.61"), 0))))
    assert [one.claim.key for one in found.figures] == ["recall"]
    certain = CountsProblem(
        1, (1, 0), (FigureClaim("cohen_kappa", parse_figure("0.5")), FigureClaim("tp", parse_count("1"), 0))
    )
    assert [one.claim.key for one in contradiction_of(certain).figures] == ["cohen_kappa"]
