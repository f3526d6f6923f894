"""Text escaped for LaTeX is shown as it is: it holds no command, ends no line and no argument."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from app.text.latex import escape_latex, latex_comment
from tests.each_case import for_each

NAMED = {
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
}
PIECES = re.compile(
    r"(?P<empty>\{\})|\{\\char(?P<code>[0-9]+)\}|\\(?P<name>text[a-z]+)\{\}|\\(?P<sign>[{}$&#%_])|(?P<plain>[^\\{}$&#%_^~<>|\"])"
)
JOINED = ("--", "''", "``", ",,", "?`", "!`")


def read_latex(source: str) -> str:
    """The text that LaTeX shows; fails for anything but text."""
    shown, at = "", 0
    while at < len(source):
        found = PIECES.match(source, at)
        assert found is not None, source[at:]
        at = found.end()
        if found["code"]:
            shown += chr(int(found["code"]))
        elif found["name"]:
            shown += NAMED[found["name"]]
        else:
            shown += found["sign"] or found["plain"] or ""
    return shown


VISIBLE = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=40)
SIGNS = st.text("\\{}$&#%_^~<>|\"'`-,?! ab\n", max_size=12)


@given(st.one_of(VISIBLE, SIGNS))
@example("\\input{/etc/passwd}")
@example("--''``,,?`!`")
def test_the_escaped_text_is_shown_as_it_was(text: str) -> None:
    escaped = escape_latex(text)
    assert read_latex(escaped) == " ".join(text.split())
    assert not any(pair in escaped for pair in JOINED)


@given(st.text(st.characters(exclude_categories=[]), max_size=20))
def test_any_text_stays_on_one_line(text: str) -> None:
    for line in (escape_latex(text), latex_comment(text)):
        assert len(line.splitlines()) <= 1
        line.encode()


@for_each("text, shown", [("a\u202eb", "ab"), ("a\u2028b\x0cc", "a b c"), ("\u0646\u200c\u0647", "\u0646\u200c\u0647")])
def test_invisible_characters_that_control_the_text_are_left_out(text: str, shown: str) -> None:
    assert escape_latex(text) == shown
