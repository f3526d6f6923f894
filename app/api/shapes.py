"""Field types that several shapes share."""

import unicodedata
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from app.store.types import moment_text

Item = TypeVar("Item")


def _decimal(value: Any) -> Any:
    """An integer label is taken as its decimal text, as in files."""
    return str(value) if type(value) is int else value


def _plain(text: str) -> str:
    if any(ord(letter) < 32 and letter not in "\n\t" for letter in text):
        raise ValueError("must not contain control characters")
    return text


def plain_json(value: Any) -> Any:
    """A JSON value without control characters in any of its strings."""
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, dict):
        return {_plain(key): plain_json(item) for key, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list) else value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


Text = Annotated[str, AfterValidator(_plain)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain), AfterValidator(_not_blank)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", examples=["digits"])]
# Labels are compared in one normal form, so they are stored in it.
Label = Annotated[
    str,
    BeforeValidator(_decimal),
    Field(min_length=1, max_length=1000),
    AfterValidator(_plain),
    AfterValidator(_composed),
]
Email = Annotated[
    str, Field(pattern=r"^[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+$", max_length=320, examples=["ada@example.org"])
]
Moment = Annotated[
    AwareDatetime,
    PlainSerializer(moment_text, when_used="json"),
]


class Body(BaseModel):
    """A request body: unknown fields are refused, for they are usually misspelt."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


def example(**fields: Any) -> ConfigDict:
    """The configuration of a body that shows one example."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Shape(BaseModel):
    """A reply."""

    model_config = ConfigDict(from_attributes=True)


class Page(BaseModel, Generic[Item]):
    """Some rows and how to get the next ones."""

    items: list[Item]
    next: str | None = Field(description="Pass it as ?cursor=; null at the end.")


JSON = dict[str, Any]
