"""Field types and base classes that requests and replies share."""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from app.api.openapi.examples import mark_nulls
from app.store.types import format_timestamp
from app.text.confusable_names import name_key
from app.text.email_addresses import normalize_email
from app.text.given_times import FORMS, GivenTime, parse_time

_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f]")

# Zero-width and direction-changing characters, with which one name can look like another.
INVISIBLE_CHARACTERS = frozenset(
    "\xad\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)

# The Unicode property Bidi_Control.
BIDI_CONTROL_CHARACTERS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

MAX_LABEL_CHARACTERS = 1000
MAX_COUNT = 2**53
MAX_MARKS_IN_A_ROW = 4  # as in section 5.4 of UTS #39

JSON = dict[str, Any]
Item = TypeVar("Item")


def _integer_to_text(value: Any) -> Any:
    """Accept an integer label as its decimal text, as in files."""
    return str(value) if type(value) is int else value


def _require_no_control_characters(text: str) -> str:
    if _CONTROL_CHARACTER.search(text):
        raise ValueError("must not contain control characters")
    return text


def _require_one_line(text: str) -> str:
    """Require text for one line, such as a cell of a board, without characters that reorder the text around it."""
    for position, char in enumerate(text, 1):
        if unicodedata.category(char) in {"Cc", "Zl", "Zp"} or char in BIDI_CONTROL_CHARACTERS:
            fault = f"U+{ord(char):04X} ({unicodedata.name(char, 'a control character')}) is at character {position}"
            raise ValueError(f"must be one line without control characters; {fault}")
    return text


def require_file_name(name: str) -> str:
    """The name in NFC, if it is that of one file in any folder: no path, not hidden, one visible line."""
    if "/" in name or "\\" in name:
        raise ValueError("must be the name of a file, without a folder")
    if name.startswith(".") or name != name.strip():
        raise ValueError("must neither begin with a full stop nor begin or end with a space")
    return _normalize_nfc(_require_visible(_require_one_line(name)))


def require_contact(text: str) -> str:
    """The contact of a challenge, if it is an e-mail address or a web address."""
    text = _require_visible(_require_one_line(text.strip()))
    is_address = re.fullmatch(r"[^@\s<>\"]+@[^@\s<>\"]+\.[^@\s<>\"]+", text) is not None
    if not is_address and re.fullmatch(r"https?://[^\s/<>\"]+(/[^\s<>\"]*)?", text) is None:
        raise ValueError(
            "must be an e-mail address such as ada@example.org, or a web address that begins with https://"
        )
    return text


def require_plain_json(value: Any) -> Any:
    """The JSON value, if none of its strings contains control characters."""
    if isinstance(value, str):
        return _require_no_control_characters(value)
    if isinstance(value, dict):
        return {_require_no_control_characters(key): require_plain_json(item) for key, item in value.items()}
    return [require_plain_json(item) for item in value] if isinstance(value, list) else value


def _require_visible(text: str) -> str:
    if not any(char.isprintable() for char in name_key(text)):
        raise ValueError("must not be blank")
    if any(char in INVISIBLE_CHARACTERS for char in text):
        raise ValueError("must not contain invisible or direction-changing characters")
    if max(_mark_runs(text), default=0) > MAX_MARKS_IN_A_ROW:
        raise ValueError(f"must not have more than {MAX_MARKS_IN_A_ROW} combining marks on one character")
    return text


def _mark_runs(text: str) -> list[int]:
    """The lengths of the runs of combining marks, which cover the lines above and below if there are many."""
    marks = (unicodedata.category(char) in {"Mn", "Me"} for char in unicodedata.normalize("NFD", text))
    return [sum(1 for _ in run) for is_mark, run in groupby(marks) if is_mark]


def limit_invalid_values(valid: Callable[[Any], bool]) -> BeforeValidator:
    """A validator that runs first: it reports a list or object with many invalid values as one fault, not thousands."""

    def check(value: Any) -> Any:
        if isinstance(value, dict):
            wrong = sum(not (is_label(key) and valid(item)) for key, item in value.items())
        else:
            wrong = sum(not valid(item) for item in value) if isinstance(value, list) else 0
        if wrong > 20:
            raise ValueError(f"{wrong} of its values are invalid")
        return value

    return BeforeValidator(check)


def is_label(value: Any) -> bool:
    """Whether a value can be a label: text, or an integer that stands for its decimal text."""
    return type(value) is int or (
        type(value) is str and 0 < len(value) <= MAX_LABEL_CHARACTERS and _CONTROL_CHARACTER.search(value) is None
    )


def is_count(value: Any) -> bool:
    """Whether a value can be a training frequency."""
    return type(value) is int and 0 <= value <= MAX_COUNT


def is_weight(value: Any) -> bool:
    """Whether a value can be a class weight."""
    return type(value) in {int, float} and value >= 0


def _require_text(value: Any) -> Any:
    if not isinstance(value, (str, datetime)):
        raise ValueError("must be a string such as 2027-01-31T12:00:00Z")  # noqa: TRY004 - pydantic expects ValueError
    return value


def _to_utc(moment: datetime) -> datetime:
    """The time in UTC, which times at either end of the calendar do not have."""
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is outside the years 1 to 9999") from error


def _normalize_nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


Text = Annotated[str, AfterValidator(_require_no_control_characters)]
InvitationCode = Annotated[  # pasted, perhaps with the space around it
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^\S+$"),
    Field(examples=["q9Zs4kTnX2mVb7RwLd0HpYcE"]),
]
SingleLineText = Annotated[str, AfterValidator(_require_one_line)]
Name = Annotated[
    str, Field(min_length=1, max_length=200), AfterValidator(_require_one_line), AfterValidator(_require_visible)
]
Reason = Annotated[
    str,
    Field(min_length=1, max_length=2000),
    AfterValidator(_require_no_control_characters),
    AfterValidator(_require_visible),
]
TeamName = Annotated[Name, Field(max_length=100)]
SLUG_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
EMAIL_PATTERN = r"^[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+$"
LINK_PATTERN = r"^https?://\S+$"
Slug = Annotated[str, Field(pattern=SLUG_PATTERN, examples=["digits"])]
# Labels are compared in Unicode NFC, so they are stored in it.
Label = Annotated[
    str,
    BeforeValidator(_integer_to_text),
    Field(min_length=1, max_length=MAX_LABEL_CHARACTERS),
    AfterValidator(_require_no_control_characters),
    AfterValidator(_normalize_nfc),
]
# An address to log in with or to look up, in any form that may be stored.
Email = Annotated[str, Field(pattern=EMAIL_PATTERN, max_length=320, examples=["ada@example.org"])]
# The address of a new account, normalized.
NewEmail = Annotated[Email, AfterValidator(normalize_email)]
Moment = Annotated[
    AwareDatetime,
    BeforeValidator(_require_text),
    AfterValidator(_to_utc),
    PlainSerializer(format_timestamp, when_used="json"),
]


def _parse_given_time(value: Any) -> GivenTime:
    if not isinstance(value, str) or len(value) > 64:
        raise ValueError(f"must be a string such as {FORMS}")
    given = parse_time(value)
    return _to_utc(given) if isinstance(given, datetime) else given


GivenMoment = Annotated[
    Any,
    PlainValidator(_parse_given_time),
    WithJsonSchema(
        {
            "type": "string",
            "description": "RFC 3339, a local time of the challenge's time zone, or a date anywhere on Earth.",
            "examples": ["2027-03-01T00:00:00Z", "2027-03-01T12:00", "2027-03-01 AoE"],
        }
    ),
]
"""A time as organizers write it; the time zone of the challenge turns it into an instant."""


class Body(BaseModel):
    """The base of request bodies. Unknown fields are refused: they are usually misspelled."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="before")
    @classmethod
    def _limit_unknown_fields(cls, value: Any) -> Any:
        """Report a flood of unknown fields as one fault."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + 20:
            raise ValueError(
                f"has {len(value)} fields; there are {len(cls.model_fields)}: {', '.join(cls.model_fields)}"
            )
        return value


def request_example(**fields: Any) -> ConfigDict:
    """The configuration of a request body with one example."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


def reply_example(reply: JSON) -> ConfigDict:
    """The configuration of a reply with one example."""
    return ConfigDict(from_attributes=True, json_schema_extra={"examples": [mark_nulls(reply)]})


class Shape(BaseModel):
    """The base of replies."""

    model_config = ConfigDict(from_attributes=True)


class TeamReferenceShape(Shape):
    """A team by id and name."""

    id: str
    name: str


class Page(BaseModel, Generic[Item]):
    """A page of a list, with the cursor of the next page."""

    items: list[Item]
    next: str | None = Field(description="Pass it as `cursor` to get the next page. Null on the last page.")
