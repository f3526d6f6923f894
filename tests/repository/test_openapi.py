"""The OpenAPI document is complete, and of the shape that it claims."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from pydantic import TypeAdapter

from app.api.http.problem_documents import MEDIA_TYPE
from app.api.site_map import ROUTER_MODULES
from app.formats import FORMATS
from app.main import API_TAGS, bare_app
from tests.error_classes import error_classes

DOCUMENT: dict[str, Any] = bare_app().openapi()
CODES = {kind.code: kind for kind in error_classes()}
VISITORS = {"/healthz", "/readyz"}


FOUND = [(path, operation) for path, methods in DOCUMENT["paths"].items() for operation in methods.values()]
OPERATIONS = [pytest.param(path, operation, id=operation["operationId"]) for path, operation in FOUND]
BODIES = [
    pytest.param(route.body_field.field_info, id=route.name)
    for module in ROUTER_MODULES
    for route in module.router.routes
    if getattr(route, "body_field", None) is not None
]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def shape(schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema refers to, or itself."""
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return found


def examples_of(content: dict[str, Any]) -> list[Any]:
    """What a body or a reply shows: of its own, else that of its schema."""
    own = [each["value"] for each in content.get("examples", {}).values()]
    return own or list(shape(content["schema"]).get("examples", []))


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What is sent and every success that is not empty: where, media type, content."""
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield "request", media, content
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            for media, content in response.get("content", {}).items():
                yield status, media, content


def require_valid(example: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}, validate_formats=True).validate(example)


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for _, operation in FOUND]
    assert sorted(names) == sorted(set(names))
    assert len(names) > 35


def test_every_reference_leads_somewhere_and_every_shape_is_used() -> None:
    defined = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(references(DOCUMENT)) == defined


def test_every_tag_is_described_and_used() -> None:
    used = {tag for _, operation in FOUND for tag in operation["tags"]}
    assert used == {tag["name"] for tag in API_TAGS}
    assert all(tag["description"].endswith(".") for tag in API_TAGS)


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_an_operation_says_what_it_does(path: str, operation: dict[str, Any]) -> None:
    assert operation["summary"][0].isupper()
    assert not operation["summary"].endswith(".")
    assert operation["description"].endswith(".")
    assert len(operation["tags"]) == 1
    assert any(status.startswith("2") for status in operation["responses"])
    names = [parameter["name"] for parameter in operation.get("parameters", [])]
    assert [name for name in names if "{" + name + "}" in path] == [
        part[1:-1] for part in path.split("/") if part.startswith("{")
    ]


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_the_errors_of_an_operation_are_documented_with_examples(path: str, operation: dict[str, Any]) -> None:
    if path in VISITORS:
        return
    responses = operation["responses"]
    assert {"400", "401", "429", "503"} <= responses.keys()
    if "{" in path:
        assert "404" in responses
    for status, response in responses.items():
        if status.startswith("2"):
            continue
        assert set(response["content"]) == {MEDIA_TYPE}
        assert response["description"]
        content = response["content"][MEDIA_TYPE]
        assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
        assert content["examples"]
        for code, example in content["examples"].items():
            value = example["value"]
            assert value["status"] == CODES[code].status == int(status)
            assert value["code"] == code
            assert value["type"] == f"urn:assay:problem:{code}"
            assert value["remedy"] == CODES[code].remedy


def codes(operation_id: str) -> set[str]:
    (operation,) = (each for _, each in FOUND if each["operationId"] == operation_id)
    answers = operation["responses"].values()
    return {code for each in answers for code in each.get("content", {}).get(MEDIA_TYPE, {}).get("examples", {})}


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_what_a_token_a_cursor_and_a_body_can_lack_is_documented(path: str, operation: dict[str, Any]) -> None:
    found, parameters = codes(operation["operationId"]), {each["name"] for each in operation.get("parameters", [])}
    assert ("bad_cursor" in found) == ("cursor" in parameters)
    if operation.get("security") == [{"HTTPBearer": []}]:
        own = path in {"/api/v1/me", "/api/v1/me/data", "/api/v1/tokens"} and "requestBody" not in operation
        assert ("insufficient_scope" in found) != own
    if operation.get("requestBody", {}).get("content", {}).keys() == {"application/json"}:
        assert {"invalid_request", "too_large", "unsupported_media_type"} <= found


MEMBER_CODES = {"not_registered", "registration_pending", "registration_barred", "no_team"}


@pytest.mark.parametrize(
    ("operation_id", "expected"),
    [
        (
            "post_submission",
            MEMBER_CODES | {"team_disqualified", "phase_paused", "challenge_archived", "no_open_phase"},
        ),
        *((f"post_{act}", MEMBER_CODES | {"submission_of_former_team"}) for act in ("cancel", "select", "withdraw")),
        ("post_activate", {"phase_released", "invalid_recipe"}),
        ("get_report", {"split_hidden"}),
    ],
)
def test_what_stands_in_the_way_of_participants_is_documented(operation_id: str, expected: set[str]) -> None:
    assert expected <= codes(operation_id)


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_what_is_sent_has_limits(path: str, operation: dict[str, Any]) -> None:
    if "requestBody" not in operation:
        return
    assert {"413", "422"} <= operation["responses"].keys()
    sent = operation["requestBody"]
    # a body may be absent only where it has a default
    assert sent.get("required") or all("default" in each["schema"] for each in sent["content"].values())
    assert {"415"} & operation["responses"].keys() or len(operation["requestBody"]["content"]) == 1


@pytest.mark.parametrize("model", BODIES)
def test_every_example_of_a_body_is_valid(model: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(model.annotation)
    examples = model.examples or adapter.json_schema().get("examples", [])
    assert examples
    for example in examples:
        adapter.validate_python(example)


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_every_body_and_every_success_has_an_example(path: str, operation: dict[str, Any]) -> None:
    found = list(contents(operation))
    assert found or set(operation["responses"]) & {"204"}, path
    binary = {media for known in FORMATS.values() if known.is_binary for media in known.media_types}
    shown = [(where, media) for where, media, content in found if media not in binary and not examples_of(content)]
    assert shown == []  # no JSON can show the bytes of a binary file


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_every_example_fits_its_schema(path: str, operation: dict[str, Any]) -> None:
    for _, media, content in contents(operation):
        for example in examples_of(content):
            assert media in {"application/json", "multipart/form-data"} or isinstance(example, str), path
            require_valid(example, content["schema"])


def test_the_examples_of_a_shape_fit_it() -> None:
    schemas = DOCUMENT["components"]["schemas"].values()
    found = [(example, schema) for schema in schemas for example in schema.get("examples", [])]
    assert len(found) > 30
    for example, schema in found:
        require_valid(example, schema)


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_every_parameter_is_described(path: str, operation: dict[str, Any]) -> None:
    parameters = operation.get("parameters", [])
    assert [each["name"] for each in parameters if not each.get("description", "").endswith(".")] == [], path
