"""Figures that were really printed: those that are right fit some counts, and slips of the press are proved to be slips."""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import WHOLE_TASK_MEASURES, measure_value
from app.analysis.convert.contradictions import ContradictedFigure, ProblemVariants, explain_contradiction, solve
from app.analysis.convert.measures import RATIO_MEASURES
from app.analysis.convert.printed_figures import parse_count, parse_figure
from tests.each_case import for_each
from tests.golden.reference_data import load_vector
from tests.reference_material import needs_shared, shared
from tests.scoring.convert.test_contradictions import nearest_values

# GermEval 2018, task 1, results.pdf: percentages with a decimal comma, zeros at the end left out
KEYS = (
    *((key, row) for row in (0, 1) for key in ("precision", "recall", "f1")),
    *((key, None) for key in ("precision_macro", "recall_macro", "f1_of_averages_macro")),
)
RUG_2 = "69,03 2438 3532 53,39 67,14 59,6 80,5 70 74,89 67,04 68,57 67,8"
OFFENSE, ALL = 1202, 3532


def germeval(line: str, positives: int | None = OFFENSE) -> CountsProblem:
    """A line of the table: accuracy, right answers, all answers, then precision, recall and F of offense, other, average."""
    accuracy, correct, total, *rest = line.split()
    n = int(total)

    def figure(text: str) -> Any:
        return parse_figure(text, percent=True, decimals=2)

    claims = [FigureClaim(key, figure(text), row) for (key, row), text in zip(KEYS, rest, strict=True)]
    claims += [FigureClaim("accuracy", figure(accuracy)), FigureClaim("correct", parse_count(correct))]
    return CountsProblem(n, None if positives is None else (positives, n - positives), tuple(claims))


def corrected_figure(slip: ContradictedFigure) -> str:
    """What the figure of a slip would be if all others are right."""
    value = measure_value(slip.claim, slip.without.first[0])
    assert value is not None
    return slip.claim.figure.printed(value)


def test_the_one_slip_of_a_published_line_is_proved_and_mended() -> None:
    problem = germeval(RUG_2)
    assert solve(problem).fits is False
    slips = [one for one in explain_contradiction(ProblemVariants(problem)).figures if one.without.fits]
    assert [(one.claim.key, one.claim.row, one.claim.figure.text) for one in slips] == [("precision", 0, "53,39")]
    (slip,) = slips
    assert slip.without.first == (((807, 699, 395, 1631), (1631, 395, 699, 807)),)
    assert corrected_figure(slip) == "53.59%"
    assert solve(germeval(RUG_2.replace("53,39", "53,59"))).count == 1


@pytest.mark.ci  # fifty more lines like that of the test above
@needs_shared
def test_of_the_whole_published_table_three_lines_are_slips_and_all_others_fit_one_table_of_counts() -> None:
    text = (shared() / "challenges" / "germeval2018-coarse" / "README.md").read_text(encoding="utf-8")
    lines = [line.split(maxsplit=3) for line in text.split("```")[1].strip().splitlines()]
    assert len(lines) == 51
    counts = {f"{team} {run}": solve(germeval(rest)).count for _, team, run, rest in lines}
    slips = {"RuG coarse_2", "InriaFBK coarse_2", "FoSIL coarse_3"}
    assert {name for name, count in counts.items() if count != 1} == slips
    assert {counts[name] for name in slips} == {0}
    rest = {f"{team} {run}": rest for _, team, run, rest in lines}

    inria = germeval(rest["InriaFBK coarse_2"])  # its average F is that of the line above it
    (slip,) = [one for one in explain_contradiction(ProblemVariants(inria)).figures if one.without.fits]
    assert (slip.claim.key, slip.claim.figure.text) == ("f1_of_averages_macro", "74,25")
    assert corrected_figure(slip) == "74.75%"

    fosil = rest["FoSIL coarse_3"]  # 3523 for 3532
    assert solve(germeval(fosil, None)).fits is False
    assert solve(germeval(fosil.replace("3523", "3532"))).count == 1


def published_claims(data: Mapping[str, Any]) -> Iterator[tuple[FigureClaim, bool]]:
    """Every published figure that is a decimal or a fraction, and whether it is said to be wrong."""
    labels = list(data["counts"])
    for one in data["published"]:
        if not re.fullmatch(r"0?\.\d+|\d+/\d+|0\.\d+", one["claimed"]):
            continue
        of_class = re.fullmatch(r"(\w+)\[(\w+)\]", one["metric"])
        if of_class:
            yield FigureClaim(of_class[1], parse_figure(one["claimed"]), labels.index(of_class[2])), one["wrong"]
        elif one["metric"] in WHOLE_TASK_MEASURES:
            yield FigureClaim(one["metric"], parse_figure(one["claimed"])), one["wrong"]


SINGLE = ("doering_example", *(f"van_asch_table{k}" for k in (2, 3, 4, 5)), *(f"wenzel_fig{k}" for k in (5, 6, 7, 8)))


@needs_shared
@for_each("name", SINGLE)
def test_each_printed_figure_of_the_sources_fits_the_printed_counts_unless_it_is_a_slip(name: str) -> None:
    data = load_vector(name)
    counts = list(data["counts"].values())
    sizes = tuple(each["tp"] + each["fn"] for each in counts)
    rows = [
        FigureClaim(key, parse_count(str(each[key])), row) for row, each in enumerate(counts) for key in ("tp", "fp")
    ]
    checked = 0
    for claim, wrong in published_claims(data):
        answer = solve(CountsProblem(sum(sizes), sizes, (*rows, claim)))
        assert answer.fits is not wrong, (name, claim)
        checked += 1
    assert checked or name in {"van_asch_table2", "wenzel_fig5", "wenzel_fig7"}


@needs_shared
def test_slips_of_the_sources_are_impossible_without_their_counts_too() -> None:
    accuracy = FigureClaim(
        "accuracy_ovr_micro", parse_figure("7/10")
    )  # Wenzel, fig. 6: no number of right answers gives it
    problem = CountsProblem(30, (10, 10, 10), (accuracy,))
    assert solve(problem).fits is False
    (one,) = explain_contradiction(ProblemVariants(problem)).figures
    assert nearest_values(one) == (Fraction(31, 45), Fraction(32, 45))

    data = load_vector("doering_example")  # a micro F of 0.88 beside an accuracy of 0.78
    rows = [
        claim
        for claim, wrong in published_claims(data)
        if claim.row is not None and claim.key in RATIO_MEASURES and not wrong
    ]
    sizes = tuple(each["tp"] + each["fn"] for each in data["counts"].values())
    printed = CountsProblem(100, sizes, (*rows, FigureClaim("accuracy", parse_figure("0.78"))))
    assert solve(printed).count == 1
    slip = CountsProblem(100, sizes, (*rows, FigureClaim("f1_micro", parse_figure("0.88"))))
    assert solve(slip).fits is False
