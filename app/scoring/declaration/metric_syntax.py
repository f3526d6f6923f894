"""Splits and formats metric strings, `key:name=value,name=value`."""

import re
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from functools import lru_cache, wraps
from typing import Any, TypeVar
from unicodedata import normalize

from app.errors import InvalidMetric
from app.scoring.declaration.options import OPTIONS, decode_value, encode_value, join_labels
from app.text.close_matches import did_you_mean

_INVALID_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_MAX_DIGITS = 17
_MAX_CACHED_LENGTH = 64  # longer texts would fill the cache's memory

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")


def cache_short_texts(function: Callable[[T, str], R]) -> Callable[[T, str], R]:
    """Cache results for short texts, because a recipe parses the same options once for each of its metrics."""
    cached = lru_cache(1024)(function)

    @wraps(function)
    def call(context: T, text: str) -> R:
        return cached(context, text) if len(text) <= _MAX_CACHED_LENGTH else function(context, text)

    return call


def split_metric_string(text: str) -> tuple[str, dict[str, str]]:
    """The key and the named values of a metric string, values still encoded; raises InvalidMetric."""
    key, colon, rest = text.partition(":")
    values: dict[str, str] = {}
    if colon and not rest:
        raise InvalidMetric(f"'{text}' ends with ':' but has no parameter or option.")
    for part in rest.split(",") if rest else []:
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InvalidMetric(f"'{part}' in '{text}' is not of the form name=value.")
        if name in values:
            raise InvalidMetric(f"'{name}' is given twice in '{text}'.")
        if "=" in value or ":" in value or _INVALID_ESCAPE.search(value):
            raise InvalidMetric(
                f"In '{text}' the value of '{name}' must encode each of the characters , = : | % as %XX."
            )
        values[name] = value
    return key.strip(), values


def encode_json_value(name: str, value: Any) -> str:
    """The encoded text of a JSON value from a metric in object form or from a recipe's options."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, str):
        return value if name in OPTIONS and not OPTIONS[name].values else encode_value(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return "|".join(encode_value(item) for item in value)
    raise InvalidMetric(f"'{name}' must be a string, a number or a list of strings.")


def canonical_number(
    name: str,
    text: str,
    bounds: tuple[float, float] | None,
    *,
    whole: bool = False,
    words: tuple[str, ...] = (),
) -> str:
    """The shortest decimal text of a number; raises InvalidMetric if it is not a number or out of bounds.

    `whole` allows integers only. The error message names the `words` that are allowed in place of a number.
    """
    try:
        match = _NUMBER.fullmatch(decode_value(text).strip())
    except UnicodeDecodeError:
        match = None
    kind = ("a whole number" if whole else "a number") + "".join(f" or {word}" for word in words)
    if match is None:
        raise InvalidMetric(f"'{name}' must be {kind}, not '{text}'.")
    value = Decimal(match.group())
    low, high = bounds or (float("-inf"), float("inf"))
    if not value.is_finite() or not Decimal(low) <= value <= Decimal(high):
        raise InvalidMetric(f"'{name}' must be {kind} from {low:g} to {high:g}, not '{text}'.")
    if whole and value != value.to_integral_value():
        raise InvalidMetric(f"'{name}' must be {kind}, not '{text}'.")
    if len(value.as_tuple().digits) > _MAX_DIGITS:
        raise InvalidMetric(f"'{name}' has more than {_MAX_DIGITS} digits.")
    if value and value.adjusted() > _MAX_DIGITS:
        raise InvalidMetric(f"'{name}' is too large: it must be below 1e{_MAX_DIGITS + 1} in size.")
    if value and value.adjusted() < -_MAX_DIGITS:
        raise InvalidMetric(f"'{name}' is too close to 0: it must be 0, or at least 1e-{_MAX_DIGITS}.")
    return format_decimal(value)


def format_decimal(value: Decimal) -> str:
    """A decimal in plain notation, or with an exponent if very small: 0.5, 2, 1e-5; without superfluous zeros."""
    if not value:
        return "0"
    value = value.normalize()
    if value.adjusted() < -4:
        sign, digits, _ = value.as_tuple()
        first, rest = str(digits[0]), "".join(map(str, digits[1:]))
        return f"{'-' if sign else ''}{first}{'.' + rest if rest else ''}e{value.adjusted()}"
    return f"{value:f}"


def canonical_label(name: str, text: str) -> str:
    """The decoded label in NFC; raises InvalidMetric if it is empty or not UTF-8."""
    try:
        value = normalize("NFC", decode_value(text))
    except UnicodeDecodeError:
        raise InvalidMetric(f"The %XX codes in the value of '{name}' do not decode to UTF-8.") from None
    if not value:
        raise InvalidMetric(f"'{name}' must name a label.")
    return value


@cache_short_texts
def canonical_option(name: str, text: str) -> str:
    """The canonical value of a convention option; raises InvalidMetric for a value it does not have."""
    declared = OPTIONS[name]
    if not declared.values:
        return join_labels([canonical_label(name, part) for part in text.split("|")]) if text else ""
    return canonical_choice(name, text, declared.values)


def canonical_choice(name: str, text: str, values: tuple[str, ...]) -> str:
    """One of the allowed words; raises InvalidMetric for any other."""
    try:
        value = decode_value(text).strip()
    except UnicodeDecodeError:
        value = text
    if value not in values:
        raise InvalidMetric(f"'{name}' must be one of {', '.join(values)}, not '{value}'{did_you_mean(value, values)}.")
    return value


def format_metric_string(key: str, params: Mapping[str, str], options: Mapping[str, str]) -> str:
    """The canonical string: parameters in the given order, then options in alphabetical order."""
    parts = [f"{name}={encode_value(value)}" for name, value in params.items()]
    for name in sorted(options):
        value = options[name]
        parts.append(f"{name}={value if not OPTIONS[name].values else encode_value(value)}")
    return f"{key}:{','.join(parts)}" if parts else key


def pluralize(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: 1 class, 3 classes; `plural` defaults to `singular` with an s."""
    return f"1 {singular}" if count == 1 else f"{count} {plural or singular + 's'}"
