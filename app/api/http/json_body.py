"""Strict JSON request bodies: limited in size and nesting, without duplicate keys, NaN or lone surrogates."""

import json
import math
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from app.api.dependencies import AppState, app_state, require_request_organizer
from app.api.http.form_file import is_form
from app.api.http.problem_documents import AssayHTTPException
from app.api.http.uploads import file_chunks, open_form_file
from app.api.limits.body_memory import body_memory_error
from app.api.limits.client_addresses import client_address_block
from app.api.limits.request_limits import COUNTED_PART_BYTES, UNCOUNTED_BODY_BYTES
from app.errors import AssayError, BadRequest, TooLarge, TooManyRequests, TooSlow, UnsupportedMedia
from app.formats import GENERIC_MEDIA_TYPES

LARGE_BODY_BYTES = 1 << 14  # Larger bodies are parsed in a thread.
MAX_NESTING = 32  # levels of lists and objects


class JsonBodyRequest(Request):
    """A request whose body is read as strict JSON, within limits of size, memory, speed and rate."""

    size_setting = "ASSAY_MAX_JSON_BODY"
    """Sets `max_body_bytes`."""
    accepts_forms = False
    """Whether the JSON text may be the file of a form."""

    async def body(self) -> bytes:
        """The complete body, at most `max_body_bytes`; raises AssayHTTPException with the error."""
        if not hasattr(self, "_body"):
            try:
                with self._app_state.json_body_memory.admit_body(client_address_block(self)) as resize:
                    self._body = await self._read_body(resize)
            except (TooSlow, TooManyRequests, BadRequest) as error:
                raise AssayHTTPException(error) from error
        return self._body

    async def _read_body(self, resize: Callable[[int], bool]) -> bytes:
        limit = initial_limit = await self.max_body_bytes(0)
        body = bytearray()
        async for chunk in file_chunks(self, await open_form_file(self) if self.accepts_forms else None):
            # Beyond the initial limit the sender is a known organizer, whose bytes are no longer rate limited.
            cost = _rate_limit_cost(min(len(body) + len(chunk), initial_limit)) - _rate_limit_cost(len(body))
            for _ in range(cost):
                self._app_state.request_limits.count_body(client_address_block(self))
            body += chunk
            if len(body) > limit:
                limit = await self.max_body_bytes(len(body))
            if len(body) > limit:
                remedy = f"Send a smaller body, or ask the administrator to raise {self.size_setting}."
                raise AssayHTTPException(TooLarge(f"The body exceeds {limit} bytes.", remedy=remedy))
            if not resize(len(body)):
                raise body_memory_error()
        return bytes(body)

    @property
    def _app_state(self) -> AppState:
        return app_state(self)

    async def max_body_bytes(self, size: int) -> int:  # noqa: ARG002 - subclasses use it
        """The limit of a body of which `size` bytes have arrived."""
        return self._app_state.settings.max_json_body

    async def json(self) -> Any:
        """The parsed body; raises json.JSONDecodeError."""
        if not hasattr(self, "_json"):
            body = await self.body()
            if len(body) > LARGE_BODY_BYTES:  # in a thread, so that the event loop is not blocked; one at a time
                async with self._app_state.json_parsing_lock.hold(client_address_block(self)):
                    self._json = await run_in_threadpool(parse_strict_json, body)
            else:
                self._json = parse_strict_json(body)
        return self._json


def _rate_limit_cost(size: int) -> int:
    """How many requests a body of this size counts as: none if it is as small as that of a login."""
    return 1 + size // COUNTED_PART_BYTES if size > UNCOUNTED_BODY_BYTES else 0


