"""Elements of SVG, of which the drawings of pages and reports consist.

Every text is escaped. Elements have presentation attributes and classes only, because the policy of the pages allows no
inline style. Who shows a drawing colours its classes: `chart`, `grid`, `axis` and those that a drawing names.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

from markupsafe import Markup

LETTER_WIDTH = 7.2
"""The room for a letter of a label."""
MAX_LABEL_LENGTH = 18

Attributes = dict[str, str | float | int]


def drawing(
    width: float, height: float, title: str, description: str, parts: Iterable[str], *, shrinks: bool = True
) -> Markup:
    """The whole drawing; one that `shrinks` becomes narrower with the page, others keep their size."""
    size: Attributes = {"width": math.ceil(width), "height": math.ceil(height)}
    root: Attributes = {"class": "chart" if shrinks else "chart fixed", "role": "img", **size}
    root |= {"viewBox": f"0 0 {size['width']} {size['height']}", "font-size": 12}
    head = tooltip(title) + element("desc", {}, escaped(description))
    return Markup(element("svg", root, head + "".join(parts)))  # noqa: S704 (every text in it is escaped)


def label(x: float, y: float, text: str, *, css: str = "", anchor: str = "") -> str:
    """A text at this place. A long one is shortened and has a tooltip, unless it names an axis."""
    return _label({"class": css, "x": x, "y": y, "text-anchor": anchor}, text)


def turned_label(x: float, y: float, text: str, *, css: str = "", anchor: str = "") -> str:
    """A text that reads upwards from this place."""
    turn = f"translate({coordinate(x)} {coordinate(y)}) rotate(-90)"
    return _label({"class": css, "transform": turn, "text-anchor": anchor}, text)


def _label(attributes: Attributes, text: str) -> str:
    shown = text if attributes.get("class") == "axis" else shortened(text)
    whole = tooltip(text) if shown != text else ""
    given: Attributes = {name: value for name, value in attributes.items() if value != ""}
    return element("text", given, escaped(shown) + whole)


def label_room(labels: Sequence[str]) -> float:
    """The width that these labels need."""
    return max((len(shortened(text)) for text in labels), default=0) * LETTER_WIDTH + 8


def shortened(text: str) -> str:
    """A label as it is shown."""
    return text if len(text) <= MAX_LABEL_LENGTH else f"{text[: MAX_LABEL_LENGTH - 1]}…"


def tooltip(text: str) -> str:
    """The title of the element around it."""
    return element("title", {}, escaped(text))


def escaped(text: str) -> str:
    """A text without the characters that XML does not allow."""
    return escape("".join(letter if letter.isprintable() or letter == " " else "�" for letter in text))


def coordinate(value: float) -> str:
    """A length or place with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def element(name: str, attributes: Attributes, content: str = "") -> str:
    """An element with its attributes; `content` is markup."""
    pairs = "".join(
        f' {key}="{escape(value) if isinstance(value, str) else _attribute_number(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def _attribute_number(value: float) -> str:
    return f"{value:.4g}" if 0 < value < 1 else coordinate(value)
