"""What is found out about published figures, as a JSON value: counts that fit them, or why there are none."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from app.analysis.convert.claims import Problem
from app.analysis.convert.constraints import measured
from app.analysis.convert.contradictions import Conflict, Contradicted, Near, Question, explain, solve, solve_any
from app.analysis.convert.measures import BY_RATES, CONVENTIONS, Table, Undefined
from app.analysis.convert.one_class_search import LIMIT, Answer
from app.analysis.convert.statements import Printing, Statement, problem_of
from app.scoring.numeric.exact import square_root

COUNTS = ("tp", "fp", "fn", "tn")
_COMPARED = 2_000  # counts that are compared between conventions, and put in order


def report(
    stated: Statement,
    printing: Printing,
    *,
    conventions: Sequence[Undefined] = CONVENTIONS,
    first: int = 10,
    limit: int = LIMIT,
) -> dict[str, Any]:
    """The counts that fit, `first` of them listed; where there are none, the contradiction under `conflict`.

    What 0/0 counts as is one of the `conventions` (of informedness also in its rates): those under which these counts fit stand in `undefined`, what else
    fits under others in `otherwise`. `fits` is null where the search was cut (`limit`) before it was decided. Raises
    InvalidContent.
    """
    problem, labels = problem_of(stated, printing)
    question = Question(problem, _with_rates(conventions, problem))
    answers = _grouped(solve(one, first=max(first, _COMPARED), limit=limit) for one in question.problems)
    (undefined, answer), *others = answers
    found = {
        "n": problem.n,
        "exclusive": problem.exclusive,
        "sizes": None if problem.sizes is None else dict(zip(labels, problem.sizes, strict=True)),
        "figures": [
            {"figure": one.key, "label": None if one.row is None else labels[one.row], "printed": one.figure.text}
            for one in problem.claims
        ],
        **_answer(problem, labels, undefined, answer, first),
        "otherwise": [_answer(problem, labels, *other, first) for other in others if other[1].fits is not False],
    }
    if answer.fits is False:
        found["conflict"] = _conflict(explain(question, limit=limit), labels)
        found["fits_if_cut"] = None if printing.cut else _if_cut(stated, printing, question, limit)
    return found


def _with_rates(conventions: Sequence[Undefined], problem: Problem) -> tuple[Undefined, ...]:
    """The conventions, and those that differ from them in informedness where that is claimed."""
    claimed = any(claim.key == "informedness" for claim in problem.claims)
    return (*conventions, *(one for one, other in BY_RATES.items() if claimed and other in conventions))


def _grouped(answers: Iterable[Answer]) -> list[tuple[list[Undefined], Answer]]:
    """Equal answers as one, with all their conventions: first those that fit, then those that are not decided.

    In which order counts are found differs with the convention; they are told in the order of their numbers.
    What 0/0 is in the rates of informedness is told where it makes a difference.
    """
    groups: dict[Answer, list[Undefined]] = {}
    for answer in answers:
        same = groups.setdefault(replace(answer, undefined="worst", first=tuple(sorted(answer.first))), [])
        if BY_RATES.get(answer.undefined) not in same:
            same.append(answer.undefined)
    found = [(conventions, replace(answer, undefined=conventions[0])) for answer, conventions in groups.items()]
    return sorted(found, key=lambda group: (True, None, False).index(group[1].fits))


def _answer(
    problem: Problem, labels: Sequence[str], undefined: Sequence[Undefined], answer: Answer, first: int
) -> dict[str, Any]:
    return {
        "fits": answer.fits,
        "undefined": list(undefined),
        "count": answer.count,
        "complete": answer.complete,
        "counts": [_tables(labels, tables) for tables in answer.first[:first]],
        "ranges": _ranges(problem, labels, answer),
    }


def _if_cut(stated: Statement, printing: Printing, question: Question, limit: int) -> bool | None:
    """Whether the figures fit if their digits were cut off instead of rounded: not rare in print."""
    cut = problem_of(stated, replace(printing, cut=True))[0]
    return solve_any(replace(question, problem=cut), first=0, limit=limit).fits


def _tables(labels: Sequence[str], tables: Sequence[Table]) -> dict[str, dict[str, int]]:
    return {label: dict(zip(COUNTS, table, strict=True)) for label, table in zip(labels, tables, strict=False)}


def _ranges(problem: Problem, labels: Sequence[str], answer: Answer) -> dict[str, Any] | None:
    """Between what each count of each class lies."""
    if answer.spans is None or problem.sizes is None:
        return None
    found = {}
    for label, size, (tp, fp) in zip(labels, problem.sizes, answer.spans, strict=True):
        rest = problem.n - size
        spans = (tp, fp, (size - tp[1], size - tp[0]), (rest - fp[1], rest - fp[0]))
        found[label] = dict(zip(COUNTS, map(list, spans), strict=True))
    return found


def _conflict(found: Conflict, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "label": None if found.row is None else labels[found.row],
        "joint": found.joint,
        "figures": [_contradicted(one, labels, found.row) for one in found.figures],
    }


def _contradicted(one: Contradicted, labels: Sequence[str], row: int | None) -> dict[str, Any]:
    """A figure of a contradiction: what else it could be, and what it would be if all others are right."""
    claim, without = one.claim, one.without
    named = labels if row is None else labels[row : row + 1]
    measures = (measured(claim, tables, answer.undefined) for answer in one.answers for tables in answer.first)
    values = [_value(claim.key, value) for value in measures if value is not None]
    listed = all(answer.complete and answer.count == len(answer.first) for answer in one.answers)
    return {
        "figure": claim.key,
        "label": None if claim.row is None else labels[claim.row],
        "printed": claim.figure.text,
        "below": _near(one, one.below, named),
        "above": _near(one, one.above, named),
        "without": {
            "fits": without.fits,
            "count": without.count,
            "complete": without.complete,
            "printed": list(dict.fromkeys(map(claim.figure.printed, values))) if listed else None,
        },
    }


def _near(one: Contradicted, near: Near | None, labels: Sequence[str]) -> dict[str, Any] | None:
    if near is None:
        return None
    claim, value = one.claim, _value(one.claim.key, near.value)
    return {
        "printed": claim.figure.printed(value),
        "value": float(value),
        "fraction": None if value != near.value else str(value),
        "counts": _tables(labels, near.tables) or None,
    }


def _value(key: str, value: Fraction) -> Fraction:
    """The value itself of a measure that is known by its square."""
    if key != "mcc":
        return value
    root = Fraction(square_root(abs(value)))
    return -root if value < 0 else root
