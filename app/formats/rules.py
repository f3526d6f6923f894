"""What a reader refuses: the size limits, and the conventions of the recipe that concern reading."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be."""

    expanded_bytes: int = 1 << 30
    """Bytes after decompression."""
    records: int = 10_000_000
    """Instances."""
    text_length: int = 1000
    """Characters of one id or label, and digits of any integer."""
    columns: int = 50_000
    """Columns of a table."""
    nesting: int = 64
    """Levels of lists and objects in JSON."""


DEFAULT_LIMITS = Limits()


class HasOptions(Protocol):
    """Anything with resolved convention options: a metric call."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Option name to value."""


# Values of each option from the strictest to the mildest. Where metrics differ, the strictest decides what is refused,
# and otherwise the one that keeps most information decides what is read: scoring can drop, but not recover.
_STRICTNESS: dict[str, tuple[str, ...]] = {
    "unknown_label": ("reject", "count_as_fp", "drop"),
    "duplicates": ("reject", "multiset", "set"),
    "missing": ("reject", "empty_prediction"),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of the recipe that decide what is refused (docs/conventions.md)."""

    unknown_label: str = "reject"
    """reject, count_as_fp (kept as the code m), drop."""
    duplicates: str = "reject"
    """reject, set (repeated labels of one prediction are read once), multiset (kept)."""
    missing: str = "reject"
    """reject, empty_prediction."""

    def __post_init__(self) -> None:
        for option, values in _STRICTNESS.items():
            if getattr(self, option) not in values:
                raise ValueError(f"{option} must be one of {', '.join(values)}, not {getattr(self, option)!r}")

    @classmethod
    def strictest(cls, calls: Iterable[HasOptions]) -> "Rules":
        """Read so that no metric meets what it refuses; without metrics: the defaults."""
        resolved = [call.options for call in calls]
        chosen = {}
        for option, values in _STRICTNESS.items():
            asked = {str(options.get(option, "reject")) for options in resolved} or {"reject"}
            chosen[option] = next((value for value in values if value in asked), "reject")
        return cls(**chosen)
