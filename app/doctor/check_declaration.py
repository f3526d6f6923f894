"""How a check is declared: a key, what must be ready before it, what mends it, and a function that looks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.doctor.installation import Installation

CheckState = Literal["ok", "warning", "problem", "skipped"]
BackendKind = Literal["sqlite", "postgresql", "folder", "bucket"]

SETTINGS_CHECK = "settings.values"
REACHABLE_CHECK = "database.reachable"
SCHEMA_CHECK = "database.schema"
CHECK_TIMEOUT_SECONDS = 30.0  # that a check may take
DEEP_CHECK_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a look gave; `remedy` where it is another than the declared one."""

    state: CheckState
    observation: str
    remedy: str | None = None


def ok(observation: str) -> CheckResult:
    """All is well."""
    return CheckResult("ok", observation)


def warning(observation: str, remedy: str | None = None) -> CheckResult:
    """It works, but somebody should know."""
    return CheckResult("warning", observation, remedy)


def problem(observation: str, remedy: str | None = None) -> CheckResult:
    """It does not work, or will lose something."""
    return CheckResult("problem", observation, remedy)


def skipped(observation: str) -> CheckResult:
    """It was not looked at."""
    return CheckResult("skipped", observation)


CheckFunction = Callable[[Installation], CheckResult]


@dataclass(frozen=True, slots=True)
class Check:
    """A declared check."""

    key: str
    meaning: str
    remedy: str
    look: CheckFunction
    needs: tuple[str, ...]
    place: BackendKind | None
    deep: bool
    late: CheckState
    """What it means when there is no answer in time."""


CHECKS: dict[str, Check] = {}
"""All checks in the order in which they are made."""


def check(
    key: str,
    *,
    remedy: str,
    needs: tuple[str, ...] = (SETTINGS_CHECK,),
    place: BackendKind | None = None,
    deep: bool = False,
    late: CheckState = "problem",
) -> Callable[[CheckFunction], CheckFunction]:
    """Declare the function below as a check; its docstring says what it means."""

    def declare(look: CheckFunction) -> CheckFunction:
        meaning = " ".join((look.__doc__ or "").split())
        CHECKS[key] = Check(key, meaning, remedy, look, needs, place, deep, late)
        return look

    return declare
