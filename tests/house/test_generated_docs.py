"""The pages made from declarations are as the declarations say."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "build.py"))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_has_not_drifted(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"docs/{name} is out of date: run 'make docs' and commit it"
