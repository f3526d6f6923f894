"""Errors as RFC 9457 problem documents: those of the service, those of the framework, and unexpected ones."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from app import errors
from app.api.openapi.examples import JSON, named_examples
from app.errors import AssayError
from app.scoring_processes import (
    CpuLimitExceeded,
    GoldCpuLimitExceeded,
    MemoryLimitExceeded,
    ScoringProcessAborted,
    ScoringProcessError,
    ScoringProcessesBusy,
    ScoringProcessStalled,
    ScoringTimeout,
)

log = structlog.get_logger()

MAX_FAULTS = 100  # listed in one reply; a request with more is not an honest mistake
MAX_PATH_CHARACTERS = 200  # of an unknown path that a reply repeats
MEDIA_TYPE = "application/problem+json"
PROBLEM_CODE_KEY = "assay.problem"  # the key in the ASGI scope of the error code that answered a request
WWW_AUTHENTICATE_HEADER = {"WWW-Authenticate": 'Bearer realm="assay"'}


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="RFC 6901 pointer into the body, or the parameter's name.", examples=["/slug"])
    detail: str = Field(description="What is wrong there.", examples=["String should match pattern '^[a-z0-9]'"])


class Problem(BaseModel):
    """What went wrong, where, and how to fix it."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:assay:problem:not_found"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    code: str = Field(description="A stable code, for programs.", examples=["not_found"])
    detail: str = Field(description="What happened, for people.", examples=["There is nothing here that you may see."])
    remedy: str = Field(description="How to fix it.", examples=["Check the address."])
    errors: list[Fault] | None = Field(None, description="Every fault of the request, if they can be listed.")


class AssayHTTPException(HTTPException):
    """Wraps an AssayError: while reading a body, the framework lets only HTTP exceptions through."""

    def __init__(self, error: AssayError) -> None:
        super().__init__(error.status, error.detail)
        self.error = error


class ProblemResponse(JSONResponse):
    """A problem document. It stores its code in the ASGI scope, for the log line and the metrics."""

    media_type = MEDIA_TYPE
    code = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the document."""
        scope[PROBLEM_CODE_KEY] = self.code
        await super().__call__(scope, receive, send)


def problem_response(error: AssayError) -> ProblemResponse:
    """The problem document of an error."""
    headers = dict(error.headers)
    if error.status == 401:
        headers = WWW_AUTHENTICATE_HEADER | headers
    extra = {name: value for name, value in error.extra.items() if value is not None}
    body = _problem_document(error, error.detail, error.advice) | extra
    response = ProblemResponse(body, status_code=error.status, headers=headers)
    response.code = error.code
    return response


def error_response(error: AssayError, scope: Scope) -> ProblemResponse:
    """The problem document of an error that answers the request of this scope."""
    response = problem_response(error)
    if isinstance(error, errors.Renamed):
        response.headers["Location"] = renamed_location(error, scope, first=4)
    return response


def renamed_location(error: errors.Renamed, scope: Scope, *, first: int) -> str:
    """The address of the request with the slug that takes the place of the former one.

    `first` is the index of the challenge's slug among the segments of the path, such as 4 in /api/v1/challenges/{slug}.
    The address names no host, because the Host header of a request may be anything.
    """
    segments: list[str] = scope["path"].split("/")  # …/challenges/{slug}/phases/{phase}/…
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if error.challenge is not None:
        segments[first] = error.challenge
    elif len(segments) > first + 2 and segments[first + 1] == "phases":
        segments[first + 2] = str(error.phase)
    else:
        query = [(name, str(error.phase) if name == "phase" else value) for name, value in query]
    return "/".join(quote(segment, safe="") for segment in segments) + (f"?{urlencode(query)}" if query else "")


def _problem_document(error: AssayError | type[AssayError], detail: str, remedy: str) -> dict[str, Any]:
    return {
        "type": f"urn:assay:problem:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": error.status,
        "code": error.code,
        "detail": detail,
        "remedy": remedy,
    }


def error_responses(*kinds: type[AssayError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these errors, each with its own example."""
    responses: dict[int | str, dict[str, Any]] = {}
    for kind in (*kinds, *COMMON_ERRORS):
        empty = {"description": "", "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA, "examples": {}}}}
        response = responses.setdefault(kind.status, empty)
        summary = " ".join((kind.__doc__ or "").split())
        example = {"summary": summary, "value": _problem_document(kind, summary, kind.remedy)}
        response["description"] = f"{response['description']} `{kind.code}`: {summary}".lstrip()
        response["content"][MEDIA_TYPE]["examples"][kind.code] = example
    return responses


def success_response(description: str, examples: Mapping[str, JSON]) -> dict[int | str, JSON]:
    """The `responses` of a reply with these examples for each media type, by name."""
    structured = {"application/json", "text/event-stream"}  # an event is an object of its fields
    content = {
        media: {"schema": {} if media in structured else {"type": "string"}, "examples": shown}
        for media, shown in examples.items()
    }
    return {200: {"description": description, "content": content}}


def json_examples(**values: JSON) -> JSON:
    """The part of a `responses` entry for JSON with examples other than those of its model."""
    return {"content": {"application/json": {"examples": named_examples(**values)}}}


# In the document of a route that visitors may use: a token is optional.
TOKEN_OPTIONAL: dict[str, Any] = {"security": [{}]}

PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}
COMMON_ERRORS: Sequence[type[AssayError]] = (
    errors.Unauthorized,
    errors.BadRequest,
    errors.TooManyRequests,
    errors.DatabaseUnavailable,
)