class JsonBodyRoute(APIRoute):
    """A route that reads its body through JsonBodyRequest, and refuses unknown query parameters."""

    request_class: type[JsonBodyRequest] = JsonBodyRequest

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the framework, called with a strict request."""
        handler = super().get_route_handler()
        parameters = set(_query_parameter_names(self.dependant))

        async def strict(request: Request) -> Response:
            _require_known_parameters(request, parameters)
            if self.body_field is not None and (self.body_field.field_info.is_required() or _has_body(request)):
                request = await self._require_json(request)
            return await handler(self.request_class(request.scope, request.receive))

        return strict

    async def _require_json(self, request: Request) -> Request:
        """The request, whose media type is JSON; raises UnsupportedMedia for any other."""
        _require_json_media_type(request.headers.get("content-type", ""))
        return request


def api_router(
    tag: str, *, prefix: str = "", base: str = "/api/v1", route_class: type[APIRoute] = JsonBodyRoute
) -> APIRouter:
    """A router for one resource of the API. The name of a route is its operation id."""
    return APIRouter(
        prefix=base + prefix, tags=[tag], route_class=route_class, generate_unique_id_function=lambda route: route.name
    )


class GoldMetadataRequest(JsonBodyRequest):
    """A request that may contain a large table: up to ASSAY_MAX_ACCESSORY bytes, if the caller is an organizer."""

    size_setting = "ASSAY_MAX_ACCESSORY"
    accepts_forms = True

    async def max_body_bytes(self, size: int) -> int:
        """The common limit; once `size` exceeds it, the higher limit of organizers, or an error for other callers."""
        organizer_limit = self._app_state.settings.max_accessory
        common_limit = min(organizer_limit, await super().max_body_bytes(size))
        if size <= common_limit:
            return common_limit
        try:
            await require_request_organizer(self)
        except AssayError as error:
            raise AssayHTTPException(error) from error
        return organizer_limit


class GoldMetadataRoute(JsonBodyRoute):
    """A route that reads its body through GoldMetadataRequest; a form with a JSON file is read like that file."""

    request_class = GoldMetadataRequest

    async def _require_json(self, request: Request) -> Request:
        if is_form(request.headers.get("content-type")):  # of which nothing is read before the rights are checked
            await require_request_organizer(request)
        form = await open_form_file(request)
        if form is None:
            return await super()._require_json(request)
        if form.media_type.partition(";")[0].strip().lower() not in GENERIC_MEDIA_TYPES:
            _require_json_media_type(form.media_type)
        if form.encoding:
            raise UnsupportedMedia("Gold metadata cannot be compressed.", remedy="Send the file uncompressed.")
        headers = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
        return Request(
            {**request.scope, "headers": [*headers, (b"content-type", b"application/json")]}, request.receive
        )


def _query_parameter_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_parameter_names(inner)


def _require_known_parameters(request: Request, known: set[str]) -> None:
    """Raise BadRequest for an unknown parameter, which is probably misspelled and would silently have no effect."""
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        accepted = f"This path accepts {', '.join(sorted(known))}." if known else "This path accepts none."
        detail = f"This path has no query parameter '{unknown[0]}'."
        raise BadRequest(detail, remedy=f"Correct or remove it. {accepted}")


def _has_body(request: Request) -> bool:
    """Whether the headers announce a body; a route may do without one."""
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def _require_json_media_type(content_type: str) -> None:
    """Raise UnsupportedMedia unless this is the media type of JSON."""
    media = content_type.partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise UnsupportedMedia(
            f"This path accepts JSON, not '{media or 'a body without a media type'}'.",
            remedy="Send the header 'Content-Type: application/json'.",
        )


def parse_strict_json(body: bytes) -> Any:
    """The value of a JSON text; raises json.JSONDecodeError for anything but strict JSON in UTF-8."""
    try:
        text = body.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_parse_object,
            parse_constant=_reject_constant,
            parse_int=_parse_integer,
            parse_float=_parse_float,
        )
        _require_max_nesting(value)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # raises UnicodeEncodeError for lone surrogates
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as fault:
        raise json.JSONDecodeError("the body is not UTF-8", "", fault.start) from fault
    except UnicodeEncodeError as fault:
        raise json.JSONDecodeError("a string contains a lone surrogate", "", 0) from fault
    except RecursionError as fault:
        raise json.JSONDecodeError("the nesting is too deep", "", 0) from fault
    except ValueError as fault:
        raise json.JSONDecodeError(str(fault), "", 0) from fault
    return value


def _require_max_nesting(value: Any) -> None:
    """Raise ValueError for deeper nesting than any valid body has."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            item
            for container in level
            if isinstance(container, (dict, list))
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    if level:
        raise ValueError("the nesting is too deep")


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has the same key twice")
    return value


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _parse_integer(digits: str) -> int:
    if len(digits) > 30:
        raise ValueError("a number has too many digits")
    return int(digits)


def _parse_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value
