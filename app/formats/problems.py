"""Problems of a file: one problem with its location, and the list of all problems."""

import json
import sys
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

MAX_LISTED_PROBLEMS = 100
"""How many problems are listed; all are counted."""

WHOLE_FILE_ROW = -1
"""The row of a problem of the whole file: listed before all others."""

END_OF_FILE_ROW = sys.maxsize
"""The row of a problem that is found at the end of the file: listed after all others."""

MAX_COUNTED_PROBLEMS = 100_000
"""How many problems are counted. Then reading stops: nobody fixes so many by hand."""

REDUCE_SIZE_REMEDY = "Remove everything that is not scored."
"""Advice for a file that is too large."""

PROBLEM_CODES: dict[str, str] = {
    "syntax": "The file cannot be parsed at this location.",
    "encoding": "The bytes are not valid UTF-8, gzip or zstd data, or a text contains NUL or an unpaired surrogate.",
    "too_large": "The file, a text, or the number of classes or columns exceeds a limit.",
    "too_many_rows": "The file has far more rows or values than the phase can use, or more than any file may have.",
    "too_deep": "Lists or objects are nested deeper than allowed.",
    "wrong_shape": "A value has the wrong type or is in the wrong place.",
    "duplicate_key": "A key occurs twice in an object, or a column name twice in a header.",
    "missing_id": "A record has no id.",
    "duplicate_id": "An id occurs twice.",
    "unknown_id": "An id is not among the ids of the gold.",
    "missing_instances": "An id of the gold has no prediction.",
    "unknown_label": "A label is not in the vocabulary.",
    "duplicate_label": "A label occurs twice in one set of labels.",
    "empty_label": "A label is the empty string.",
    "not_a_number": "A value is NaN, infinite, outside the range of binary64, or not a number at all.",
    "not_a_probability": "A metric needs probabilities, but a score is below 0 or above 1, or a row does not sum to 1.",
    "wrong_class_count": "An instance does not have exactly one score for each class.",
}
"""Every problem code with its meaning, in the order in which totals are listed."""


class Location(NamedTuple):
    """The location of a value: an RFC 6901 pointer, or a line and column (both from 1; in CSV a column is a field)."""

    pointer: str | None = None
    line: int | None = None
    column: int | None = None


NO_LOCATION = Location()
"""The location of a problem of the whole file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a file: what is wrong, where, and how to fix it."""

    code: str
    message: str
    pointer: str | None = None
    line: int | None = None
    column: int | None = None
    instance_id: str | None = None
    expected: str | None = None
    got: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form without unknown fields; every text in it can be encoded as UTF-8."""
        values = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return {name: replace_surrogates(value) if type(value) is str else value for name, value in values.items()}


def build_problem(
    code: str,
    message: str,
    location: Location = NO_LOCATION,
    *,
    instance_id: str | None = None,
    expected: str | None = None,
    got: str | None = None,
) -> Problem:
    """Build a problem at a location."""
    owner = instance_id if instance_id is None else shorten(instance_id, 1000)  # an invalid id may have any size
    return Problem(code, message, location.pointer, location.line, location.column, owner, expected, got)


class TooManyProblems(Exception):
    """Too many problems were counted, so reading stops."""


class Problems:
    """All problems of a file: a total per code, and the first hundred in file order.

    `stopped`: reading stopped before the end of the file, so that the totals are lower bounds.
    """

    def __init__(self) -> None:
        self.total: dict[str, int] = {}
        self.stopped = False
        self._remaining = MAX_COUNTED_PROBLEMS
        self._listed: list[tuple[int, int, Problem]] = []
        self._sequence = 0

    def __bool__(self) -> bool:
        return bool(self.total)

    @property
    def first(self) -> list[Problem]:
        """The listed problems, in file order."""
        return [entry[2] for entry in self._listed]

    def report(self, code: str, row: int, build: Callable[[], Problem]) -> None:
        """Count a problem of this row, and build it only if it will be listed. Raises TooManyProblems."""
        if code not in PROBLEM_CODES:
            raise KeyError(code)
        if not self._remaining:
            self.stopped = True
            raise TooManyProblems
        self._remaining -= 1
        self.total[code] = self.total.get(code, 0) + 1
        if len(self._listed) == MAX_LISTED_PROBLEMS and row >= self._listed[-1][0]:
            return
        self._sequence += 1
        insort(self._listed, (row, self._sequence, build()))
        del self._listed[MAX_LISTED_PROBLEMS:]

    def report_all(self, code: str, rows: Sequence[int], build: Callable[[int], Problem], count: int) -> None:
        """Count `count` problems of one code. `rows` are their rows, ascending; the first MAX_LISTED_PROBLEMS suffice.

        `build` gets a position in `rows`.
        """
        first = rows[: min(count, MAX_LISTED_PROBLEMS)]
        for number, row in enumerate(first):
            self.report(code, row, partial(build, number))
        self.count_more(code, count - len(first))

    def count_more(self, code: str, count: int, at_most: int | None = None) -> None:
        """Count problems of a code of which MAX_LISTED_PROBLEMS precede, so that none of them will be listed.

        Raises TooManyProblems for more than `at_most` of them.
        """
        if count > 0:
            self.total[code] += count if at_most is None else min(count, at_most)
        if at_most is not None and count > at_most:
            self.stopped = True
            raise TooManyProblems

    @property
    def count(self) -> int:
        """The number of problems."""
        return sum(self.total.values())

    def add(self, problem: Problem, row: int = WHOLE_FILE_ROW) -> None:
        """Count a problem of this row, and list it if it is among the first."""
        self.report(problem.code, row, lambda: problem)

    def add_new(
        self,
        code: str,
        message: str,
        location: Location = NO_LOCATION,
        *,
        row: int = WHOLE_FILE_ROW,
        **details: str | None,
    ) -> None:
        """Build a problem of this row and add it; `details` as for build_problem."""
        self.add(build_problem(code, message, location, **details), row)

    def stop(self, problem: Problem) -> None:
        """Add the problem that ended the reading; the totals are then lower bounds."""
        self.stopped = True
        self._remaining = max(1, self._remaining)
        self.add(problem)

    def to_dict(self) -> dict[str, Any]:
        """The result of a dry run: `valid`, `total` per code, first `problems`; `total_at_least` if reading stopped."""
        total = {code: self.total[code] for code in PROBLEM_CODES if code in self.total}
        at_least = {"total_at_least": True} if self.stopped else {}
        problems = [problem.to_dict() for problem in self.first]
        return {"valid": not self, "total": total, **at_least, "problems": problems}


def shorten(text: str, length: int = 60) -> str:
    """Cut a long text and mark the cut by an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, so that the text can be encoded as UTF-8."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not text.isascii() else text


def quote(text: str) -> str:
    """A text as JSON shows it, shortened; invisible and invalid characters appear as escapes."""
    short = shorten(text)
    try:
        short.encode()
    except UnicodeEncodeError:
        return json.dumps(short)
    return json.dumps(short, ensure_ascii=False)


def describe_value(value: object) -> str:
    """Describe a decoded value in a few words; objects are tuples of pairs (see strict_json)."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, tuple):
        return "an object"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Enum):  # a cell without a value (column_data.MissingValue)
        return "nothing"
    return shorten(str(value))


def pointer_token(text: str) -> str:
    """One reference token of an RFC 6901 pointer, with its slash."""
    return "/" + replace_surrogates(shorten(text, 200)).replace("~", "~0").replace("/", "~1")
