"""Declares doctor checks: a key, the checks it depends on, a remedy, and the function that does the check."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from app.doctor.installation import Installation

CheckState = Literal["ok", "warning", "problem", "skipped"]
BackendKind = Literal["sqlite", "postgresql", "folder", "bucket"]

SETTINGS_CHECK = "settings.values"
REACHABLE_CHECK = "database.reachable"
SCHEMA_CHECK = "database.schema"
NEEDS_DATABASE = (SETTINGS_CHECK, REACHABLE_CHECK)
NEEDS_SCHEMA = (*NEEDS_DATABASE, SCHEMA_CHECK)
CHECK_TIMEOUT_SECONDS = 30.0  # for one check
DEEP_CHECK_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of a check; `remedy` overrides the declared one."""

    state: CheckState
    observation: str
    remedy: str | None = None


def ok(observation: str) -> CheckResult:
    """Nothing is wrong."""
    return CheckResult("ok", observation)


def warning(observation: str, remedy: str | None = None) -> CheckResult:
    """It works, but an administrator should know about this."""
    return CheckResult("warning", observation, remedy)


def problem(observation: str, remedy: str | None = None) -> CheckResult:
    """It does not work, or data may be lost."""
    return CheckResult("problem", observation, remedy)


def skipped(observation: str) -> CheckResult:
    """The check did not run, or could not reach a result."""
    return CheckResult("skipped", observation)


CheckFunction = Callable[[Installation], CheckResult]


@dataclass(frozen=True, slots=True)
class Check:
    """A declared check."""

    key: str
    meaning: str
    remedy: str
    function: CheckFunction
    needs: tuple[str, ...]
    backend: BackendKind | None
    deep: bool
    state_on_timeout: CheckState


CHECKS: dict[str, Check] = {}
"""All checks by key, in the order of declaration."""


def check(
    key: str,
    *,
    remedy: str,
    needs: tuple[str, ...] = (SETTINGS_CHECK,),
    backend: BackendKind | None = None,
    deep: bool = False,
    state_on_timeout: CheckState = "problem",
) -> Callable[[CheckFunction], CheckFunction]:
    """Declare the decorated function as a check; its docstring states what holds when all is well.

    The check is skipped if a check in `needs` failed or was skipped, if the installation does not use `backend`, or, with
    `deep`, unless --deep is given.
    """

    def declare(function: CheckFunction) -> CheckFunction:
        meaning = " ".join((function.__doc__ or "").split())
        CHECKS[key] = Check(key, meaning, remedy, function, needs, backend, deep, state_on_timeout)
        return function

    return declare
