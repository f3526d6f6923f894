"""Writes the pages that are made from declarations, so that they cannot lie: `python docs/build.py`, or `make docs`."""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from app.api.openapi import document
from app.main import bare_app
from app.scoring.metrics import FAMILIES
from app.settings import settings_page

HERE = Path(__file__).resolve().parent


def openapi() -> str:
    """The OpenAPI document of the routes."""
    return document.serialize_document(bare_app().openapi())


def _beside(module: str) -> Any:
    """A module that makes a page; it lies beside this file, and may read the tests."""
    sys.path[:0] = [name for name in (str(HERE), str(HERE.parent)) if name not in sys.path]
    return import_module(module)


def _pages() -> dict[str, Callable[[], str]]:
    metrics = _beside("metrics_pages")
    families = {f"metrics/{family.name}.md": partial(metrics.page, family) for family in FAMILIES}
    return {
        "settings.md": settings_page,
        "conventions.md": _beside("conventions_page").page,
        "metrics/README.md": metrics.index,
        **families,
        "commands.md": _beside("commands_page").page,
        "disclosure.md": _beside("disclosure_page").page,
        "doctor.md": _beside("doctor_page").page,
        "formats.md": _beside("formats_page").page,
        "errata.md": _beside("errata_page").page,
        "performance.md": _beside("performance_page").page,
        "storm.md": _beside("storm_page").page,
        "openapi.json": openapi,
    }


PAGES = _pages()


def main() -> None:
    """Write all pages."""
    written = {HERE / name: make() for name, make in PAGES.items()}
    for old in set(HERE.glob("metrics/*.md")) - written.keys():
        old.unlink()
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
