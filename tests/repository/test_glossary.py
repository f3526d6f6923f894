"""The glossary, the architecture page and the code use the same terms and name modules and tables that exist."""

import re
from pathlib import Path

import pytest

from app.store.account_tables import User
from app.store.tables import Base

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]
TABLES = User.metadata.tables


def glossary_rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in rows if row[0] != "term"]


ROWS = glossary_rows()


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_each_term_stands_once() -> None:
    terms = [row[0] for row in ROWS]
    assert len(terms) > 60
    assert sorted(terms) == sorted(set(terms))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_term_is_carried_by_the_modules_and_tables_that_it_names(row: list[str]) -> None:
    term, definition, modules, tables = row
    assert definition.endswith(".")
    assert quoted(modules)
    stems = [re.sub(r"(ies|y|s|ing|d|t)$", "", word) for word in re.findall(r"[a-z]{3,}", term.lower())]
    for path in quoted(modules):
        text = (path + (APP / path).read_text(encoding="utf-8")).lower()
        assert any(stem in text for stem in stems), path
    for name in quoted(tables):
        table, _, column = name.partition(".")
        assert table in TABLES, name
        assert not column or column in TABLES[table].columns, name


def test_every_table_belongs_to_a_term() -> None:
    named = {name.partition(".")[0] for row in ROWS for name in quoted(row[3])}
    assert set(Base.metadata.tables) - named == set()


def test_every_package_is_in_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parts = [path.name for path in APP.iterdir() if (path / "__init__.py").exists() and not path.name.startswith("_")]
    parts += [path.name for path in APP.glob("*.py") if path.name != "__init__.py"]
    named = set(re.findall(r"`([a-z_]+(?:/|\.py))", page))
    assert {part if part.endswith(".py") else part + "/" for part in parts} - named == set()


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_path_in_a_document_exists(page: Path) -> None:
    """`app/…`, `tests/…` and, in the architecture, paths of rooms without their root."""
    text = page.read_text(encoding="utf-8")
    roots = "app|tests|docs|migrations|benchmarks|examples"
    for path in re.findall(rf"`((?:{roots})/[\w/.-]*[\w/])`", text):
        assert (ROOT / path).exists(), path
    if page.name == "architecture.md":
        for path in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text):
            assert (APP / path).exists() or (ROOT / path).exists(), path
