"""The tree that the checks read: each file once, with what a test plants in it instead."""

import ast
import runpy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from app.errors import AssayError
from app.settings import Settings
from tests.error_classes import error_classes
from tests.long_tests import LONG_TESTS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """What is wrong, in which file and line, and how to fix it."""

    path: str
    line: int
    wrong: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.wrong}. {self.remedy}."


@dataclass
class Tree:
    """The files of the checkout and what the program declares."""

    planted: Mapping[str, str] = field(default_factory=dict)
    """Texts that stand for the files, or beside them: a test of the checks changes them."""
    errors: list[type[AssayError]] = field(default_factory=error_classes)
    settings: type[Settings] = Settings
    long_tests: Mapping[str, str] = field(default_factory=lambda: LONG_TESTS)
    openapi: dict[str, Any] | None = None
    """Stands for the OpenAPI document of all routes."""
    pages: Mapping[str, str] | None = None
    """Stand for what the declarations generate."""
    only_planted: bool = False
    """Whether the folders hold nothing else."""
    _texts: dict[str, str] = field(default_factory=dict)
    _nodes: dict[str, list[ast.AST]] = field(default_factory=dict)

    def text(self, path: str) -> str:
        if path in self.planted:
            return self.planted[path]
        if path not in self._texts:
            self._texts[path] = (ROOT / path).read_text(encoding="utf-8")
        return self._texts[path]

    def nodes(self, path: str) -> list[ast.AST]:
        """The nodes of a module, which is the first: several checks look at all of them."""
        if path in self.planted:
            return list(ast.walk(ast.parse(self.planted[path])))
        if path not in self._nodes:
            self._nodes[path] = list(ast.walk(ast.parse(self.text(path))))
        return self._nodes[path]

    def files(self, folder: str, suffix: str) -> list[str]:
        """The files of a folder and those below it, by their path from the root."""
        listed = set() if self.only_planted else self._listed(folder, suffix)
        return sorted(listed | {path for path in self.planted if _is_in(path, folder, suffix)})

    def _listed(self, folder: str, suffix: str) -> set[str]:
        found = (ROOT / folder).rglob(f"*{suffix}")
        return {str(path.relative_to(ROOT)) for path in found if "_shipped" not in path.parts}

    def exists(self, path: str) -> bool:
        return path in self.planted or (ROOT / path).exists()

    def line(self, path: str, words: str) -> int:
        """The first line of a file with these words, or 1."""
        lines = self.text(path).splitlines()
        return next((number for number, line in enumerate(lines, 1) if words in line), 1)

    @cached_property
    def program(self) -> list[str]:
        return self.files("app", ".py")

    @cached_property
    def tests(self) -> list[str]:
        return self.files("tests", ".py")

    @cached_property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document of all routes."""
        return dict(_build()["document_of_routes"]()) if self.openapi is None else self.openapi

    @cached_property
    def generated(self) -> Mapping[str, str]:
        """What the declarations say now, by the path of the page."""
        if self.pages is not None:
            return self.pages
        makers: dict[str, Callable[[], str]] = _build()["PAGES"]
        return {f"docs/{name}": generate() for name, generate in makers.items()}


Check = Callable[[Tree], Iterator[Fault]]


@cache
def _build() -> dict[str, Any]:
    """What docs/build.py defines, which makes the OpenAPI document once."""
    return runpy.run_path(str(ROOT / "docs" / "build.py"))


def _is_in(path: str, folder: str, suffix: str) -> bool:
    return path.startswith(f"{folder}/") and path.endswith(suffix)
