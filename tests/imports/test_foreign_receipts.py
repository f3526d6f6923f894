"""Which receipts of another installation participants may read: none that tells what the boards here do not show."""

from types import SimpleNamespace
from typing import Any

from app.actions.imports.foreign_receipts import _is_shown
from tests.each_case import for_each


@for_each(
    "gold, recipe, split, scorer, shown",
    [
        ("active", ("r1", "active"), "public", 3, True),
        ("active", ("r2", "retired"), "public", 3, False),
        ("active", ("r1", "active"), "public", 2, False),
        ("active", ("r1", "active"), "private", 3, False),
        ("retired", ("r1", "active"), "public", 3, True),
        ("retired", ("r2", "retired"), "public", 2, True),
        ("retired", ("r2", "draft"), "public", 2, False),
        ("retired", ("r1", "active"), "public", 4, False),
        ("draft", ("r1", "active"), "public", 3, False),
    ],
)
def test_participants_read_receipts_of_what_is_or_was_in_force(
    gold: str, recipe: tuple[str, str], split: str, scorer: int, shown: bool
) -> None:
    phase: Any = SimpleNamespace(scorer_version=3, released_at=None)
    of: Any = SimpleNamespace(phase=phase, organizer=False)
    receipt: Any = SimpleNamespace(split=split, scorer_version=scorer)
    version: Any = SimpleNamespace(status=gold, has_splits=True)
    ruled: Any = SimpleNamespace(id=recipe[0], status=recipe[1])
    assert _is_shown(of, receipt, version, ruled, in_force=["r1"]) is shown
    of.organizer = True
    assert _is_shown(of, receipt, version, ruled, in_force=["r1"])
