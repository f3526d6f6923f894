"""Escapes text for LaTeX documents."""

import re
import unicodedata

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",  # babel gives it other meanings in some languages
}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)
# Fonts join these pairs to other signs, such as two hyphens to a dash.
_JOINED = re.compile(r"(?<=-)-|(?<=')'|(?<=,),|(?<=[`?!])`")
_BLANKS = frozenset({"Cc", "Zl", "Zp", "Cs"})
_JOINERS = "\u200c\u200d"  # invisible, but some scripts are spelt with them


def escape_latex(text: str) -> str:
    """The text as LaTeX shows it in a paragraph: no character of it is a command, and it stays on one line."""
    line = _one_line(text).translate(_ESCAPE_TABLE)
    return _JOINED.sub(lambda found: f"{{}}{found.group()}", line)


def latex_comment(text: str) -> str:
    """The text as one comment line of LaTeX."""
    return f"% {_one_line(text)}"


def _one_line(text: str) -> str:
    return " ".join("".join(map(_printable, text)).split())


def _printable(char: str) -> str:
    category = unicodedata.category(char)
    if category in _BLANKS:
        return " "
    return "" if category == "Cf" and char not in _JOINERS else char
