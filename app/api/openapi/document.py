"""Corrects the OpenAPI document: replaces what the framework assumes about errors by what this service returns."""

import json
from collections.abc import Iterator
from typing import Any

from app.api.http.problem_documents import MEDIA_TYPE, Problem, error_responses
from app.api.openapi.examples import restore_nulls
from app.errors import InvalidRequest, TooLarge

FRAMEWORK_ERROR_SCHEMAS = ("HTTPValidationError", "ValidationError")
SCHEMA_REFERENCE = "#/components/schemas/{model}"
PAGE_SCHEMA_PREFIX = "Page_"  # of the names that the framework gives to pages

# Descriptions of path parameters, the same on every route.
PATH_PARAMETERS = {
    "slug": "The slug of the challenge.",
    "phase": "The slug of the phase: its name in lower case, with hyphens.",
    "version": "The number of the gold version. Versions are counted from 1 in each phase.",
    "submission_id": "The `id` of the submission.",
    "registration_id": "The `id` of the registration.",
    "token_id": "The `id` of the token. The text of a token begins with `assay_<id>`.",
    "key": "The `key` of the metric, without parameters.",
}


def complete_document(document: dict[str, Any]) -> dict[str, Any]:
    """Correct the document of the framework, in place."""
    schemas = document["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema(ref_template=SCHEMA_REFERENCE)
    schemas.update(schemas["Problem"].pop("$defs", {}))
    for name in FRAMEWORK_ERROR_SCHEMAS:
        schemas.pop(name, None)
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    _add_page_examples(schemas)
    for operation in _operations(document):
        _correct_responses(operation)
        _describe_path_parameters(operation)
    corrected: dict[str, Any] = restore_nulls(document)
    return corrected


def serialize_document(document: dict[str, Any]) -> str:
    """The document as stored in docs/openapi.json."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def _add_page_examples(schemas: dict[str, Any]) -> None:
    """Add an example to every page, made of the example of its rows."""
    for name, schema in schemas.items():
        if name.startswith(PAGE_SCHEMA_PREFIX):
            row = schemas[schema["properties"]["items"]["items"]["$ref"].rsplit("/", 1)[1]]
            schema["examples"] = [{"items": row["examples"], "next": None}]


def _describe_path_parameters(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            parameter["description"] = PATH_PARAMETERS[parameter["name"]]


def _correct_responses(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "422" in responses and MEDIA_TYPE not in responses["422"].get("content", {}):
        del responses["422"]  # This service answers invalid parameters with 400.
    media = operation.get("requestBody", {}).get("content", {})
    if set(media) == {"application/json"}:
        for status, response in error_responses(InvalidRequest, TooLarge).items():
            if str(status) in {"413", "422"}:
                responses.setdefault(str(status), {key: response[key] for key in ("description", "content")})
    for response in responses.values():
        if MEDIA_TYPE in response.get("content", {}):
            response["content"].pop("application/json", None)
