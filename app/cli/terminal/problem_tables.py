"""Shows the problems of a file: as a table on a wide terminal, else as one sentence each after its location."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, show_table

if TYPE_CHECKING:
    from rich.console import Console

MAX_SHOWN_PROBLEMS = 20  # --json has more
MAX_SHOWN_OF_ONE_CODE = 5  # if not all can be shown: more lines that say the same would hide the other kinds
MIN_TABLE_WIDTH = 120  # in columns; on a narrower terminal the table would be hard to read


def show_problems(console: "Console", report: Mapping[str, Any]) -> None:
    """Print a problems object (`total`, `problems`): the totals by code, then each problem with location and remedy."""
    totals = report.get("total") or {}
    problems = report.get("problems") or []
    total = sum(totals.values()) or len(problems)
    shown = problems if total <= MAX_SHOWN_PROBLEMS else _first_of_each_code(problems)
    counts = ", ".join(f"{clean(code)} {count}" for code, count in totals.items())
    least = "at least " if report.get("total_at_least") else ""
    console.print(f"{least}{total} problem{'' if total == 1 else 's'}" + (f": {counts}" if counts else ""), **PLAIN)
    if console.width >= MIN_TABLE_WIDTH:
        show_table(console, _problem_columns(shown))
    else:
        for problem in shown:
            console.print(_problem_sentence(problem), **PLAIN)
    if total > len(shown):
        more = f"; --json has {len(problems)}" if len(problems) > len(shown) else ""
        console.print(f"{len(shown)} of {least}{total} are shown{more}.", **PLAIN)


def _first_of_each_code(problems: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first problems of each code, in their order."""
    counts: Counter[Any] = Counter()
    shown = []
    for problem in problems:
        counts[problem.get("code")] += 1
        if counts[problem.get("code")] <= MAX_SHOWN_OF_ONE_CODE:
            shown.append(problem)
    return shown[:MAX_SHOWN_PROBLEMS]


def _problem_columns(problems: list[Mapping[str, Any]]) -> list[Column]:
    fields = {
        "code": "code",
        "id": "instance_id",
        "in the file": "excerpt",
        "got": "got",
        "expected": "expected",
        "remedy": "message",
    }
    columns = [Column(name, [row.get(key) for row in problems], wrap=key != "code") for name, key in fields.items()]
    columns.insert(1, Column("location", list(map(problem_location, problems)), wrap=True))
    if any("file" in problem for problem in problems):
        columns.insert(0, Column("file", [problem.get("file") for problem in problems]))
    return [column for column in columns if any(column.values)]


def _problem_sentence(problem: Mapping[str, Any]) -> str:
    """The location and the message, then what was found and what is expected, unless the message says it.

    At the end what stands in the file.
    """
    where = ", ".join(str(part) for part in (problem.get("file"), problem_location(problem)) if part)
    message = str(problem.get("message") or problem.get("code") or "")
    for word in ("got", "expected"):
        if problem.get(word) and str(problem[word]) not in message:
            message += f" {word.capitalize()}: {problem[word]}."
    if problem.get("excerpt"):
        message += f" In the file: {problem['excerpt']}"
    return clean(f"{where}: {message}" if where else message)


def problem_location(problem: Mapping[str, Any]) -> str:
    """The location of a problem: `line 3, column 5`, or the JSON pointer."""
    if problem.get("line") is not None:
        column = problem.get("column")
        return f"line {problem['line']}" + ("" if column is None else f", column {column}")
    return str(problem.get("pointer") or "")
