"""How a check is declared: a key, what must be ready before it, what mends it, and a function that looks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.doctor.installation import Patient

State = Literal["ok", "warning", "problem", "skipped"]
Place = Literal["sqlite", "postgresql", "folder", "bucket"]

SETTINGS = "settings.values"
REACHABLE = "database.reachable"
SCHEMA = "database.schema"
SECONDS = 30.0  # that a check may take
DEEP_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a look gave; `remedy` where it is another than the declared one."""

    state: State
    seen: str
    remedy: str | None = None


def ok(seen: str) -> Said:
    """All is well."""
    return Said("ok", seen)


def warning(seen: str, remedy: str | None = None) -> Said:
    """It works, but somebody should know."""
    return Said("warning", seen, remedy)


def problem(seen: str, remedy: str | None = None) -> Said:
    """It does not work, or will lose something."""
    return Said("problem", seen, remedy)


def skipped(seen: str) -> Said:
    """It was not looked at."""
    return Said("skipped", seen)


Look = Callable[[Patient], Said]


@dataclass(frozen=True, slots=True)
class Check:
    """A declared check."""

    key: str
    meaning: str
    remedy: str
    look: Look
    needs: tuple[str, ...]
    place: Place | None
    deep: bool
    late: State
    """What it means when there is no answer in time."""


CHECKS: dict[str, Check] = {}
"""All checks in the order in which they are made."""


def check(
    key: str,
    *,
    remedy: str,
    needs: tuple[str, ...] = (SETTINGS,),
    place: Place | None = None,
    deep: bool = False,
    late: State = "problem",
) -> Callable[[Look], Look]:
    """Declare the function below as a check; its docstring says what it means."""

    def declare(look: Look) -> Look:
        meaning = " ".join((look.__doc__ or "").split())
        CHECKS[key] = Check(key, meaning, remedy, look, needs, place, deep, late)
        return look

    return declare
