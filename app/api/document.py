"""The OpenAPI document made true: what the framework assumes about errors is replaced by what this service answers."""

import json
from collections.abc import Iterator
from typing import Any

from app.api.problems import MEDIA_TYPE, Problem, documented
from app.errors import InvalidRequest, TooLarge

GUESSED = ("HTTPValidationError", "ValidationError")
REFERENCE = "#/components/schemas/{model}"


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """The document of the framework, corrected in place."""
    schemas = document["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema(ref_template=REFERENCE)
    schemas.update(schemas["Problem"].pop("$defs", {}))
    for name in GUESSED:
        schemas.pop(name, None)
    for operation in _operations(document):
        _correct(operation)
    return document


def text(document: dict[str, Any]) -> str:
    """The document as it is kept in docs/openapi.json."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def _correct(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "422" in responses and MEDIA_TYPE not in responses["422"].get("content", {}):
        del responses["422"]  # wrong parameters are answered with 400 here
    media = operation.get("requestBody", {}).get("content", {})
    if set(media) == {"application/json"}:
        for status, response in documented(InvalidRequest, TooLarge).items():
            if str(status) in {"413", "422"}:
                responses.setdefault(str(status), {key: response[key] for key in ("description", "content")})
    for response in responses.values():
        if MEDIA_TYPE in response.get("content", {}):
            response["content"].pop("application/json", None)
