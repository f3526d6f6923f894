"""Markdown of organizers as HTML: rendered by markdown-it (CommonMark and tables), then sanitized by nh3."""

import re
from functools import lru_cache
from itertools import pairwise

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token
from markupsafe import Markup

TAGS = frozenset(
    [
        "a",
        "abbr",
        "b",
        "blockquote",
        "br",
        "caption",
        "code",
        "dd",
        "del",
        "dl",
        "dt",
        "em",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "kbd",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
ATTRIBUTES = {"a": {"href", "title"}, "abbr": {"title"}, "ol": {"start"}, "td": {"align"}, "th": {"align", "scope"}}
TABLE_BEGIN = (
    '<div class="scroll" tabindex="0" role="region" aria-label="Table; scrolls sideways if it is wide"><table>'
)
MAX_CELLS = 5000
"""Cells of all tables of a text. A row may leave out its cells, so a short text could ask for very many."""


def _bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for tables, for as many rows as the text has cells left; what follows is no part of the table."""
    columns = state.src[state.bMarks[start] : state.eMarks[start]].count("|") + 1
    left = state.env.setdefault("cells", MAX_CELLS)
    if not table(state, start, min(end, start + 1 + left // columns), silent):
        return False
    if not silent:
        state.env["cells"] = left - columns * (state.line - start - 1)
    return True


_parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_parser.block.ruler.at("table", _bounded_table, {"alt": ["paragraph", "reference"]})


@lru_cache(256)
def markdown(text: str, top: int = 2) -> Markup:
    """The HTML of a text. Its headings begin at level `top`, below those of the page; links carry `rel=nofollow`.

    Images are shown as links, because a page loads nothing from other sites.
    """
    tokens = _parser.parse(text)
    _set_heading_levels(tokens, top)
    for token in tokens:
        for child in token.children or ():
            if child.type == "image":
                child.type, child.tag = "text", ""
                child.content = f"{child.content} ({child.attrs.get('src', '')})"
    html = _parser.renderer.render(tokens, _parser.options, {})
    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )
    clean = clean.replace("<table>", TABLE_BEGIN).replace("</table>", "</table></div>")
    return Markup(clean)  # noqa: S704 - nh3 has just removed everything that is not in the lists above


def _set_heading_levels(tokens: list[Token], top: int) -> None:
    """Give headings levels from `top` on, one below the heading that they are under, whatever levels the text skips."""
    above: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [*(each for each in above if each < level), level]
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, top + len(above) - 1)}"


_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
MAX_SENTENCE = 240  # characters


@lru_cache(maxsize=256)
def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph as plain text, shortened if it is long; empty if there is none."""
    paragraph = _first_paragraph(text)
    sentence = _SENTENCE_END.split(paragraph, maxsplit=1)[0]
    if len(sentence) <= MAX_SENTENCE:
        return sentence
    return sentence[: MAX_SENTENCE - 1].rsplit(" ", 1)[0] + "\N{HORIZONTAL ELLIPSIS}"


def _first_paragraph(text: str) -> str:
    tokens = _parser.parse(text[:20_000])
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open" and token.type == "inline":
            words = "".join(
                " " if child.type in {"softbreak", "hardbreak"} else child.content
                for child in token.children or ()
                if child.type in {"text", "code_inline", "softbreak", "hardbreak"}
            )
            if words.strip():
                return " ".join(words.split())
    return ""
