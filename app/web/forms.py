"""Forms: their fields, the request body that they make, and the faults to show beside the fields."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.api.field_types import EMAIL_PATTERN, LINK_PATTERN, SLUG_PATTERN
from app.api.http.problem_documents import fault_detail
from app.api.reasons import OptionalReason
from app.errors import AssayError, BadRequest
from app.web.remedies import remedy_of

MAX_FIELDS = 5000
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
PART = "part"
# These have a page of their own: the log-in page, the error page.
UNFIXABLE = (errors.Unauthorized, errors.NotFound, errors.Renamed)
PATTERNS = {
    SLUG_PATTERN: "may have a-z, 0-9 and hyphens, at most 63 of them, and begins with a letter or a digit",
    LINK_PATTERN: "must be an address that begins with http:// or https://, without spaces",
    EMAIL_PATTERN: "must be an e-mail address, such as ada@example.org",
}
"""What a value must look like, for the patterns of the requests."""

Model = TypeVar("Model", bound=BaseModel)


class FieldFault(NamedTuple):
    """What is wrong with a form; `name` is the field, or empty if no single field is at fault."""

    name: str
    detail: str
    remedy: str = ""


@dataclass
class Form:
    """The fields of a form as they were sent. Templates show them again beside the faults."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    faults: list[FieldFault] = field(default_factory=list)
    suffix: str = ""
    """What the ids of the fields end with, on a page with several forms."""
    labels: dict[str, str] = field(default_factory=dict)
    """The labels of the fields of a refused form, as its template gives them."""

    def part(self, name: str) -> "Form":
        """This form for one of several on a page, which its hidden field `part` names; empty if another one was sent."""
        if self.value(PART) != name:
            return Form(suffix=f"-{name}")
        return Form(self.fields, self.faults, f"-{name}", self.labels)

    def labelled(self, name: str, label: str) -> str:
        """The label of a field, which the summary of the faults then uses too."""
        if self.faults:
            self.labels.setdefault(name, label)
        return label

    def value(self, name: str, default: str = "") -> str:
        """The last value of a field."""
        return self.fields[name][-1] if name in self.fields else default

    def values(self, name: str) -> list[str]:
        """All values of a field that may be given several times, such as a group of check boxes."""
        return self.fields.get(name, [])

    def has(self, name: str) -> bool:
        """Whether a field was sent, as a checked box is."""
        return name in self.fields

    def text(self, name: str) -> str | None:
        """The value of a field without surrounding space; None if it is empty."""
        return self.value(name).strip() or None

    def reason(self) -> str | None:
        """Why something is done, for the audit trail, under the limits of the API; raises InvalidRequest."""
        try:
            return OptionalReason(reason=self.text("reason")).reason
        except ValidationError as error:
            faults = [{"pointer": "/reason", "detail": _words(dict(fault))} for fault in error.errors()]
            raise errors.InvalidRequest(f"The reason {faults[0]['detail']}.", errors=faults) from None

    def fault_of(self, name: str) -> FieldFault | None:
        """What is wrong with a field, or with a part of it."""
        return next((fault for fault in self.faults if fault.name.partition(".")[0] == name), None)

    def body(self, model: type[Model], /, **values: Any) -> Model:
        """The request body with these values, where empty ones are left out; raises ValidationError.

        The body is that of the API, so pages and API accept the same.
        """
        return model.model_validate({name: value for name, value in values.items() if value is not None})

    def with_fault(self, error: AssayError | ValidationError) -> "Form":
        """This form with the faults of a refusal."""
        return Form(self.fields, _faults(error))


def whole_number(text: str | None) -> int | str | None:
    """The number of a field; any other text stays, so that the validation of the request names it."""
    if text is None:
        return None
    text = text.replace("\N{MINUS SIGN}", "-")
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else text


def parse_form(body: bytes) -> Form:
    """The fields of an application/x-www-form-urlencoded body; raises BadRequest."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:
        raise BadRequest("This is not a form that the pages of this service send.") from None
    form = Form()
    for name, value in pairs:
        if "\0" in value:
            raise BadRequest(f"The field '{name[:50]}' contains the character U+0000.")
        # Browsers send line ends of text areas as CR LF.
        form.fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return form


def _faults(error: AssayError | ValidationError) -> list[FieldFault]:
    if isinstance(error, ValidationError):
        return [FieldFault(_field_name(fault["loc"]), _words(dict(fault))) for fault in error.errors()[:100]]
    listed = error.extra.get("errors") or []
    if isinstance(error, errors.SlugTaken):
        return [FieldFault("slug", "another challenge has or had this address; choose another one")]
    faults = [FieldFault(fault["pointer"].strip("/").replace("/", "."), fault["detail"]) for fault in listed]
    return faults or [FieldFault("", error.detail, remedy_of(error) or "")]


def _words(fault: dict[str, Any]) -> str:
    """What is wrong with the value of a field, in words for whoever filled it in."""
    kind, limits = fault["type"], fault.get("ctx", {})
    if kind == "missing" or (kind in {"string_too_short", "too_short"} and limits.get("min_length") == 1):
        return "is missing"
    said = {
        "string_too_short": f"needs at least {limits.get('min_length')} characters",
        "string_too_long": f"has too many characters; at most {limits.get('max_length')} are allowed",
        "string_pattern_mismatch": PATTERNS.get(limits.get("pattern", ""), "has characters that are not allowed here"),
        "int_type": "must be a whole number, in digits",
        "int_parsing": "must be a whole number, in digits",
        "greater_than_equal": f"must be at least {limits.get('ge')}",
        "less_than_equal": f"must be at most {limits.get('le')}",
    }
    return said.get(kind) or fault_detail(fault)


def _field_name(location: Sequence[Any]) -> str:
    return ".".join(str(part) for part in location)


def attempt(form: Form, act: Callable[[], Response], again: Callable[[Form, int], Response]) -> Response:
    """The reply of `act`, or if it refuses the form, that of `again`: the page with the form, its faults and a status.

    Raises Unauthorized, NotFound and Renamed, which no change of the form can mend.
    """
    try:
        return act()
    except (AssayError, ValidationError) as error:
        return _refusal(form, error, again)


async def attempt_async(
    form: Form, act: Callable[[], Awaitable[Response]], again: Callable[[Form, int], Response]
) -> Response:
    """`attempt` for an asynchronous act."""
    try:
        return await act()
    except (AssayError, ValidationError) as error:
        return await run_in_threadpool(_refusal, form, error, again)


def _refusal(form: Form, error: AssayError | ValidationError, again: Callable[[Form, int], Response]) -> Response:
    """The page again, with the faults; raises the error if no change of the form can mend it."""
    if isinstance(error, UNFIXABLE) and not isinstance(error, errors.WrongPassword):
        raise error
    reply = again(form.with_fault(error), error.status if isinstance(error, AssayError) else 422)
    if isinstance(error, AssayError):
        for name, value in error.headers.items():
            if name.lower() == "retry-after":
                reply.headers[name] = value
    return reply
