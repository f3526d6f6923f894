"""The shapes of files of labels as msgspec reads them fastest."""

import msgspec


class Record(msgspec.Struct, gc=False):
    """A record as msgspec reads it fastest."""

    id: str
    label: str


class Records(msgspec.Struct):
    """A file of records."""

    predictions: list[Record]


class Columns(msgspec.Struct):
    """A file of columns."""

    ids: list[str]
    labels: list[str]
