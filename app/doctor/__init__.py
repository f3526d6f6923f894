"""The doctor: checks an installation and suggests remedies, without changing anything."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.exc import DBAPIError

from app.doctor import (
    challenges,
    configuration,
    database,
    disk,
    files,
    postgresql,
    queue,
    receipts,
    software,
    sqlite,
    transparency,
)
from app.doctor import scoring_processes as scoring
from app.doctor.check_declaration import (
    CHECK_TIMEOUT_SECONDS,
    CHECKS,
    DEEP_CHECK_TIMEOUT_SECONDS,
    Check,
    CheckResult,
    CheckState,
    problem,
    skipped,
)
from app.doctor.installation import Installation
from app.errors import AssayError, Unavailable
from app.runtime.single_flight import call_with_timeout
from app.settings import Settings

CHECK_MODULES = (
    configuration,
    software,
    disk,
    database,
    sqlite,
    postgresql,
    files,
    queue,
    scoring,
    receipts,
    transparency,
    challenges,
)
NOT_APPLICABLE = "Does not apply to this kind of database or file store."
REPORT_REMEDY = "Report this, with the output of 'assay doctor --json'."


def all_checks() -> list[Check]:
    """The declared checks, in the order of CHECK_MODULES."""
    order = {module.__name__: number for number, module in enumerate(CHECK_MODULES)}
    return sorted(CHECKS.values(), key=lambda check: order[check.function.__module__])


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `remedy` is empty unless the state is warning or problem."""

    check: str
    state: CheckState
    seen: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON."""
        return asdict(self)


def run_checks(
    read: Callable[[], Settings], environment: Mapping[str, str], *, deep: bool = False
) -> Iterator[Finding]:
    """Run every check in order, each with a timeout; a failing check does not prevent the others.

    `read` returns the settings, or raises an error that describes what is wrong with them.
    """
    installation = Installation(read, environment, deep=deep)
    states: dict[str, CheckState] = {}
    for check in all_checks():
        result = _skip_result(check, installation, states) or _run_check(check, installation)
        states[check.key] = result.state
        remedy = (result.remedy or check.remedy) if result.state in {"warning", "problem"} else ""
        yield Finding(check.key, result.state, result.observation, remedy)


def _skip_result(check: Check, installation: Installation, states: Mapping[str, CheckState]) -> CheckResult | None:
    """The result of a check that must be skipped, else None."""
    kinds = installation.backend_kinds()
    if kinds and check.backend is not None and check.backend not in kinds:
        return skipped(NOT_APPLICABLE)
    missing = [key for key in check.needs if states[key] in {"problem", "skipped"}]
    if missing:
        return skipped(f"Requires {missing[0]}.")
    return skipped("Only with --deep.") if check.deep and not installation.deep else None


def _run_check(check: Check, installation: Installation) -> CheckResult:
    seconds = DEEP_CHECK_TIMEOUT_SECONDS if installation.deep else CHECK_TIMEOUT_SECONDS
    try:
        return call_with_timeout(seconds, lambda: check.function(installation))
    except TimeoutError:
        return CheckResult(check.state_on_timeout, f"No answer within {seconds:g} s.")
    except AssayError as error:
        # The advice of Unavailable is for API callers, who can only retry; an administrator needs the check's remedy.
        return problem(error.detail, check.remedy if isinstance(error, Unavailable) else error.advice)
    except DBAPIError as error:
        return problem(" ".join(str(error.orig).split()))
    except OSError as error:
        return problem(str(error))
    except Exception as error:  # noqa: BLE001 - the other checks must still run
        return problem(f"The check itself failed: {error!r}", REPORT_REMEDY)
