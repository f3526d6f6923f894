"""Corrects the OpenAPI document: replaces what the framework assumes about errors by what this service returns."""

import json
from collections.abc import Iterator
from typing import Any

from app.api.http.problem_documents import MEDIA_TYPE, PROBLEM_SCHEMA, Problem, error_responses
from app.api.openapi.examples import restore_nulls
from app.errors import (
    AssayError,
    BadCursor,
    ChallengeArchived,
    InsufficientScope,
    InvalidRequest,
    Renamed,
    TooLarge,
    UnsupportedMedia,
)

FRAMEWORK_ERROR_SCHEMAS = ("HTTPValidationError", "ValidationError")
SCHEMA_REFERENCE = "#/components/schemas/{model}"
PAGE_SCHEMA_PREFIX = "Page_"  # of the names that the framework gives to pages

TOKEN_REQUIRED: list[dict[str, list[str]]] = [
    {"HTTPBearer": []}
]  # as `security` of a route; where a token is optional, it has another entry
READ_BY_ANY_TOKEN = frozenset({"get_me", "get_my_data", "get_tokens"})
ALLOWED_IN_ARCHIVED = frozenset({"post_archive", "post_unarchive", "post_copy", "remove_challenge"})

# Descriptions of path parameters, the same on every route.
PATH_PARAMETERS = {
    "slug": "The slug of the challenge.",
    "phase": "The slug of the phase: its name in lower case, with hyphens.",
    "version": "The number of the version, counted from 1: of gold in each phase, of recipes in each challenge.",
    "number": "The number of the switch, counted from 1 in each phase.",
    "submission_id": "The `id` of the submission.",
    "registration_id": "The `id` of the registration.",
    "team_id": "The `id` of the team.",
    "invitation_id": "The `id` of the invitation.",
    "import_id": "The `id` of the import.",
    "user_id": "The `id` of the user.",
    "announcement_id": "The `id` of the announcement.",
    "file_name": "The `name` of the file.",
    "token_id": "The `id` of the token. The text of a token begins with `assay_<id>`.",
    "entry_id": "The `id` of the entry of the audit trail.",
    "record_id": "The `id` of the record, as the list of the records has it.",
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
    for path, method, operation in _operations(document):
        _correct_responses(operation)
        _add_refusals_of_tokens_and_cursors(operation)
        _add_redirect(operation)
        _add_refusal_of_archived(path, method, operation)
        _describe_path_parameters(operation)
    corrected: dict[str, Any] = restore_nulls(document)
    return corrected


def serialize_document(document: dict[str, Any]) -> str:
    """The document as stored in docs/openapi.json."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


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


def _add_errors(operation: dict[str, Any], *kinds: type[AssayError]) -> None:
    """Document errors beside those that the route names, each with its example."""
    for kind in kinds:
        example = error_responses(kind)[kind.status]["content"][MEDIA_TYPE]["examples"][kind.code]
        empty = {"description": "", "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA, "examples": {}}}}
        response = operation["responses"].setdefault(str(kind.status), empty)
        examples = response["content"][MEDIA_TYPE]["examples"]
        if kind.code not in examples:
            response["description"] = f"{response['description']} `{kind.code}`: {example['summary']}".lstrip()
            examples[kind.code] = example


def _add_refusals_of_tokens_and_cursors(operation: dict[str, Any]) -> None:
    """A token may lack a scope that the route needs; a cursor may be of another list."""
    if operation.get("security") == TOKEN_REQUIRED and operation["operationId"] not in READ_BY_ANY_TOKEN:
        _add_errors(operation, InsufficientScope)
    if any(parameter["name"] == "cursor" for parameter in operation.get("parameters", [])):
        _add_errors(operation, BadCursor)


def _add_redirect(operation: dict[str, Any]) -> None:
    """Every route below a challenge redirects a former slug, if the caller may see what had it."""
    if any(parameter["name"] == "slug" for parameter in operation.get("parameters", [])):
        response = error_responses(Renamed)[308]
        operation["responses"]["308"] = response


def _add_refusal_of_archived(path: str, method: str, operation: dict[str, Any]) -> None:
    """Every route that changes something in a challenge refuses to while the challenge is archived."""
    within = path.startswith(("/api/v1/challenges/{slug}", "/api/v1/submissions/{submission_id}"))
    if method == "get" or not within or operation["operationId"] in ALLOWED_IN_ARCHIVED:
        return
    _add_errors(operation, ChallengeArchived)


def _correct_responses(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "422" in responses and MEDIA_TYPE not in responses["422"].get("content", {}):
        del responses["422"]  # This service answers invalid parameters with 400.
    media = operation.get("requestBody", {}).get("content", {})
    if set(media) == {"application/json"}:
        _add_errors(operation, InvalidRequest, TooLarge, UnsupportedMedia)
    for response in responses.values():
        if MEDIA_TYPE in response.get("content", {}):
            response["content"].pop("application/json", None)
