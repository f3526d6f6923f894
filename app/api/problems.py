"""Errors as RFC 9457 problem documents: one handler for ours, the framework's and the unforeseen."""

from collections.abc import Mapping, Sequence
from typing import Any

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

MAX_FAULTS = 100  # an answer lists no more; who sends more made them on purpose
MAX_PATH_CHARACTERS = 200  # characters of an unknown address that an answer repeats
MEDIA_TYPE = "application/problem+json"
PROBLEM_CODE_KEY = "assay.problem"  # in the scope of a request: the code of the problem that answered it
WWW_AUTHENTICATE_HEADER = {"WWW-Authenticate": 'Bearer realm="assay"'}


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    pointer: str = Field(description="RFC 6901 pointer into the body, or the parameter's name.", examples=["/slug"])
    detail: str = Field(description="What is wrong there.", examples=["String should match pattern '^[a-z0-9]'"])


class Problem(BaseModel):
    """What went wrong, where, and how to mend it."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["urn:assay:problem:not_found"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    code: str = Field(description="Stable, for programs.", examples=["not_found"])
    detail: str = Field(description="For people.", examples=["There is nothing here that you may see."])
    remedy: str = Field(description="How to mend it.", examples=["Check the address."])
    errors: list[Fault] | None = Field(None, description="Each fault of the request, where there are several.")


class AssayHTTPException(HTTPException):
    """One of our errors, in the only wrapping that the framework lets through while it reads a body."""

    def __init__(self, error: AssayError) -> None:
        super().__init__(error.status, error.detail)
        self.error = error


class ProblemResponse(JSONResponse):
    """A problem document on its way out; it leaves its code in the scope, for the log line and the figures."""

    media_type = MEDIA_TYPE
    code = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        scope[PROBLEM_CODE_KEY] = self.code
        await super().__call__(scope, receive, send)


def problem_response(error: AssayError) -> ProblemResponse:
    """The problem document of an error."""
    headers = dict(error.headers)
    if error.status == 401:
        headers = WWW_AUTHENTICATE_HEADER | headers
    body = {
        "type": f"urn:assay:problem:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": error.status,
        "code": error.code,
        "detail": error.detail,
        "remedy": error.advice,
        **{name: value for name, value in error.extra.items() if value is not None},
    }
    response = ProblemResponse(body, status_code=error.status, headers=headers)
    response.code = error.code
    return response


def error_responses(*kinds: type[AssayError]) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these errors, each with an example of its own."""
    responses: dict[int | str, dict[str, Any]] = {}
    for kind in (*kinds, *COMMON_ERRORS):
        content = responses.setdefault(
            kind.status,
            {"description": "", "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA, "examples": {}}}},
        )
        summary = " ".join((kind.__doc__ or "").split())
        content["description"] = " ".join(filter(None, [content["description"], f"`{kind.code}`: {summary}"]))
        content["content"][MEDIA_TYPE]["examples"][kind.code] = {"summary": summary, "value": _problem_example(kind)}
    return responses


def success_response(description: str, examples: Mapping[str, JSON]) -> dict[int | str, JSON]:
    """The `responses` entry of an answer in other media types than JSON: named examples of each."""
    content = {
        media: {"schema": {} if media == "application/json" else {"type": "string"}, "examples": shown}
        for media, shown in examples.items()
    }
    return {200: {"description": description, "content": content}}


def json_examples(**values: JSON) -> JSON:
    """The part of a `responses` entry for JSON whose examples are others than that of its model."""
    return {"content": {"application/json": {"examples": named_examples(**values)}}}


# For the document of a route that visitors may use too: a token is one way to ask, none is the other.
TOKEN_OPTIONAL: dict[str, Any] = {"security": [{}]}

PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}
COMMON_ERRORS: Sequence[type[AssayError]] = (
    errors.Unauthorized,
    errors.BadRequest,
    errors.TooManyRequests,
    errors.DatabaseUnavailable,
)


