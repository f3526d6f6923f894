"""The rules by which hard labels follow from scores, declared with what each takes; a recipe names one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.scoring.task import TASKS, Task


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**6


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule: for which tasks, what it means, and the fields that it takes beside its name."""

    tasks: tuple[Task, ...]
    meaning: str
    fields: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def takes(self, name: str, value: Any) -> bool:
        """Whether this field with this value belongs to the rule."""
        return name in self.fields and self.fields[name](value)


DECISIONS: dict[str, Decision] = {
    "argmax": Decision(("binary", "multiclass"), "the label with the highest score, the one declared first on ties"),
    "threshold": Decision(
        TASKS,
        "labels whose score is at least 'threshold' (a number, 0.5 unless said), or above it with 'strict': true",
        {"threshold": _number, "strict": lambda value: isinstance(value, bool)},
    ),
    "top_k": Decision(("multilabel",), "the 'k' labels (a whole number) with the highest scores", {"k": _count}),
    "top_n_positive": Decision(("binary",), "as many positives as the gold has, those with the highest scores"),
}
