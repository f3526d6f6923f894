"""What is found out about published figures, as a JSON value: counts that fit them, or why there are none."""

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
_MAX_COMPARED_COUNTS = 2_000  # counts that are compared between conventions, and put in order


def report(
    stated: PublishedFigures,
    printing: FigureFormat,
    *,
    conventions: Sequence[ZeroDivisionRule] = ZERO_DIVISION_RULES,
    first: int = 10,
    limit: int = SEARCH_LIMIT,
) -> dict[str, Any]:
    """The counts that fit, `first` of them listed; where there are none, the contradiction under `conflict`.

    What 0/0 counts as is one of the `conventions` (of informedness also in its rates): those under which these counts fit stand in `undefined`, what else
    fits under others in `otherwise`. `fits` is null where the search was cut (`limit`) before it was decided. Raises
    InvalidContent.
    """
    problem, labels = parse_problem(stated, printing)
    question = ProblemVariants(problem, _with_rate_rules(conventions, problem))
    answers = _group_equal_answers(
        solve(one, first=max(first, _MAX_COMPARED_COUNTS), limit=limit) for one in question.problems
    )
    (undefined, answer), *others = answers
    found = {
        "n": problem.n,
        "exclusive": problem.exclusive,
        "sizes": None if problem.sizes is None else dict(zip(labels, problem.sizes, strict=True)),
        "figures": [
            {"figure": one.key, "label": None if one.row is None else labels[one.row], "printed": one.figure.text}
            for one in problem.claims
        ],
        **_answer_json(problem, labels, undefined, answer, first),
        "otherwise": [_answer_json(problem, labels, *other, first) for other in others if other[1].fits is not False],
    }
    if answer.fits is False:
        found["conflict"] = _contradiction_json(explain_contradiction(question, limit=limit), labels)
        found["fits_if_cut"] = None if printing.cut else _fits_if_truncated(stated, printing, question, limit)
    return found


def _with_rate_rules(conventions: Sequence[ZeroDivisionRule], problem: CountsProblem) -> tuple[ZeroDivisionRule, ...]:
    """The conventions, and those that differ from them in informedness where that is claimed."""
    claimed = any(claim.key == "informedness" for claim in problem.claims)
    return (*conventions, *(one for one, other in RATE_RULES.items() if claimed and other in conventions))


def _group_equal_answers(answers: Iterable[FittingCounts]) -> list[tuple[list[ZeroDivisionRule], FittingCounts]]:
    """Equal answers as one, with all their conventions: first those that fit, then those that are not decided.

    In which order counts are found differs with the convention; they are told in the order of their numbers.
    What 0/0 is in the rates of informedness is told where it makes a difference.
    """
    groups: dict[FittingCounts, list[ZeroDivisionRule]] = {}
    for answer in answers:
        same = groups.setdefault(replace(answer, undefined="worst", first=tuple(sorted(answer.first))), [])
        if RATE_RULES.get(answer.undefined) not in same:
            same.append(answer.undefined)
    found = [(conventions, replace(answer, undefined=conventions[0])) for answer, conventions in groups.items()]
    return sorted(found, key=lambda group: (True, None, False).index(group[1].fits))


def _answer_json(
    problem: CountsProblem,
    labels: Sequence[str],
    undefined: Sequence[ZeroDivisionRule],
    answer: FittingCounts,
    first: int,
) -> dict[str, Any]:
    return {
        "fits": answer.fits,
        "undefined": list(undefined),
        "count": answer.count,
        "complete": answer.complete,
        "counts": [_tables_json(labels, tables) for tables in answer.first[:first]],
        "ranges": _ranges_json(problem, labels, answer),
    }


def _fits_if_truncated(
    stated: PublishedFigures, printing: FigureFormat, question: ProblemVariants, limit: int
) -> bool | None:
    """Whether the figures fit if their digits were cut off instead of rounded: not rare in print."""
    cut = parse_problem(stated, replace(printing, cut=True))[0]
    return solve_any(replace(question, problem=cut), first=0, limit=limit).fits


def _tables_json(labels: Sequence[str], tables: Sequence[ConfusionTable]) -> dict[str, dict[str, int]]:
    return {label: dict(zip(COUNT_NAMES, table, strict=True)) for label, table in zip(labels, tables, strict=False)}


def _ranges_json(problem: CountsProblem, labels: Sequence[str], answer: FittingCounts) -> dict[str, Any] | None:
    """Between what each count of each class lies."""
    if answer.spans is None or problem.sizes is None:
        return None
    found = {}
    for label, size, (tp, fp) in zip(labels, problem.sizes, answer.spans, strict=True):
        rest = problem.n - size
        spans = (tp, fp, (size - tp[1], size - tp[0]), (rest - fp[1], rest - fp[0]))
        found[label] = dict(zip(COUNT_NAMES, map(list, spans), strict=True))
    return found


def _contradiction_json(found: FigureContradiction, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "label": None if found.row is None else labels[found.row],
        "joint": found.joint,
        "figures": [_contradicted_json(one, labels, found.row) for one in found.figures],
    }


def _contradicted_json(one: ContradictedFigure, labels: Sequence[str], row: int | None) -> dict[str, Any]:
    """A figure of a contradiction: what else it could be, and what it would be if all others are right."""
    claim, without = one.claim, one.without
    named = labels if row is None else labels[row : row + 1]
    measures = (measure_value(claim, tables, answer.undefined) for answer in one.answers for tables in answer.first)
    values = [_unsquared_value(claim.key, value) for value in measures if value is not None]
    listed = all(answer.complete and answer.count == len(answer.first) for answer in one.answers)
    return {
        "figure": claim.key,
        "label": None if claim.row is None else labels[claim.row],
        "printed": claim.figure.text,
        "below": _nearest_json(one, one.below, named),
        "above": _nearest_json(one, one.above, named),
        "without": {
            "fits": without.fits,
            "count": without.count,
            "complete": without.complete,
            "printed": list(dict.fromkeys(map(claim.figure.printed, values))) if listed else None,
        },
    }


def _nearest_json(one: ContradictedFigure, near: NearestValue | None, labels: Sequence[str]) -> dict[str, Any] | None:
    if near is None:
        return None
    claim, value = one.claim, _unsquared_value(one.claim.key, near.value)
    return {
        "printed": claim.figure.printed(value),
        "value": float(value),
        "fraction": None if value != near.value else str(value),
        "counts": _tables_json(labels, near.tables) or None,
    }


def _unsquared_value(key: str, value: Fraction) -> Fraction:
    """The value itself of a measure that is known by its square."""
    if key != "mcc":
        return value
    root = Fraction(square_root(abs(value)))
    return -root if value < 0 else root
