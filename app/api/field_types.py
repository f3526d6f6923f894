"""Field types that several shapes share."""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from app.api.openapi.examples import marked
from app.store.types import moment_text
from app.text.confusable_names import name_key
from app.text.email_addresses import normal_email

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")

# Zero-width and direction-changing signs, with which one name can look like another.
INVISIBLE = frozenset("\u00ad\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # Bidi_Control

LONGEST_LABEL = 1000
LARGEST_COUNT = 2**53

JSON = dict[str, Any]
Item = TypeVar("Item")


def _decimal(value: Any) -> Any:
    """An integer label is taken as its decimal text, as in files."""
    return str(value) if type(value) is int else value


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("must not contain control characters")
    return text


def _one_line(text: str) -> str:
    """A text that is shown in a line of its own, such as a cell of a board: no sign in it may move what stands around it."""
    for at, sign in enumerate(text, 1):
        if unicodedata.category(sign) in {"Cc", "Zl", "Zp"} or sign in BIDIRECTIONAL:
            name = unicodedata.name(sign, "a control character")
            raise ValueError(
                f"must be one line without control characters; U+{ord(sign):04X} ({name}) is at character {at}"
            )
    return text


def plain_json(value: Any) -> Any:
    """A JSON value without control characters in any of its strings."""
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, dict):
        return {_plain(key): plain_json(item) for key, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list) else value


def _not_blank(text: str) -> str:
    if not any(letter.isprintable() for letter in name_key(text)):
        raise ValueError("must not be blank")
    if any(letter in INVISIBLE for letter in text):
        raise ValueError("must not contain invisible or direction-changing characters")
    return text


def bounded(valid: Callable[[Any], bool]) -> BeforeValidator:
    """A check before others: a list or object with many invalid values is one fault, not thousands."""

    def check(value: Any) -> Any:
        if isinstance(value, dict):
            wrong = sum(not (is_label(key) and valid(item)) for key, item in value.items())
        else:
            wrong = sum(not valid(item) for item in value) if isinstance(value, list) else 0
        if wrong > 20:
            msg = f"{wrong} of its values are not valid"
            raise ValueError(msg)
        return value

    return BeforeValidator(check)


def is_label(value: Any) -> bool:
    """Whether a value can be a label: a text, or an integer that stands for its decimal text."""
    return type(value) is int or (
        type(value) is str and 0 < len(value) <= LONGEST_LABEL and _CONTROL.search(value) is None
    )


def is_count(value: Any) -> bool:
    """Whether a value can be a training frequency."""
    return type(value) is int and 0 <= value <= LARGEST_COUNT


def is_weight(value: Any) -> bool:
    """Whether a value can be a class weight."""
    return type(value) in {int, float} and value >= 0


def _is_text(value: Any) -> Any:
    if not isinstance(value, (str, datetime)):
        raise ValueError("must be a text such as 2027-01-31T12:00:00Z")  # noqa: TRY004 - pydantic reads ValueError
    return value


def _representable(moment: datetime) -> datetime:
    """Moments at the ends of the calendar have no UTC form."""
    try:
        return moment.astimezone(UTC)
    except OverflowError as far:
        raise ValueError("lies outside the years 1 to 9999") from far


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


Text = Annotated[str, AfterValidator(_plain)]
Line = Annotated[str, AfterValidator(_one_line)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line), AfterValidator(_not_blank)]
TeamName = Annotated[Name, Field(max_length=100)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", examples=["digits"])]
# Labels are compared in one normal form, so they are stored in it.
Label = Annotated[
    str,
    BeforeValidator(_decimal),
    Field(min_length=1, max_length=LONGEST_LABEL),
    AfterValidator(_plain),
    AfterValidator(_composed),
]
# One to log in with or to look for, as it may be stored.
Email = Annotated[
    str, Field(pattern=r"^[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+$", max_length=320, examples=["ada@example.org"])
]
# Of a new account.
NewEmail = Annotated[Email, AfterValidator(normal_email)]
Moment = Annotated[
    AwareDatetime,
    BeforeValidator(_is_text),
    AfterValidator(_representable),
    PlainSerializer(moment_text, when_used="json"),
]


class Body(BaseModel):
    """A request body: unknown fields are refused, for they are usually misspelt."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="before")
    @classmethod
    def _few_strangers(cls, value: Any) -> Any:
        """Refuse a flood of unknown fields as one fault."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields) + 20:
            msg = f"has {len(value)} fields; there are {len(cls.model_fields)}: {', '.join(cls.model_fields)}"
            raise ValueError(msg)
        return value


def example(**fields: Any) -> ConfigDict:
    """The configuration of a body that shows one example."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


def shown(reply: JSON) -> ConfigDict:
    """The configuration of a reply that shows one example."""
    return ConfigDict(from_attributes=True, json_schema_extra={"examples": [marked(reply)]})


class Shape(BaseModel):
    """A reply."""

    model_config = ConfigDict(from_attributes=True)


class Page(BaseModel, Generic[Item]):
    """Some rows and how to get the next ones."""

    items: list[Item]
    next: str | None = Field(description="Pass it as ?cursor=; null at the end.")