def _problem_example(kind: type[AssayError]) -> dict[str, Any]:
    return {
        "type": f"urn:assay:problem:{kind.code}",
        "title": kind.code.replace("_", " ").capitalize(),
        "status": kind.status,
        "code": kind.code,
        "detail": " ".join((kind.__doc__ or "").split()),
        "remedy": kind.remedy,
    }


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of the app with a problem document."""
    app.add_exception_handler(AssayError, _handle_assay_error)
    app.add_exception_handler(ScoringProcessError, _handle_child_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(FileNotFoundError, _handle_missing_file)


async def _handle_assay_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    return problem_response(error)


async def _handle_child_error(_request: Request, error: Exception) -> Response:
    """A file that the reader could not finish while the caller waits: at upload of gold, dry run or template.

    CPU time and memory are the file's own; a limit by the clock, or a standstill, is the load of this machine.
    """
    if isinstance(error, CpuLimitExceeded | GoldCpuLimitExceeded | MemoryLimitExceeded):
        return problem_response(
            errors.TooLarge(
                f"Reading this file exceeded the limit: {str(error) or error.__doc__}", remedy="Send a smaller file."
            )
        )
    if isinstance(error, ScoringTimeout | ScoringProcessStalled):
        return problem_response(
            errors.Unavailable(
                f"Reading did not end in time, as the service is busy or stood still ({error}); nothing was stored.",
                remedy="Repeat the request after the time in Retry-After; if it ends so again, send a smaller file.",
                headers={"Retry-After": "30"},
            )
        )
    if isinstance(error, ScoringProcessesBusy):
        return problem_response(errors.Unavailable("Too many files are being read at this moment; nothing was stored."))
    if isinstance(error, ScoringProcessAborted):
        return problem_response(
            errors.InvalidContent(
                "The program that reads files broke off at this one; nothing was stored.",
                remedy="Write the file again with a current library, or in another format.",
            )
        )
    return problem_response(errors.Unavailable("The reader of files stopped; nothing was stored."))


async def _handle_validation_error(_request: Request, error: Exception) -> Response:
    """Parameters are 400, bodies 422; what was sent is not echoed, for it need not be representable."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    places = [tuple(fault["loc"]) for fault in found[:MAX_FAULTS]]
    faults = [
        {"pointer": _json_pointer(place), "detail": _fault_detail(place, fault)}
        for place, fault in zip(places, found, strict=False)
    ]
    listed = "; ".join(f"{fault['pointer'] or 'body'}: {fault['detail']}" for fault in faults[:5])
    if all(place[0] == "body" for place in places):
        return problem_response(errors.InvalidRequest(f"The request body is not valid: {listed}.", errors=faults))
    return problem_response(errors.BadRequest(f"The request is not valid: {listed}.", errors=faults))


def _json_pointer(place: tuple[Any, ...]) -> str:
    where, *rest = place
    if where != "body":
        return "/".join(str(part) for part in rest) or str(where)
    if len(rest) == 1 and isinstance(rest[0], int):
        return ""  # the body is not JSON: there is nothing to point into
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in rest)


def _fault_detail(place: tuple[Any, ...], fault: dict[str, Any]) -> str:
    if fault["type"] == "json_invalid":
        return f"not JSON at character {place[-1]}: {fault['ctx']['error']}"
    if fault["type"] == "extra_forbidden":
        return "there is no such field; correct or remove it"
    if fault["type"] == "too_long" and isinstance(fault["input"], str):  # the framework calls characters items
        return f"has {len(fault['input'])} characters; at most {fault['ctx']['max_length']} are allowed"
    message: str = fault["msg"]
    return message.removeprefix("Value error, ")


class NoSuchRoute(errors.NotFound):
    """This service has no such address."""

    code = "no_such_route"
    remedy = "See /docs for every address; those of the API begin with /api/v1."


class MethodNotAllowed(AssayError):
    """This address does not answer that method."""

    status = 405
    code = "method_not_allowed"
    remedy = "See /docs for the methods of this address."


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error, AssayHTTPException):
        return problem_response(error.error)
    if error.status_code == 404:
        return problem_response(NoSuchRoute(f"This service has no address '{request.url.path[:MAX_PATH_CHARACTERS]}'."))
    if error.status_code == 405:
        return problem_response(MethodNotAllowed(headers=error.headers))
    return problem_response(errors.BadRequest(str(error.detail)))


async def _handle_missing_file(_request: Request, error: Exception) -> Response:
    """A stored file that its row names and that is not there: its disk is away, or it was deleted this very moment."""
    log.error("file_away", file=str(error))
    return problem_response(errors.StoredFileUnavailable())


def internal_error_response(path: str, error: Exception) -> ProblemResponse:
    """The answer to a fault of ours; what happened is in the log."""
    log.error("unforeseen_error", path=path, exc_info=error)
    return problem_response(AssayError())
