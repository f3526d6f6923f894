"""Makes text safe to print on a terminal."""

import unicodedata
from collections.abc import Mapping
from typing import Any

PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}
"""Options of `Console.print` for plain text: no markup or highlighting, and lines wrapped by the terminal."""

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(value: object) -> str:
    """The value as text without control: control characters, lone surrogates and direction marks are escaped."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(_escape(char) if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs"} or char in _BIDI


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def describe_size(report: Mapping[str, Any]) -> str:
    """The task of a report, and its numbers of instances and classes."""
    from app.scoring.declaration.metric_syntax import pluralize

    sizes = (pluralize(report["n"], "instance"), pluralize(len(report["classes"]), "class", "classes"))
    return ", ".join((report["task"], *sizes))
