"""The report on published figures as a JSON value: the counts that fit them, or why there are none."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from app.analysis.convert.claims import CountsProblem
from app.analysis.convert.constraints import measure_value
from app.analysis.convert.contradictions import (
    ContradictedFigure,
    FigureContradiction,
    NearestValue,
    ProblemVariants,
    explain_contradiction,
    solve,
    solve_any,
)
from app.analysis.convert.measures import RATE_RULES, ZERO_DIVISION_RULES, ConfusionTable, ZeroDivisionRule
from app.analysis.convert.one_class_search import SEARCH_LIMIT, FittingCounts
from app.analysis.convert.statements import FigureFormat, PublishedFigures, parse_problem
from app.scoring.numeric.exact import square_root

COUNT_NAMES = ("tp", "fp", "fn", "tn")
_MAX_COMPARED_COUNTS = 2_000  # counts that are sorted and compared between conventions

Json = dict[str, Any]


def report(
    published: PublishedFigures,
    figure_format: FigureFormat,
    *,
    conventions: Sequence[ZeroDivisionRule] = ZERO_DIVISION_RULES,
    first: int = 10,
    limit: int = SEARCH_LIMIT,
) -> Json:
    """The counts that fit, the `first` of them listed; where there are none, the contradiction under `conflict`.

    The value of 0/0 is one of the `conventions`, for informedness also in its rates. `undefined` lists the conventions
    under which these counts fit, `otherwise` the answers under other conventions. `fits` is null where the search
    stopped at `limit` before it was decided. Raises InvalidContent.
    """
    problem, labels = parse_problem(published, figure_format)
    variants = ProblemVariants(problem, _with_rate_rules(conventions, problem))
    answers = _group_equal_answers(
        solve(variant, first=max(first, _MAX_COMPARED_COUNTS), limit=limit) for variant in variants.problems
    )
    (undefined, answer), *others = answers
    content = {
        "n": problem.n,
        "exclusive": problem.exclusive,
        "sizes": None if problem.sizes is None else dict(zip(labels, problem.sizes, strict=True)),
        "figures": [
            {
                "figure": claim.key,
                "label": None if claim.row is None else labels[claim.row],
                "printed": claim.figure.text,
            }
            for claim in problem.claims
        ],
        **_answer_json(problem, labels, undefined, answer, first),
        "otherwise": [_answer_json(problem, labels, *other, first) for other in others if other[1].fits is not False],
    }
    if answer.fits is False:
        content["conflict"] = _contradiction_json(explain_contradiction(variants, limit=limit), labels)
        content["fits_if_cut"] = None if figure_format.cut else _fits_if_cut(published, figure_format, variants, limit)
    return content


def _with_rate_rules(conventions: Sequence[ZeroDivisionRule], problem: CountsProblem) -> tuple[ZeroDivisionRule, ...]:
    """The conventions, plus the variants that differ in informedness where informedness is claimed."""
    has_informedness = any(claim.key == "informedness" for claim in problem.claims)
    if not has_informedness:
        return tuple(conventions)
    return (*conventions, *(rule for rule, base_rule in RATE_RULES.items() if base_rule in conventions))


def _group_equal_answers(answers: Iterable[FittingCounts]) -> list[tuple[list[ZeroDivisionRule], FittingCounts]]:
    """Equal answers merged, with all their conventions: first those that fit, then the undecided ones.

    The order in which counts are found depends on the convention, so counts are sorted before the comparison. The
    variants of informedness are listed only where they make a difference.
    """
    groups: dict[FittingCounts, list[ZeroDivisionRule]] = {}
    for answer in answers:
        rules = groups.setdefault(replace(answer, undefined="worst", first=tuple(sorted(answer.first))), [])
        if RATE_RULES.get(answer.undefined) not in rules:
            rules.append(answer.undefined)
    merged = [(conventions, replace(answer, undefined=conventions[0])) for answer, conventions in groups.items()]
    return sorted(merged, key=lambda group: (True, None, False).index(group[1].fits))


def _answer_json(
    problem: CountsProblem,
    labels: Sequence[str],
    undefined: Sequence[ZeroDivisionRule],
    answer: FittingCounts,
    first: int,
) -> Json:
    return {
        "fits": answer.fits,
        "undefined": list(undefined),
        "count": answer.count,
        "complete": answer.complete,
        "counts": [_tables_json(labels, tables) for tables in answer.first[:first]],
        "ranges": _ranges_json(problem, labels, answer),
    }


def _fits_if_cut(
    published: PublishedFigures, figure_format: FigureFormat, variants: ProblemVariants, limit: int
) -> bool | None:
    """Whether the figures fit if their digits were cut off instead of rounded, which is common in print."""
    truncated = parse_problem(published, replace(figure_format, cut=True))[0]
    return solve_any(replace(variants, problem=truncated), first=0, limit=limit).fits


def _tables_json(labels: Sequence[str], tables: Sequence[ConfusionTable]) -> dict[str, dict[str, int]]:
    return {label: dict(zip(COUNT_NAMES, table, strict=True)) for label, table in zip(labels, tables, strict=False)}


def _ranges_json(problem: CountsProblem, labels: Sequence[str], answer: FittingCounts) -> Json | None:
    """The range of each count of each class; None where it is not known."""
    if answer.spans is None or problem.sizes is None:
        return None
    ranges = {}
    for label, size, (tp, fp) in zip(labels, problem.sizes, answer.spans, strict=True):
        rest = problem.n - size
        spans = (tp, fp, (size - tp[1], size - tp[0]), (rest - fp[1], rest - fp[0]))
        ranges[label] = dict(zip(COUNT_NAMES, map(list, spans), strict=True))
    return ranges


def _contradiction_json(contradiction: FigureContradiction, labels: Sequence[str]) -> Json:
    return {
        "label": None if contradiction.row is None else labels[contradiction.row],
        "joint": contradiction.joint,
        "figures": [_contradicted_json(figure, labels, contradiction.row) for figure in contradiction.figures],
    }


def _contradicted_json(figure: ContradictedFigure, labels: Sequence[str], row: int | None) -> Json:
    """A figure of a contradiction: the nearest possible values, and its values if all other figures are right."""
    claim, without = figure.claim, figure.without
    class_names = labels if row is None else labels[row : row + 1]
    measures = (measure_value(claim, tables, answer.undefined) for answer in figure.answers for tables in answer.first)
    values = [_unsquared_value(claim.key, value) for value in measures if value is not None]
    is_complete = all(answer.complete and answer.count == len(answer.first) for answer in figure.answers)
    return {
        "figure": claim.key,
        "label": None if claim.row is None else labels[claim.row],
        "printed": claim.figure.text,
        "below": _nearest_json(figure, figure.below, class_names),
        "above": _nearest_json(figure, figure.above, class_names),
        "without": {
            "fits": without.fits,
            "count": without.count,
            "complete": without.complete,
            "printed": list(dict.fromkeys(map(claim.figure.printed, values))) if is_complete else None,
        },
    }


def _nearest_json(figure: ContradictedFigure, nearest: NearestValue | None, labels: Sequence[str]) -> Json | None:
    if nearest is None:
        return None
    claim, value = figure.claim, _unsquared_value(figure.claim.key, nearest.value)
    return {
        "printed": claim.figure.printed(value),
        "value": float(value),
        "fraction": None if value != nearest.value else str(value),
        "counts": _tables_json(labels, nearest.tables) or None,
    }


def _unsquared_value(key: str, value: Fraction) -> Fraction:
    """The value of a measure that is represented by its signed square."""
    if key != "mcc":
        return value
    root = Fraction(square_root(abs(value)))
    return -root if value < 0 else root
