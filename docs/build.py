"""Generates the documents that follow from declarations: `python docs/build.py`, or `make docs`."""

import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from app.api.openapi import document
from app.main import bare_app
from app.scoring.metrics import FAMILIES
from app.settings import settings_page

HERE = Path(__file__).resolve().parent


@cache
def document_of_routes() -> dict[str, Any]:
    """The OpenAPI document of the routes."""
    return bare_app().openapi()


def openapi() -> str:
    """The same as text."""
    return document.serialize_document(document_of_routes())


def _page_module(module: str) -> Any:
    """A module beside this file that generates a page; it may import from the tests."""
    sys.path[:0] = [name for name in (str(HERE), str(HERE.parent)) if name not in sys.path]
    return import_module(module)


def _pages() -> dict[str, Callable[[], str]]:
    metrics = _page_module("metrics_pages")
    families = {f"metrics/{family.name}.md": partial(metrics.page, family) for family in FAMILIES}
    return {
        "settings.md": settings_page,
        "conventions.md": _page_module("conventions_page").page,
        "metrics/README.md": metrics.index,
        **families,
        "commands.md": _page_module("commands_page").page,
        "disclosure.md": _page_module("disclosure_page").page,
        "doctor.md": _page_module("doctor_page").page,
        "formats.md": _page_module("formats_page").page,
        "errata.md": _page_module("errata_page").page,
        "performance.md": _page_module("performance_page").page,
        "storm.md": _page_module("storm_page").page,
        "uncertainty.md": _page_module("uncertainty_page").page,
        "openapi.json": openapi,
    }


PAGES = _pages()


def main() -> None:
    """Write all documents and delete pages of metrics that no longer exist."""
    pages = {HERE / name: generate() for name, generate in PAGES.items()}
    for outdated in set(HERE.glob("metrics/*.md")) - pages.keys():
        outdated.unlink()
    for path, text in pages.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
