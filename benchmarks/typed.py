"""Files of labels in the form that msgspec reads fastest."""

import msgspec


class Record(msgspec.Struct, gc=False):
    """A record in the form that msgspec reads fastest."""

    id: str
    label: str


class Records(msgspec.Struct):
    """A file of records."""

    predictions: list[Record]


class Columns(msgspec.Struct):
    """A file of columns."""

    ids: list[str]
    labels: list[str]
