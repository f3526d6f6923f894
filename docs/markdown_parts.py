"""Pieces of Markdown that the generated pages share."""

from collections.abc import Iterable, Sequence

from app.scoring.metrics import FAMILY_BY_KEY


def safe(text: object) -> str:
    """Text with the characters escaped that Markdown would interpret, in tables too."""
    shown = str(text).replace("<", "&lt;").replace("*", "\\*")
    return shown.replace("|", "\\|")


def sentence(text: str) -> str:
    """Text as a sentence, with a capital letter and a full stop."""
    return safe(f"{text[:1].upper()}{text[1:].rstrip('.')}.")


def code(text: object) -> str:
    """Text as code, in tables too."""
    return f"`{str(text).replace('|', chr(92) + '|')}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table whose cells are Markdown, and an empty line."""
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return ["|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines] + [""]


def metric_link(key: str, folder: str = "") -> str:
    """A link to the section of a metric; `folder` is the path of the pages of metrics, relative to the linking page."""
    return f"[{code(key)}]({folder}{FAMILY_BY_KEY[key].name}.md#{key})"


def linked(keys: Iterable[str], folder: str = "") -> str:
    """Links to several metrics."""
    return ", ".join(metric_link(key, folder) for key in keys)
