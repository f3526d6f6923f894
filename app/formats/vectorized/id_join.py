"""The ids and labels of a file as numbers: the instance that each row describes, and the codes of its labels."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import Int, Spans, StringTable

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LookupTables:
    """The texts that a file may contain: the ids of its n instances, and the classes."""

    ids: StringTable
    classes: StringTable


@dataclass(slots=True)
class IdJoin:
    """Rows and label codes in the order of the file; raises UnsupportedLayout for a text that is not known."""

    tables: LookupTables
    rows: Codes = field(init=False)
    codes: list[Codes] = field(default_factory=list)
    counts: list[Int] = field(default_factory=list)
    """For sets of labels: how many labels each instance has."""
    id_count: int = 0
    label_count: int = 0

    def __post_init__(self) -> None:
        self.rows = np.empty(len(self.tables.ids), dtype=np.int32)

    @property
    def further_fields(self) -> Collection[bytes]:
        """None: the strict reader notes every field that it ignores."""
        return ()

    @property
    def class_count(self) -> int:
        """How many classes the codes count."""
        return len(self.tables.classes)

    def take_ids(self, spans: Spans) -> None:
        """Add the ids that come next in the file."""
        end = self.id_count + len(spans)
        # More ids than instances: one is repeated or unknown. Checked first, as `rows` has no space for them.
        require(end <= len(self.rows))
        rows = self.tables.ids.rows(spans, likely=self.id_count)
        if rows is None:
            raise UnsupportedLayout
        self.rows[self.id_count : end] = rows
        self.id_count = end

    def take_labels(self, spans: Spans) -> None:
        """Add the labels that come next in the file."""
        self.label_count += len(spans)
        # With more labels than pairs of instance and class, one is repeated. This also bounds the memory.
        require(self.label_count <= len(self.tables.ids) * len(self.tables.classes))
        codes = self.tables.classes.rows(spans)
        if codes is None:
            raise UnsupportedLayout
        self.codes.append(codes)

    def take_field(self, _name: bytes, _spans: Spans) -> None:
        """Never called, as there are no further fields."""
        raise UnsupportedLayout

    def check_ids(self) -> None:
        """Raise UnsupportedLayout unless the file describes each instance exactly once."""
        require(self.id_count == len(self.rows))
        # n known ids that cover all n instances: none is missing, and none occurs twice.
        is_described = np.zeros(len(self.rows), dtype=bool)
        is_described[self.rows] = True
        require(is_described.all())

    def finish(self) -> tuple[Codes, Codes, Int | None]:
        """Rows, codes and counts of the file; raises UnsupportedLayout unless it describes each instance exactly once."""
        self.check_ids()
        codes = np.concatenate(self.codes) if self.codes else np.empty(0, dtype=np.int32)
        self.codes.clear()
        counts = np.concatenate(self.counts) if self.counts else None
        require(len(self.rows) == len(codes if counts is None else counts))
        return self.rows, codes, counts
