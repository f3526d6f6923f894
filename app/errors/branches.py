"""The branches of the error tree: each has an HTTP status, and all its leaves share it."""

from collections.abc import Mapping
from typing import Any, ClassVar


class AssayError(Exception):
    """Something went wrong."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    remedy: ClassVar[str] = "Try again later; if the problem persists, contact the administrator."

    def __init__(
        self,
        detail: str | None = None,
        *,
        remedy: str | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.detail = detail or " ".join((type(self).__doc__ or "").split())
        self.advice = remedy or self.remedy
        self.headers = dict(headers or {})
        self.extra = extra
        super().__init__(self.detail)


class Renamed(AssayError):
    """This has another slug now, with which Location names it."""

    status = 308
    code = "renamed"
    remedy = "Send the request to the address in Location, with the token only if it is the same service."

    def __init__(self, *, challenge: str | None = None, phase: str | None = None) -> None:
        """`challenge` or `phase` is the slug that takes the place of the former one in the address."""
        super().__init__()
        self.challenge, self.phase = challenge, phase


class Unauthorized(AssayError):
    """A valid token is required."""

    status = 401
    code = "unauthorized"
    remedy = "Send 'Authorization: Bearer <token>'; POST /api/v1/tokens creates a token."


class Forbidden(AssayError):
    """You do not have permission to do this."""

    status = 403
    code = "forbidden"
    remedy = "Ask an organizer of the challenge, or use the token of an account with that permission."


class NotFound(AssayError):
    """There is nothing here that you may see."""

    status = 404
    code = "not_found"
    remedy = "Check the address; if the object exists, it is not visible with this token."


class Gone(AssayError):
    """This was deleted."""

    status = 410
    code = "gone"
    remedy = "It cannot be brought back."


class BadRequest(AssayError):
    """A header or parameter of the request is invalid."""

    status = 400
    code = "bad_request"
    remedy = "Correct the parameter named in the message."


class BadCursor(BadRequest):
    """This cursor does not belong to this list."""

    code = "bad_cursor"
    remedy = "Start from the first page, without ?cursor=."


class Conflict(AssayError):
    """The current state does not allow this."""

    status = 409
    code = "conflict"
    remedy = "Read the object again, then decide what to change."


class TooSlow(AssayError):
    """The request body stopped arriving."""

    status = 408
    code = "too_slow"
    remedy = "Send the request again; an Idempotency-Key makes that safe."


class TooLarge(AssayError):
    """The request body is larger than allowed."""

    status = 413
    code = "too_large"
    remedy = "Compress the file (gzip), or ask the administrator to raise ASSAY_MAX_UPLOAD."


class UnsupportedMedia(AssayError):
    """This media type or content encoding is not supported."""

    status = 415
    code = "unsupported_media_type"
    remedy = "Send application/json, application/x-ndjson or text/csv, plain or with Content-Encoding: gzip."


class InvalidContent(AssayError):
    """The content is not valid."""

    status = 422
    code = "invalid_content"
    remedy = "Correct what the message names, then send it again."


class InvalidRequest(InvalidContent):
    """The request body does not match the documented schema."""

    code = "invalid_request"
    remedy = "Compare the body with the example in /docs; 'errors' lists each fault."


class TooManyRequests(AssayError):
    """Too many requests."""

    status = 429
    code = "rate_limited"
    remedy = "Wait for the time in Retry-After."


class Unavailable(AssayError):
    """The service cannot do this now."""

    status = 503
    code = "unavailable"
    remedy = "Repeat the request after the time in Retry-After; an Idempotency-Key makes that safe."

    def __init__(self, detail: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("headers", {"Retry-After": "5"})
        super().__init__(detail, **kwargs)
