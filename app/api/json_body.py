"""JSON request bodies read strictly: bounded, no duplicate keys, no NaN, no lone surrogates."""

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

from app.api.dependencies import Service, require_sender, service
from app.api.limits.body_memory import no_room
from app.api.limits.client_addresses import block
from app.api.limits.request_limits import BODY_PART, FREE
from app.api.problems import Carrier
from app.api.uploads import steady
from app.errors import AssayError, BadRequest, TooLarge, TooMany, TooSlow, UnsupportedMedia

LARGE = 1 << 14  # bytes of a body
DEEPEST = 32  # levels of lists and objects


class StrictRequest(Request):
    """A request whose JSON means exactly what it says."""

    async def body(self) -> bytes:
        """The whole body, at most ASSAY_MAX_JSON_BODY bytes; raises TooLarge, TooSlow, TooMany."""
        if not hasattr(self, "_body"):
            try:
                with self._parts.json_memory.body(block(self)) as holds:
                    self._body = await self._received(holds)
            except (TooSlow, TooMany) as refused:
                raise Carrier(refused) from refused
        return self._body

    async def _received(self, holds: Callable[[int], bool]) -> bytes:
        settings = self._parts.settings
        limit = common = await self.limit(0)
        body = bytearray()
        async for chunk in steady(self, settings.upload_idle, settings.upload_rate):
            self._count(_parts(min(len(body) + len(chunk), common)) - _parts(len(body)))
            body += chunk
            if len(body) > limit:
                limit = await self.limit(len(body))
            if len(body) > limit:
                raise Carrier(TooLarge(f"A JSON body here has at most {limit} bytes.", remedy="Send less."))
            if not holds(len(body)):
                raise no_room()
        return bytes(body)

    @property
    def _parts(self) -> Service:
        return service(self)

    def _count(self, parts: int) -> None:
        """Count so many parts of a body; raises TooMany."""
        for _ in range(parts):
            self._parts.limiter.body(block(self))

    async def limit(self, size: int) -> int:  # noqa: ARG002 - for those that have several
        """The bytes allowed for a body of which so many have come."""
        return self._parts.settings.max_json_body

    async def json(self) -> Any:
        """The body as JSON; raises json.JSONDecodeError."""
        if not hasattr(self, "_json"):
            body = await self.body()
            if len(body) > LARGE:  # in a thread, so that nobody else waits for it; and one at a time
                async with self._parts.reading_json.of(block(self)):
                    self._json = await run_in_threadpool(strict_json, body)
            else:
                self._json = strict_json(body)
        return self._json


def _parts(size: int) -> int:
    """As how many requests a body of so many bytes counts: not at all where it is as small as a login."""
    return 1 + size // BODY_PART if size > FREE else 0


class StrictRoute(APIRoute):
    """A route that reads its JSON body through StrictRequest."""

    request_class: type[StrictRequest] = StrictRequest

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, with the request exchanged."""
        handler = super().get_route_handler()
        known = set(_query_names(self.dependant))

        async def strict(request: Request) -> Response:
            _require_known(request, known)
            if self.body_field is not None:
                _require_json(request)
            return await handler(self.request_class(request.scope, request.receive))

        return strict


def api_router(
    tag: str, *, prefix: str = "", base: str = "/api/v1", route_class: type[APIRoute] = StrictRoute
) -> APIRouter:
    """A router of one noun of the API; the name of a route is its operation id."""
    return APIRouter(
        prefix=base + prefix, tags=[tag], route_class=route_class, generate_unique_id_function=lambda route: route.name
    )


class AccessoryRequest(StrictRequest):
    """A request that may bring a large table: at most ASSAY_MAX_ACCESSORY bytes, more than others from organizers alone."""

    async def limit(self, size: int) -> int:
        """The bytes allowed for a body of which so many have come; raises what refuses its sender."""
        own = self._parts.settings.max_accessory
        common = min(own, await super().limit(size))
        if size <= common:
            return common
        try:
            await require_sender(self)
        except AssayError as refused:
            raise Carrier(refused) from refused
        return own


class AccessoryRoute(StrictRoute):
    """A route that reads its JSON body through AccessoryRequest."""

    request_class = AccessoryRequest


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def _require_known(request: Request, known: set[str]) -> None:
    """Raise BadRequest for a parameter that would have no effect: it is misspelt, and its sender expects one."""
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        listed = f"It knows {', '.join(sorted(known))}." if known else "It knows none."
        raise BadRequest(
            f"This address has no query parameter '{unknown[0]}'.", remedy=f"Correct or remove it. {listed}"
        )


def _require_json(request: Request) -> None:
    """Raise UnsupportedMedia unless the body is said to be JSON."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise UnsupportedMedia(
            f"This address takes JSON, not '{media or 'a body without a media type'}'.",
            remedy="Send the header 'Content-Type: application/json'.",
        )


def strict_json(body: bytes) -> Any:
    """The value of a JSON text; raises json.JSONDecodeError for anything that is not plain JSON in UTF-8."""
    try:
        text = body.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_fraction
        )
        _require_shallow(value)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as fault:
        raise json.JSONDecodeError("the body is not UTF-8", "", fault.start) from fault
    except UnicodeEncodeError as fault:
        raise json.JSONDecodeError("a string holds half a surrogate pair", "", 0) from fault
    except RecursionError as fault:
        raise json.JSONDecodeError("the nesting is too deep", "", 0) from fault
    except ValueError as fault:
        raise json.JSONDecodeError(str(fault), "", 0) from fault
    return value


def _require_shallow(value: Any) -> None:
    """Raise ValueError for deeper nesting than any body here has."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for each in level
            if isinstance(each, (dict, list))
            for item in (each.values() if isinstance(each, dict) else each)
        ]
    if level:
        raise ValueError("the nesting is too deep")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object names a key twice")
    return found


def _constant(name: str) -> None:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _integer(digits: str) -> int:
    if len(digits) > 30:
        raise ValueError("a number has too many digits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value
