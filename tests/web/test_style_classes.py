"""The style sheet and the templates name the same classes: none without a rule, and no rule without a use."""

import re
from collections.abc import Iterator
from pathlib import Path

from app.web import assets, rendering

WEB = Path(rendering.__file__).parent
CSS = re.sub(r"/\*.*?\*/|url\(.*?\)", "", (assets.FOLDER / "page.css").read_text(encoding="utf-8"), flags=re.DOTALL)
ATTRIBUTE = re.compile(r'\bclass="((?:\{\{.*?\}\}|\{%.*?%\}|[^"{])*)"')
CHOSEN = re.compile(r"(?:^|\belse |: )\s*'([\w -]+)'")
"""A text that an expression gives, as in 'good' if … else 'bad', but none that it compares with."""
WIDTH = re.compile(r'\bwidth="([a-z]+)"')
"""The class that a template gives to a field, as an argument of its macro."""
QUOTED = re.compile(r"""f?["'`]([a-z][\w {}+-]*)["'`]""")


def rules() -> set[str]:
    """The classes that the style sheet has rules for."""
    selectors = re.findall(r"([^{};]+)\{", CSS)
    return {name for each in selectors for name in re.findall(r"\.([a-z][\w-]*)", each)}


def named_by_templates() -> Iterator[tuple[str, str]]:
    """Each class of a template, with the name of the template."""
    for path in sorted((WEB / "templates").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        for value in ATTRIBUTE.findall(text):
            chosen = [word for part in re.findall(r"\{\{(.*?)\}\}", value) for word in CHOSEN.findall(part)]
            plain = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", value)
            yield from ((word, path.name) for word in " ".join([plain, *chosen]).split())
        yield from ((word, path.name) for word in WIDTH.findall(text))


def named_by_code() -> set[str]:
    """The words of all quoted texts of the drawings and of the scripts."""
    paths = [
        *(WEB.parent / "drawing").glob("*.py"),
        *(path for path in assets.FOLDER.glob("*.js") if ".min." not in path.name),
    ]
    quoted = [text for path in paths for text in QUOTED.findall(path.read_text(encoding="utf-8"))]
    return {word for text in quoted for word in text.split()}


def test_every_class_of_a_template_has_a_rule() -> None:
    found = dict(named_by_templates())
    assert len(found) > 40
    assert {name: template for name, template in found.items() if name not in rules()} == {}


def test_every_class_of_the_style_sheet_is_used() -> None:
    used = {name for name, _ in named_by_templates()} | named_by_code()
    series = {f"series-{number}" for number in range(1, 7)} if "series-{number" in str(used) else set()
    assert sorted(rules() - used - series) == []
