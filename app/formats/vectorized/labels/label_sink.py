"""What the readers of the layouts give the texts of a file to."""

from collections.abc import Collection
from typing import Protocol

from app.scoring.string_table import Int, Spans


class LabelSink(Protocol):
    """Takes the texts of a file in its order; each method raises UnsupportedLayout for a text that it does not support.

    The texts come in blocks. Fields with several values per instance come at different times, but each in full.
    """

    counts: list[Int]
    """For sets of labels: how many labels each instance has."""

    @property
    def further_fields(self) -> Collection[bytes]:
        """The fields that a file may have besides id and label."""

    def take_ids(self, spans: Spans) -> None:
        """Add the ids that come next in the file."""

    def take_labels(self, spans: Spans) -> None:
        """Add the labels that come next in the file."""

    def take_field(self, name: bytes, spans: Spans, /) -> None:
        """Add the values of one of the further fields that come next in the file, as they are written."""


def take_values(sink: LabelSink, name: bytes, spans: Spans) -> None:
    """Give the next values of a column or of a field of records to the method for its name."""
    if name in {b"id", b"ids"}:
        sink.take_ids(spans)
    elif name in {b"label", b"labels"}:
        sink.take_labels(spans)
    else:
        sink.take_field(name, spans)
