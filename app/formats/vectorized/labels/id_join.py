"""What a file says so far: which instance each of its rows describes, and its labels, as numbers."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.span_window import UnsupportedLabelLayout
from app.scoring.string_table import Int, Spans, StringTable

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LookupTables:
    """The texts that a file may hold: the ids of its n instances, and the classes."""

    ids: StringTable
    classes: StringTable


@dataclass(slots=True)
class IdJoin:
    """Rows and labels in the order of the file; raises Doubt for every text that is not known."""

    tables: LookupTables
    rows: Codes = field(init=False)
    codes: list[Codes] = field(default_factory=list)
    counts: list[Int] = field(default_factory=list)
    """Of sets: how many labels each instance has."""
    told: int = 0
    """How many ids there were."""
    given: int = 0
    """How many labels there were."""

    def __post_init__(self) -> None:
        self.rows = np.empty(len(self.tables.ids), dtype=np.int32)

    def take_ids(self, spans: Spans) -> None:
        """The ids that come next."""
        end = self.told + len(spans)
        found = None if end > len(self.rows) else self.tables.ids.rows(spans, likely=self.told)
        if found is None:
            raise UnsupportedLabelLayout
        self.rows[self.told : end] = found
        self.told = end

    def take_labels(self, spans: Spans) -> None:
        """The labels that come next."""
        self.given += len(spans)
        if self.given > len(self.tables.ids) * len(self.tables.classes):
            raise UnsupportedLabelLayout  # one comes twice
        found = self.tables.classes.rows(spans)
        if found is None:
            raise UnsupportedLabelLayout
        self.codes.append(found)

    def finish(self) -> tuple[Codes, Codes, Int | None]:
        """Rows, codes and counts of a file that describes each instance once, with no label twice; raises Doubt."""
        codes = np.concatenate(self.codes) if self.codes else np.empty(0, dtype=np.int32)
        self.codes.clear()
        counts = np.concatenate(self.counts) if self.counts else None
        seen = np.zeros(len(self.rows), dtype=bool)
        seen[self.rows[: self.told]] = True
        given = len(codes) if counts is None else len(counts)
        if self.told != len(self.rows) or given != self.told or not seen.all():
            raise UnsupportedLabelLayout
        return self.rows, codes, counts
