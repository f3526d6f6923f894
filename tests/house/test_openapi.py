"""The OpenAPI document is complete, and of the shape that it claims."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from app.api.problems import MEDIA_TYPE
from app.main import ROUTERS, TAGS, bare_app
from tests.error_tree import leaves

DOCUMENT: dict[str, Any] = bare_app().openapi()
CODES = {kind.code: kind for kind in leaves()}
VISITORS = {"/healthz", "/readyz"}


FOUND = [(path, operation) for path, methods in DOCUMENT["paths"].items() for operation in methods.values()]
OPERATIONS = [pytest.param(path, operation, id=operation["operationId"]) for path, operation in FOUND]
BODIES = [
    pytest.param(route.body_field.field_info, id=route.name)
    for module in ROUTERS
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


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for _, operation in FOUND]
    assert sorted(names) == sorted(set(names))
    assert len(names) > 35


def test_every_reference_leads_somewhere_and_every_shape_is_used() -> None:
    defined = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(references(DOCUMENT)) == defined


def test_every_tag_is_described_and_used() -> None:
    used = {tag for _, operation in FOUND for tag in operation["tags"]}
    assert used == {tag["name"] for tag in TAGS}
    assert all(tag["description"].endswith(".") for tag in TAGS)


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


@pytest.mark.parametrize(("path", "operation"), OPERATIONS)
def test_what_is_sent_has_an_example_and_limits(path: str, operation: dict[str, Any]) -> None:
    if "requestBody" not in operation:
        return
    assert {"413", "422"} <= operation["responses"].keys()
    assert operation["requestBody"]["required"] is True
    json_body = operation["requestBody"]["content"]["application/json"]
    schema = json_body["schema"]
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    examples = [each["value"] for each in json_body.get("examples", {}).values()] + schema.get("examples", [])
    assert examples
    assert {"415"} & operation["responses"].keys() or len(operation["requestBody"]["content"]) == 1


@pytest.mark.parametrize("model", BODIES)
def test_every_example_of_a_body_is_valid(model: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(model.annotation)
    examples = model.examples or adapter.json_schema().get("examples", [])
    assert examples
    for example in examples:
        adapter.validate_python(example)
