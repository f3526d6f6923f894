"""The doctor: looks at everything of an installation and says how to mend it, without changing anything."""

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
    scoring_processes,
    software,
    sqlite,
)
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
    scoring_processes,
    challenges,
)
NOT_APPLICABLE = "It does not concern this kind of database or file store."
REPORT_REMEDY = "Report it, with the output of 'assay doctor --json'."


def all_checks() -> list[Check]:
    """The declared checks, area by area."""
    order = {area.__name__: place for place, area in enumerate(CHECK_MODULES)}
    return sorted(CHECKS.values(), key=lambda each: order[each.look.__module__])


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; the remedy of a check that is well is empty."""

    check: str
    state: CheckState
    observation: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return asdict(self)


def run_checks(
    read: Callable[[], Settings], environment: Mapping[str, str], *, deep: bool = False
) -> Iterator[Finding]:
    """Make every check in its order, each within its time; one that fails keeps no other from being made.

    `read` gives the settings, or raises an error that says what is wrong with them.
    """
    installation = Installation(read, environment, deep=deep)
    states: dict[str, CheckState] = {}
    for each in all_checks():
        said = _skip_reason(each, installation, states) or _run_check(each, installation)
        states[each.key] = said.state
        remedy = said.remedy or each.remedy
        yield Finding(each.key, said.state, said.observation, remedy if said.state in {"warning", "problem"} else "")


def _skip_reason(check: Check, installation: Installation, states: Mapping[str, CheckState]) -> CheckResult | None:
    """Why the check is not made, if it is not."""
    places = installation.places()
    if places and check.place is not None and check.place not in places:
        return skipped(NOT_APPLICABLE)
    missing = [key for key in check.needs if states[key] in {"problem", "skipped"}]
    if missing:
        return skipped(f"It needs {missing[0]}.")
    if check.deep and not installation.deep:
        return skipped("Only with --deep.")
    return None


def _run_check(check: Check, installation: Installation) -> CheckResult:
    seconds = DEEP_CHECK_TIMEOUT_SECONDS if installation.deep else CHECK_TIMEOUT_SECONDS
    try:
        return call_with_timeout(seconds, lambda: check.look(installation))
    except TimeoutError:
        return CheckResult(check.late, f"There was no answer within {seconds:g} s.")
    except AssayError as fault:
        # That something is away is told to callers with their remedy; whoever looks here has to mend it.
        return problem(fault.detail, check.remedy if isinstance(fault, Unavailable) else fault.advice)
    except DBAPIError as fault:
        return problem(" ".join(str(fault.orig).split()))
    except OSError as fault:
        return problem(str(fault))
    except Exception as fault:  # noqa: BLE001 - the other checks go on
        return problem(f"The check itself failed: {fault!r}", REPORT_REMEDY)
