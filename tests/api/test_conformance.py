"""The service answers as its OpenAPI document says, whatever is sent: properties by schemathesis over real HTTP."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.main import bare_app
from tests.api.conftest import GOLD
from tests.api.served import Served

CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
KNOWN = {"slug": "digits", "phase": "main", "version": 1, "key": "f1_macro"}

schema: Any = schemathesis.openapi.from_dict(bare_app().openapi())
schema.config.phases.coverage.enabled = False


def bounded(examples: int) -> settings:
    """The same few examples each time."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def submission(app: Served) -> str:
    sent = app.admin().submit("digits", {row["id"]: row["label"] for row in GOLD}, team="Blue")
    assert sent.status_code == 201
    return str(sent.json()["id"])


def check(case: Any, app: Served, known: dict[str, Any], headers: dict[str, str]) -> None:
    """Send a case, to things that exist in two of three cases, and compare the answer with the document."""
    if sum(map(ord, str(case.path_parameters))) % 3:
        for name in set(known) & set(case.path_parameters or {}):
            case.path_parameters[name] = known[name]
    answer = case.call(base_url=app.url, headers=headers)
    case.validate_response(answer, checks=CHECKS)


@schema.parametrize()  # type: ignore[untyped-decorator]
@bounded(8)
def test_an_administrator_is_answered_as_documented(case: Any, app: Served, submission: str) -> None:
    token = app.admin().headers["Authorization"]
    check(case, app, KNOWN | {"submission_id": submission}, {"Authorization": token})


@schema.parametrize()  # type: ignore[untyped-decorator]
@bounded(3)
def test_a_visitor_is_answered_as_documented(case: Any, app: Served, submission: str) -> None:
    check(case, app, KNOWN | {"submission_id": submission}, {})
