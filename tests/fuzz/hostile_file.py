"""Hostile files, and the gold that they are sent for."""

from collections.abc import Callable
from dataclasses import dataclass

from backports import zstd

from app.formats.content.format_detection import FileKind
from app.formats.phase_size_limits import PhaseSize, limits_for_phase
from app.formats.reading_rules import DEFAULT_LIMITS
from app.scoring.declaration.task import TaskKind

MAX_FILE_BYTES = 4_000_000
"""Bytes of the largest file as sent."""
Body = Callable[["TargetGold"], bytes]


@dataclass(frozen=True, slots=True)
class TargetGold:
    """The ids and classes of the gold that the files are sent for."""

    ids: tuple[str, ...]
    classes: tuple[str, ...]

    @property
    def max_text_bytes(self) -> int:
        """How many bytes a file of text may have: as many as fit are more work than too many."""
        needs = PhaseSize.of(self.ids, self.classes)
        return min(limits_for_phase(needs, DEFAULT_LIMITS).expanded_bytes, 400_000_000)

    @property
    def pairs(self) -> int:
        """How many rows a table of pairs may have."""
        needs = PhaseSize.of(self.ids, self.classes)
        return limits_for_phase(needs, DEFAULT_LIMITS, pairs=True).pairs or 0

    @property
    def labels_of_each(self) -> int:
        """How many labels the set of each instance may have, if all have as many."""
        most = limits_for_phase(PhaseSize.of(self.ids, self.classes), DEFAULT_LIMITS).sets
        assert most is not None
        return most // len(self.ids)

    @property
    def values_of_each(self) -> int:
        """How many values each instance may have."""
        return limits_for_phase(PhaseSize.of(self.ids, self.classes), DEFAULT_LIMITS).values // len(self.ids) - 3

    def filled(self, unit: str, head: str = "", tail: str = "") -> bytes:
        """A text with its middle repeated for as long as there is room."""
        middle = unit.encode()
        count = (self.max_text_bytes - len(head.encode()) - len(tail.encode())) // len(middle)
        return head.encode() + middle * count + tail.encode()

    @classmethod
    def of(cls, instances: int, classes: int = 3) -> "TargetGold":
        """So many of each; the names are as long for each size."""
        return cls(
            tuple(f"t{number:07d}" for number in range(instances)), tuple(f"c{number}" for number in range(classes))
        )


@dataclass(frozen=True, slots=True)
class HostileFile:
    """A kind of file that costs more than its size suggests: how it is read, and its bytes for a phase."""

    name: str
    kind: FileKind
    body: Body
    task: TaskKind = "multiclass"
    scores: bool = False
    """Whether it is read for its scores."""

    def __str__(self) -> str:
        """Format, encoding, layout and name."""
        return f"{' '.join(filter(None, (self.kind.format, self.kind.encoding, self.kind.layout)))}: {self.name}"


def zstd_frame(data: bytes) -> bytes:
    """Bytes as one zstd frame, which shrinks repetitions to almost nothing."""
    return zstd.compress(data, 1)


def constant_body(data: bytes) -> Callable[[TargetGold], bytes]:
    """The same bytes for every phase."""
    return lambda _: data
