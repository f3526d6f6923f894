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
from app.doctor.check_declaration import CHECKS, DEEP_SECONDS, SECONDS, Check, Said, State, problem, skipped
from app.doctor.installation import Patient
from app.errors import AssayError, Unavailable
from app.runtime.single_flight import within
from app.settings import Settings

AREAS = (configuration, software, disk, database, sqlite, postgresql, files, queue, scoring_processes, challenges)
NOT_HERE = "It does not concern this kind of database or file store."
BROKEN = "Report it, with the output of 'assay doctor --json'."


def all_checks() -> list[Check]:
    """The declared checks, area by area."""
    order = {area.__name__: place for place, area in enumerate(AREAS)}
    return sorted(CHECKS.values(), key=lambda each: order[each.look.__module__])


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; the remedy of a check that is well is empty."""

    check: str
    state: State
    seen: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return asdict(self)


def examine(read: Callable[[], Settings], environment: Mapping[str, str], *, deep: bool = False) -> Iterator[Finding]:
    """Make every check in its order, each within its time; one that fails keeps no other from being made.

    `read` gives the settings, or raises an error that says what is wrong with them.
    """
    patient = Patient(read, environment, deep=deep)
    states: dict[str, State] = {}
    for each in all_checks():
        said = _left_out(each, patient, states) or _looked(each, patient)
        states[each.key] = said.state
        remedy = said.remedy or each.remedy
        yield Finding(each.key, said.state, said.seen, remedy if said.state in {"warning", "problem"} else "")


def _left_out(check: Check, patient: Patient, states: Mapping[str, State]) -> Said | None:
    """Why the check is not made, if it is not."""
    places = patient.places()
    if places and check.place is not None and check.place not in places:
        return skipped(NOT_HERE)
    missing = [key for key in check.needs if states[key] in {"problem", "skipped"}]
    if missing:
        return skipped(f"It needs {missing[0]}.")
    if check.deep and not patient.deep:
        return skipped("Only with --deep.")
    return None


def _looked(check: Check, patient: Patient) -> Said:
    seconds = DEEP_SECONDS if patient.deep else SECONDS
    try:
        return within(seconds, lambda: check.look(patient))
    except TimeoutError:
        return Said(check.late, f"There was no answer within {seconds:g} s.")
    except AssayError as fault:
        # That something is away is told to callers with their remedy; whoever looks here has to mend it.
        return problem(fault.detail, check.remedy if isinstance(fault, Unavailable) else fault.advice)
    except DBAPIError as fault:
        return problem(" ".join(str(fault.orig).split()))
    except OSError as fault:
        return problem(str(fault))
    except Exception as fault:  # noqa: BLE001 - the other checks go on
        return problem(f"The check itself failed: {fault!r}", BROKEN)
