"""The pages made from declarations are as the declarations say, and tell of every metric, choice and command."""

import re
import runpy
from pathlib import Path

import pytest

from app.cli.command_tree import iter_commands
from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.options import OPTIONS
from app.scoring.metrics import FAMILIES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "build.py"))["PAGES"]
COMMANDS = [" ".join(words) for words, _ in iter_commands()]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def headings(text: str) -> list[str]:
    return re.findall(r"^#{2,3} `?([^`\n]+)`?$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_has_not_drifted(name: str) -> None:
    assert page(name) == PAGES[name](), f"docs/{name} is out of date: run 'make docs' and commit it"


def test_no_page_of_metrics_is_left_over() -> None:
    written = {f"metrics/{path.name}" for path in (DOCS / "metrics").iterdir()}
    assert written == {name for name in PAGES if name.startswith("metrics/")}


def test_every_metric_is_in_the_index_and_has_a_section_with_equation_and_example() -> None:
    index = page("metrics/README.md")
    for family in FAMILIES:
        text = page(f"metrics/{family.name}.md")
        assert f"]({family.name}.md)" in index
        sections = dict(zip(headings(text), re.split(r"^## ", text, flags=re.MULTILINE)[1:], strict=False))
        for key in family.keys:
            assert f"[`{key}`]({family.name}.md#{key})" in index
            assert "```math\n" in sections[key], key
            (example,) = re.findall(r"^\| example \| (.+) \|$", sections[key], flags=re.MULTILINE)
            assert " on [data " in example, key
    assert sum(len(family.keys) for family in FAMILIES) == len(CATALOGUE)


def test_every_choice_has_a_section() -> None:
    settings = {param.name for metric in CATALOGUE.values() for param in metric.params if param.default is not None}
    assert set(headings(page("conventions.md"))) >= {*OPTIONS, *settings, *PRESETS}


@pytest.mark.parametrize("name", [name for name in PAGES if name.endswith(".md")])
def test_every_link_to_a_section_leads_to_one(name: str) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page(name)):
        there = (DOCS / name).parent / target if target else DOCS / name
        found = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), flags=re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
        assert anchor in anchors, f"{name}: {target}#{anchor}"


def test_every_command_is_told() -> None:
    assert {
        heading.removeprefix("assay ") for heading in headings(page("commands.md")) if heading.startswith("assay ")
    } == set(COMMANDS)