HANDLED: Sequence[type[Exception]] = (
    AssayError,
    ScoringProcessError,
    RequestValidationError,
    HTTPException,
    FileNotFoundError,
)
"""The exceptions of routes that `error_of` turns into an error of the service; every other one is unexpected."""


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of the app with a problem document."""
    for kind in HANDLED:
        app.add_exception_handler(kind, _handle)


async def _handle(request: Request, error: Exception) -> Response:
    return error_response(error_of(error, request.url.path), request.scope)


def error_of(error: Exception, path: str) -> AssayError:
    """The error of the service that an exception of a route at this path stands for."""
    if isinstance(error, AssayError):
        return error
    if isinstance(error, RequestValidationError):
        return _validation_error(error)
    if isinstance(error, HTTPException):
        return _http_error(error, path)
    if isinstance(error, FileNotFoundError):  # a stored file: its disk is unavailable, or it has just been deleted
        log.error("file_away", file=str(error))
        return errors.StoredFileUnavailable()
    assert isinstance(error, ScoringProcessError)
    return _reader_error(error)


def _reader_error(error: Exception) -> AssayError:
    """The reply if a process could not finish reading while a client waits for gold, a dry run, template or report.

    Exceeding CPU time or memory is the fault of the file. A timeout or a standstill is due to the load of the machine.
    """
    if isinstance(error, CpuLimitExceeded | GoldCpuLimitExceeded | MemoryLimitExceeded):
        detail = f"Reading this file exceeded the limit: {str(error) or error.__doc__}"
        setting = "ASSAY_SCORING_MEMORY" if isinstance(error, MemoryLimitExceeded) else "ASSAY_SCORING_CPU"
        return errors.TooLarge(detail, remedy=f"Send a smaller file, or ask the administrator to raise {setting}.")
    if isinstance(error, ScoringTimeout | ScoringProcessStalled):
        return errors.Unavailable(
            f"Reading did not end in time, as the service is busy or was suspended ({error}); nothing was stored.",
            remedy="Repeat the request after the time in Retry-After. If it fails again, send a smaller file.",
            headers={"Retry-After": "30"},
        )
    if isinstance(error, ScoringProcessesBusy):
        return errors.Unavailable("Too many files are being read at this moment; nothing was stored.")
    if isinstance(error, ScoringProcessAborted):
        return errors.InvalidContent(
            "The process that reads files crashed on this one; nothing was stored.",
            remedy="Write the file again with a current library, or in another format.",
        )
    return errors.Unavailable("The process that reads files stopped; nothing was stored.")


def _validation_error(error: RequestValidationError) -> AssayError:
    """Invalid parameters are a bad request (400), invalid bodies an invalid one (422).

    The reply does not echo values, because JSON may be unable to represent them.
    """
    details = error.errors()[:MAX_FAULTS]
    faults = [{"pointer": _json_pointer(fault["loc"]), "detail": fault_detail(fault)} for fault in details]
    details_text = "; ".join(f"{fault['pointer'] or 'body'}: {fault['detail']}" for fault in faults[:5])
    if all(fault["loc"][0] == "body" for fault in details):
        return errors.InvalidRequest(f"The request body is not valid: {details_text}.", errors=faults)
    return errors.BadRequest(f"The request is not valid: {details_text}.", errors=faults)


def _json_pointer(location: Sequence[Any]) -> str:
    where, *rest = location
    if where != "body":
        return "/".join(str(part) for part in rest) or str(where)
    if len(rest) == 1 and isinstance(rest[0], int):
        return ""  # The body is not JSON, so no part of it can be named.
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in rest)


def fault_detail(fault: dict[str, Any]) -> str:
    """What is wrong with a value, given an error of pydantic."""
    if fault["type"] == "json_invalid":
        return f"not JSON at character {fault['loc'][-1]}: {fault['ctx']['error']}"
    if fault["type"] == "extra_forbidden":
        return "there is no such field; correct or remove it"
    if fault["type"] == "too_long" and isinstance(fault["input"], str):  # pydantic would call the characters items
        return f"has {len(fault['input'])} characters; at most {fault['ctx']['max_length']} are allowed"
    message: str = fault["msg"]
    return message.removeprefix("Value error, ")


class NoSuchRoute(errors.NotFound):
    """This service has no such path."""

    code = "no_such_route"
    remedy = "See /docs for all paths; those of the API begin with /api/v1."


class MethodNotAllowed(AssayError):
    """This path does not support that method."""

    status = 405
    code = "method_not_allowed"
    remedy = "See /docs for the methods of this path."


def _http_error(error: HTTPException, path: str) -> AssayError:
    if isinstance(error, AssayHTTPException):
        return error.error
    if error.status_code == 404:
        return NoSuchRoute(f"This service has no path '{path[:MAX_PATH_CHARACTERS]}'.")
    if error.status_code == 405:
        return MethodNotAllowed(headers=error.headers)
    return errors.BadRequest(str(error.detail))
