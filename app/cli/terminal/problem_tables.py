"""How the problems of a file are shown: a table where there is room, else one sentence each behind its place."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, show_table

if TYPE_CHECKING:
    from rich.console import Console

MAX_SHOWN_PROBLEMS = 20  # problems that people are shown; programs get all that there are
MIN_TABLE_WIDTH = 120  # columns from which on a table of problems can be read


def show_problems(console: "Console", report: Mapping[str, Any]) -> None:
    """Print a problems object (`total`, `problems`): the totals per code, then each problem with place and remedy."""
    totals = report.get("total") or {}
    every = report.get("problems") or []
    shown = every[:MAX_SHOWN_PROBLEMS]
    many = sum(totals.values()) or len(every)
    counts = ", ".join(f"{clean(code)} {count}" for code, count in totals.items())
    least = "at least " if report.get("total_at_least") else ""
    console.print(f"{least}{many} problem{'' if many == 1 else 's'}" + (f": {counts}" if counts else ""), **PLAIN)
    if console.width >= MIN_TABLE_WIDTH:
        show_table(console, _problem_columns(shown))
    else:
        for problem in shown:
            console.print(_problem_sentence(problem), **PLAIN)
    if many > len(shown):
        more = f"; --json has {len(every)}" if len(every) > len(shown) else ""
        console.print(f"The first {len(shown)} of {least}{many} are shown{more}.", **PLAIN)


def _problem_columns(problems: list[Mapping[str, Any]]) -> list[Column]:
    fields = {"code": "code", "id": "instance_id", "got": "got", "expected": "expected", "how to mend it": "message"}
    columns = [Column(name, [one.get(key) for one in problems], wrap=key != "code") for name, key in fields.items()]
    columns.insert(1, Column("place", [problem_location(one) for one in problems], wrap=True))
    if any("file" in one for one in problems):
        columns.insert(0, Column("file", [one.get("file") for one in problems]))
    return [column for column in columns if any(value for value in column.values)]


def _problem_sentence(problem: Mapping[str, Any]) -> str:
    where = ", ".join(str(part) for part in (problem.get("file"), problem_location(problem)) if part)
    said = clean(problem.get("message") or problem.get("code") or "")
    return f"{clean(where)}: {said}" if where else said


def problem_location(problem: Mapping[str, Any]) -> str:
    """Where a problem stands: `line 3, column 5`, or the JSON pointer."""
    if problem.get("line") is not None:
        column = problem.get("column")
        return f"line {problem['line']}" + ("" if column is None else f", column {column}")
    return str(problem.get("pointer") or "")
