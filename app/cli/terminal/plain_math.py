"""Renders the catalogue's equations, which are MathML, as one line of plain text for terminals."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

_SYMBOL_SUBSTITUTES = {"⧵": "∖", "⋯": "…"}
_COMBINING_ACCENTS = {"^": "\u0302", "¯": "\u0304", "―": "\u0304", "~": "\u0303", "˜": "\u0303"}
_SUPERSCRIPT_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_PRIMES = {"′", "″", "‴"}
_SPACED_SYMBOL = re.compile(r" ?([^\w\s()\[\]{}|]) ?")
_SPACE_BETWEEN_LETTERS = re.compile(r"(?<=\b\w) (?=\w\b)")
_SYMBOL_KINDS = {
    "operator": frozenset("=≠≥≤<>≈+−·×/∈∉∪∩⊆⊂△∖⇒→←∧∨:"),
    "open": frozenset("([{⌊⌈"),
    "close": frozenset(")]}⌋⌉"),
    "bar": frozenset("|‖"),
    "big": frozenset("∑∏∫⋃⋂"),
    "comma": frozenset(",;"),
}


_KINDS_BEFORE_A_SIGN = {"start", "open", "operator", "comma", "big", "function"}
"""After a token of these kinds an operator is a sign, as in −x."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A symbol, word, or composed term; `kind` determines the space around it."""

    text: str
    kind: str = "term"


def mathml_to_text(mathml: str) -> str:
    """An equation on one line; fractions become a/b, indices a_b, and powers a² or a^b."""
    return _render(ET.fromstring(mathml))  # noqa: S314 (our own markup)


def _tokens(node: ET.Element) -> Iterator[_Token]:
    tag = _tag(node)
    parts = list(node)
    if tag in {"mi", "mn", "mo", "mtext"}:
        text = (node.text or "").replace("\xa0", " ")
        yield _Token(_SYMBOL_SUBSTITUTES.get(text, text), _symbol_kind(text))
    elif tag == "mfrac" and node.get("linethickness") == "0":
        yield _Token(f"{_render(parts[0])} over {_render(parts[1])}")
    elif tag in _RENDERERS:
        yield _RENDERERS[tag](*parts)
    elif parts and all(part.get("mathvariant") == "normal" for part in parts):
        yield _Token("".join(part.text or "" for part in parts))
    else:
        for part in parts:
            yield from _tokens(part)


