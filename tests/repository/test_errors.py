"""Every error of the tree is declared whole."""

import re

import pytest

import app.cli
import app.main
from app import errors
from app.api.http.problem_documents import problem_response
from app.errors import AssayError
from tests.error_classes import error_classes

PROGRAMS = (app.main, app.cli)  # once they are loaded, all leaves are known
ALL = error_classes()
STATUSES = {308, 400, 401, 403, 404, 405, 408, 409, 410, 413, 415, 422, 429, 500, 503}


def test_no_two_errors_share_a_code() -> None:
    codes = [kind.code for kind in ALL]
    assert sorted(codes) == sorted(set(codes))
    assert len(codes) > 30


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: str(kind.__name__))
def test_an_error_has_code_status_remedy_and_message(kind: type[AssayError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)
    assert kind.status in STATUSES
    message = " ".join((kind.__doc__ or "").split())
    assert message.endswith(".")
    assert kind.remedy.endswith((".", "}"))
    error = kind()
    assert error.detail == message
    assert error.advice == kind.remedy
    assert str(error) == message
    answer = problem_response(error)
    assert answer.status_code == kind.status
    assert answer.media_type == "application/problem+json"


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: str(kind.__name__))
def test_an_error_keeps_the_status_of_its_branch(kind: type[AssayError]) -> None:
    parents = [parent for parent in kind.__mro__[1:] if issubclass(parent, AssayError) and parent is not AssayError]
    assert {parent.status for parent in parents} <= {kind.status}


def test_every_unavailable_says_when_to_come_back() -> None:
    for kind in error_classes(errors.Unavailable):
        assert int(kind().headers["Retry-After"]) > 0


def test_an_error_that_names_the_cause_keeps_the_rest_of_its_declaration() -> None:
    error = errors.QuotaExceeded("Two of two.", headers={"Retry-After": "9"}, remedy="Wait.", used=2, reset_at=None)
    answer = problem_response(error)
    assert answer.headers["retry-after"] == "9"
    body = bytes(answer.body).decode()
    assert '"code":"quota_exceeded"' in body
    assert '"remedy":"Wait."' in body
    assert '"used":2' in body
    assert "reset_at" not in body
