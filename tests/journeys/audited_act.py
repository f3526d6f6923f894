"""A row of the table of acts in `tests/journeys/audited_routes.py`."""

from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass(frozen=True)
class Act:
    """A request by somebody, and the entries that it leaves.

    `keep` names values of the answer, by a dotted path, that later rows use as `{name}`. `before` names what the test
    does by hand before it.
    """

    who: str
    method: str
    path: str
    actions: tuple[str, ...] = ()
    body: Json = None
    query: dict[str, str] = field(default_factory=dict)
    role: str = "owner"
    reason: str | None = None
    changes: dict[str, tuple[Json, Json]] = field(default_factory=dict)
    """Some of the changes of the first entry."""
    keep: dict[str, str] = field(default_factory=dict)
    before: str | None = None
