"""Errors and settings are declared whole, and what is declared is used and told."""

import re
from collections.abc import Iterator
from inspect import getsourcefile, getsourcelines
from pathlib import Path

from pydantic_core import PydanticUndefined

import app.cli
import app.main
from app.api.http.problem_documents import problem_response
from app.errors import AssayError, Unavailable
from app.settings import describe_settings
from tests.repository.tree import ROOT, Fault, Tree

PROGRAMS = (app.main, app.cli)  # once they are loaded, all errors are known
STATUSES = {308, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 500, 503}
SETTINGS = "app/settings.py"


def no_two_errors_share_a_code(tree: Tree) -> Iterator[Fault]:
    known: dict[str, type[AssayError]] = {}
    for kind in tree.errors:
        if known.setdefault(kind.code, kind) is not kind:
            yield _at(kind, f"its code {kind.code} is also that of {known[kind.code].__name__}", "Choose another code")


def every_error_has_code_status_remedy_and_message(tree: Tree) -> Iterator[Fault]:
    for kind in tree.errors:
        message = " ".join((kind.__doc__ or "").split())
        if not re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code):
            yield _at(kind, f"the code {kind.code} is not lowercase words joined by _", "Choose another code")
        if kind.status not in STATUSES:
            yield _at(kind, f"the status {kind.status} is unusual", "Choose one of STATUSES in declaration_checks.py")
        if not message.endswith("."):
            yield _at(kind, "its docstring is not a sentence", "Say there what is wrong")
        if not kind.remedy.endswith((".", "}")):
            yield _at(kind, "its remedy is not a sentence", "Say how to fix it")
        error, answer = kind(), problem_response(kind())
        if (error.detail, error.advice, str(error)) != (message, kind.remedy, message):
            yield _at(kind, "it does not say its own docstring and remedy", "Leave both to AssayError")
        if (answer.status_code, answer.media_type) != (kind.status, "application/problem+json"):
            yield _at(kind, "its reply has another status or media type", "Leave both to AssayError")


def every_error_keeps_the_status_of_its_branch(tree: Tree) -> Iterator[Fault]:
    for kind in tree.errors:
        for parent in kind.__mro__[1:]:
            if issubclass(parent, AssayError) and parent is not AssayError and parent.status != kind.status:
                yield _at(kind, f"its status is not that of {parent.__name__}", "Derive it from another branch")


def every_unavailable_says_when_to_come_back(tree: Tree) -> Iterator[Fault]:
    for kind in tree.errors:
        if issubclass(kind, Unavailable) and int(kind().headers.get("Retry-After", 0)) <= 0:
            yield _at(kind, "it has no Retry-After", "Give the seconds after which to come back")


def every_setting_is_used(tree: Tree) -> Iterator[Fault]:
    sources = [tree.text(path) for path in tree.program]
    for name in tree.settings.model_fields:
        if not any(f".{name}" in source for source in sources):
            yield _at_setting(tree, name, "nothing reads it", "Use it or delete it")


def every_setting_is_described(tree: Tree) -> Iterator[Fault]:
    rows = {row["name"]: row for row in describe_settings()}
    for name, field in tree.settings.model_fields.items():
        row = rows.get(f"ASSAY_{name.upper()}", {})
        if not row or (field.default not in {None, PydanticUndefined} and row["default"] != str(field.default)):
            yield _at_setting(tree, name, "describe_settings omits it or its default", "docs/settings.md needs both")
        if not (field.description or "").endswith("."):
            yield _at_setting(tree, name, "its description is not a sentence", "Describe it: docs/settings.md tells it")


def _at(kind: type[AssayError], wrong: str, remedy: str) -> Fault:
    path = Path(getsourcefile(kind) or __file__).relative_to(ROOT)
    return Fault(str(path), getsourcelines(kind)[1], f"{kind.__name__}: {wrong}", remedy)


def _at_setting(tree: Tree, name: str, wrong: str, remedy: str) -> Fault:
    return Fault(SETTINGS, tree.line(SETTINGS, f"    {name}:"), f"{name}: {wrong}", remedy)
