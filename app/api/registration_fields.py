"""The fields of a challenge that say what a user states at registration."""

from typing import Annotated

from pydantic import AfterValidator, Field

from app.api.field_types import Body, SingleLineText, Text, request_example


class RegistrationField(Body):
    """Something that the organizers ask for at registration."""

    model_config = request_example(name="affiliation", label="University or company", required=True)

    name: str = Field(pattern="^[a-z][a-z0-9_-]{0,63}$")
    label: SingleLineText = Field(min_length=1, max_length=200)
    required: bool = False


def _require_distinct(fields: list[RegistrationField]) -> list[RegistrationField]:
    names = [field.name for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"several fields are called {', '.join(twice)}")
    return fields


RegistrationFields = Annotated[
    list[RegistrationField],
    AfterValidator(_require_distinct),
    Field(max_length=20, description="What the organizers ask for at registration, such as an affiliation."),
]
Terms = Annotated[
    Text | None,
    Field(
        min_length=1,
        max_length=100_000,
        description="What users accept when they register. Another text makes a new version, which registered users accept "
        "when they want or when they register again; registrations say who accepted which. Default: no terms.",
    ),
]
