"""Strict JSON (RFC 8259): decoding loses and repairs nothing, so that every fault can be located afterwards.

Objects become tuples of (key, value) pairs, which preserves repeated keys and is as fast as a dictionary; lists stay
lists. Numbers that binary64 cannot hold, and integers that are unreasonably long, become BadNumber.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from app.formats.problems import Location, Problem, build_problem, pointer_token, shorten
from app.formats.reading_rules import Limits

_MAX_INTEGER_DIGITS = 309
"""Digits of the longest integer that binary64 holds; the time to parse more grows with the square of their number."""
_EXACT_NUMBER_LENGTH = 16
"""Characters of a number with a point that binary64 always represents to the last digit, as it holds 15 digits."""
_PYTHON_LITERAL = re.compile(r"True|False|None|'")


@dataclass(frozen=True, slots=True)
class BadNumber:
    """A number in the text that has no valid value."""

    text: str
    code: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class LongNumber:
    """A finite number as written, whose digits binary64 cannot represent."""

    text: str

    def __str__(self) -> str:
        return self.text


_CONTAINERS = frozenset({list, tuple})
NESTED_OR_BAD_TYPES = frozenset({list, tuple, BadNumber})
"""Types of values that must be inspected."""


class TooDeep(Exception):
    """Lists and objects are nested deeper than the limit."""


def json_decoder(limits: Limits, *, exact: bool = False) -> json.JSONDecoder:
    """A decoder of strict JSON; raises json.JSONDecodeError and RecursionError as the standard library's does.

    `exact`: numbers whose digits binary64 cannot represent become LongNumber.
    """
    max_digits = min(limits.text_length, _MAX_INTEGER_DIGITS)

    def real(text: str) -> float | BadNumber:
        value = float(text)
        return value if math.isfinite(value) else BadNumber(shorten(text), "not_a_number")

    def exact_real(text: str) -> float | BadNumber | LongNumber:
        value = real(text)
        is_exact = (len(text) <= _EXACT_NUMBER_LENGTH and value) or type(value) is BadNumber or repr(value) == text
        return value if is_exact else LongNumber(text)

    def integer(text: str) -> int | BadNumber:
        return int(text) if len(text) <= max_digits + text.startswith("-") else BadNumber(shorten(text), "too_large")

    def constant(text: str) -> BadNumber:
        return BadNumber(text, "not_a_number")

    hook: Callable[[list[tuple[str, Any]]], Any] = tuple
    decimal = exact_real if exact else real
    return json.JSONDecoder(object_pairs_hook=hook, parse_float=decimal, parse_int=integer, parse_constant=constant)


def syntax_problem(error: json.JSONDecodeError, *, line: int | None = None) -> Problem:
    """The problem of a text that is not JSON; `line` is its line if the text is one line of a file."""
    location = Location(None, line or error.lineno, error.colno)
    rest = error.doc[error.pos : error.pos + 20]
    message = f"This is not valid JSON: {_syntax_reason(error, rest, lines=line is not None)}"
    return build_problem("syntax", message, location, got=json.dumps(rest) if rest else "the end of the text")


_SECOND_VALUE_HINT = "more text follows the value on this line. Put one record on each line."
_UNTERMINATED_HINT = (
    "the string that begins here is not closed. Close it with a double quote, or send the complete file."
)
_PYTHON_HINT = "it looks like Python. Write it with json.dump, which uses double quotes, true, false and null."
_JSON_LINES_HINT = (
    "more text follows the value. If there is one record per line, the file is JSON Lines: send it as "
    "application/x-ndjson, or with a file name that ends in .jsonl."
)


def _syntax_reason(error: json.JSONDecodeError, rest: str, *, lines: bool) -> str:
    """What is wrong, in a sentence, from the library's message and the text at that position."""
    message = error.msg.removesuffix(" at").removesuffix(" starting").lower()
    cases = (
        (error.msg == "Extra data", _SECOND_VALUE_HINT if lines else _JSON_LINES_HINT),
        (message.startswith("unterminated string"), _UNTERMINATED_HINT),
        (not rest, "the text ends in the middle of a value. Send the complete file."),
        (_PYTHON_LITERAL.match(rest), _PYTHON_HINT),
        (rest[:1] in {"]", "}"}, "a value or name is missing here. Remove the comma before it."),
        (message.startswith("invalid control"), "a string contains a line break or control character. Escape it."),
    )
    fallback = f"{message}. Correct it here, or write the file with a JSON library."
    return next((text for applies, text in cases if applies), fallback)


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""A string (to the end of the text if it is not closed, as a failed search would be repeated at each quote), or a
bracket."""


def _too_deep_offset(text: str, limits: Limits) -> int | None:
    """The offset at which the text exceeds `limits.nesting` levels; None where it does not."""
    if text.count("[") + text.count("{") <= limits.nesting:
        return None
    depth = 0
    for match in _BRACKET.finditer(text):
        sign = match.group()
        depth += 1 if sign in "[{" else -1 if sign in "]}" else 0
        if depth > limits.nesting:
            return match.start()
    return None


def decoding_problem_code(error: Exception, text: str, limits: Limits) -> str:
    """The code of the problem that `decoding_problem` returns."""
    is_syntax_error = isinstance(error, json.JSONDecodeError)
    return "syntax" if is_syntax_error and _too_deep_offset(text[: error.pos], limits) is None else "too_deep"  # type: ignore[attr-defined]


def decoding_problem(error: Exception, text: str, limits: Limits, *, line: int | None = None) -> Problem:
    """The problem of a text that raised json.JSONDecodeError, RecursionError or TooDeep.

    The nesting limit of the library depends on the depth of the call stack, so the answer for deep text comes from the
    text alone. `line` as in syntax_problem.
    """
    is_syntax_error = isinstance(error, json.JSONDecodeError)
    offset = _too_deep_offset(text[: error.pos] if is_syntax_error else text, limits)  # type: ignore[attr-defined]
    if offset is None:
        if isinstance(error, json.JSONDecodeError):
            return syntax_problem(error, line=line)
        return build_problem("too_deep", "The nesting is too deep. Flatten it.")
    location = Location(None, line or text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
    message = f"Lists and objects are nested more than {limits.nesting} levels deep. Flatten them."
    return build_problem("too_deep", message, location, expected=f"at most {limits.nesting} levels")


def inspect_nesting(values: Iterable[object]) -> tuple[int, bool]:
    """The levels of lists and objects in these values, and whether any value inside is faulty.

    Faulty means a repeated key or a BadNumber. Takes linear time, without recursion.
    """
    depth, faulty = 0, False
    level = list(values)
    while True:
        kinds = set(map(type, level))
        faulty = faulty or BadNumber in kinds
        if kinds.isdisjoint(_CONTAINERS):
            return depth, faulty
        inner = [value for value in level if type(value) in _CONTAINERS]
        depth += 1
        faulty = faulty or any(has_repeated_key(value) for value in inner if type(value) is tuple)
        level = list(chain.from_iterable(map(_children, inner)))


def has_repeated_key(pairs: tuple[Any, ...]) -> bool:
    """Whether an object has a key twice."""
    return len({key for key, _ in pairs}) != len(pairs)


def _children(value: Any) -> Iterable[object]:
    return (item for _, item in value) if type(value) is tuple else value


def _is_flat(value: Any) -> bool:
    """Whether an object has only plain values, under different names."""
    if type(value) is not tuple:
        return False
    fields = dict(value)
    return len(fields) == len(value) and NESTED_OR_BAD_TYPES.isdisjoint(map(type, fields.values()))


KeyPath = tuple[str | int, ...]
"""Keys and positions, outermost first."""


def iter_faults(value: Any, path: KeyPath) -> Iterator[tuple[str, KeyPath, object]]:
    """Yield code, path and value of each repeated key and BadNumber within a value, in file order.

    `value` must not be deeper than the nesting limit (see inspect_nesting).
    """
    if type(value) is BadNumber:
        yield value.code, path, value
    elif type(value) is list:
        for number, item in enumerate(value):
            if type(item) in NESTED_OR_BAD_TYPES and not _is_flat(item):
                yield from iter_faults(item, (*path, number))
    elif type(value) is tuple:
        earlier_keys: set[str] = set()
        for key, item in value:
            if key in earlier_keys:
                yield "duplicate_key", (*path, key), item
            earlier_keys.add(key)
            if type(item) in NESTED_OR_BAD_TYPES:
                yield from iter_faults(item, (*path, key))


def json_pointer(path: KeyPath) -> str:
    """The RFC 6901 pointer of a path."""
    return "".join(map(pointer_token, map(str, path)))
