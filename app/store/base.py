"""Base class of the tables, with the naming of constraints and the types of columns."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, CheckConstraint, MetaData, String, Table
from sqlalchemy.orm import DeclarativeBase

from app.store.types import UTCDateTime

CONSTRAINT_NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

ID = String(32)
JSONObject = dict[str, Any]


class Base(DeclarativeBase):
    """Base class of all tables."""

    __table__: ClassVar[Table]
    metadata = MetaData(naming_convention=CONSTRAINT_NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it from the class
        datetime: UTCDateTime,
        JSONObject: JSON(none_as_null=True),
        list[str]: JSON(none_as_null=True),
        list[Any]: JSON(none_as_null=True),
    }


def one_of_check(column: str, *values: str) -> CheckConstraint:
    """A check constraint that limits a text column to these values."""
    quoted_values = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({quoted_values})", name=column)