def _tag(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def _symbol_kind(text: str) -> str:
    usual = "function" if len(text) > 1 and text.isalpha() else "term"
    return next((kind for kind, signs in _SYMBOL_KINDS.items() if text in signs), usual)


def _render(*nodes: ET.Element) -> str:
    """Nodes in sequence, with spaces by the kinds of their tokens."""
    text, before = "", _Token("", "start")
    for token in _resolve_bars([token for node in nodes for token in _tokens(node)]):
        text += _separator(before, token) + token.text
        sign = token.kind == "operator" and before.kind in _KINDS_BEFORE_A_SIGN and before.text != ":"
        before = _Token(token.text, "sign" if sign else token.kind)
    return text


def _resolve_bars(tokens: Sequence[_Token]) -> list[_Token]:
    """The tokens, with each bar classified as opening, closing, or standing alone, as in A(i|j)."""
    resolved, depth, opened = [], 0, list[int]()
    for index, token in enumerate(tokens):
        kind = token.kind
        depth += {"open": 1, "close": -1}.get(kind, 0)
        if kind == "bar" and depth in opened:
            kind = "close"
            opened.remove(depth)
        elif kind == "bar" and _has_closing_bar(tokens[index + 1 :]):
            kind = "open"
            opened.append(depth)
        resolved.append(_Token(token.text, kind))
    return resolved


def _has_closing_bar(following: Sequence[_Token]) -> bool:
    """Whether another bar follows before the enclosing bracket closes."""
    depth = 0
    for token in following:
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth < 0:
            return False
        if token.kind == "bar" and depth == 0:
            return True
    return False


def _separator(before: _Token, token: _Token) -> str:
    """The separator between two tokens."""
    if before.kind in {"start", "open", "sign", "bar"} or token.kind in {"comma", "close", "bar"}:
        return ""
    if token.kind == "operator":
        return "" if before.text == ":" and token.text == "=" else " "
    if before.kind in {"operator", "comma", "big"}:
        return " "
    if token.kind == "open":
        return " " if before.kind in {"fraction", "big"} else ""
    return " · " if token.kind == "fraction" and before.kind != "function" else " "


def _is_single_term(node: ET.Element) -> bool:
    """Whether a part of a fraction is a single term, which needs no brackets."""
    tokens = list(_tokens(node))
    return len(tokens) == 1 and tokens[0].kind != "fraction"


def _render_fraction(above: ET.Element, below: ET.Element) -> _Token:
    """a/b; a product needs brackets as denominator, but not as numerator."""
    numerator, denominator = _render(above), _render(below)
    if _needs_brackets(above):
        numerator = f"({numerator})"
    if not (_is_single_term(below) or _is_between_bars(below)):
        denominator = f"({denominator})"
    return _Token(f"{numerator}/{denominator}", "fraction")


def _needs_brackets(node: ET.Element) -> bool:
    """Whether a part of a fraction is more than a product, outside of its own brackets."""
    depth = 0
    for token in _resolve_bars(list(_tokens(node))):
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0 and token.kind in {"operator", "fraction", "big"}:
            return True
    return False


def _is_between_bars(node: ET.Element) -> bool:
    """Whether one pair of bars encloses the whole node."""
    texts = [token.text for token in _tokens(node)]
    return texts[:1] == ["|"] == texts[-1:] and texts.count("|") == 2


def _format_index(node: ET.Element) -> str:
    text = _SPACE_BETWEEN_LETTERS.sub("", _SPACED_SYMBOL.sub(r"\1", _render(node)))
    return text if len(text) == 1 else f"{{{text}}}"


def _token_like(base: ET.Element, text: str) -> _Token:
    """A token with an index, power or accent, of the same kind as its base."""
    kinds = [token.kind for token in _tokens(base)]
    return _Token(text, kinds[0] if len(kinds) == 1 and kinds[0] in {"big", "function", "close", "bar"} else "term")


def _render_subscript(base: ET.Element, index: ET.Element) -> _Token:
    return _token_like(base, f"{_render(base)}_{_format_index(index)}")


def _render_superscript(base: ET.Element, power: ET.Element) -> _Token:
    return _token_like(base, _render(base) + _format_power(base, power))


def _format_power(base: ET.Element, node: ET.Element) -> str:
    """A power in superscript digits; the upper limit of a sum is written as an index."""
    text = _render(node)
    if text in _PRIMES:
        return text
    small = text.isdecimal() and not any(token.kind == "big" for token in _tokens(base))
    return text.translate(_SUPERSCRIPT_DIGITS) if small else f"^{_format_index(node)}"


def _render_sub_and_superscript(base: ET.Element, index: ET.Element, power: ET.Element) -> _Token:
    return _token_like(base, f"{_render(base)}_{_format_index(index)}{_format_power(base, power)}")


def _render_accent(base: ET.Element, mark: ET.Element) -> _Token:
    accent = _COMBINING_ACCENTS.get((mark.text or "").strip())
    text = _render(base)
    accented = unicodedata.normalize("NFC", text + accent) if accent and len(text) == 1 else f"{text}^{_render(mark)}"
    return _token_like(base, accented)


def _render_root(*inside: ET.Element) -> _Token:
    return _Token(f"√({_render(*inside)})")


def _render_cases(*rows: ET.Element) -> _Token:
    return _Token("; ".join(", ".join(_render(cell) for cell in row) for row in rows) + "}")


_RENDERERS: dict[str, Callable[..., _Token]] = {
    "mfrac": _render_fraction,
    "msub": _render_subscript,
    "munder": _render_subscript,
    "msup": _render_superscript,
    "msubsup": _render_sub_and_superscript,
    "munderover": _render_sub_and_superscript,
    "mover": _render_accent,
    "msqrt": _render_root,
    "mtable": _render_cases,
}
