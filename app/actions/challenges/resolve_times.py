"""Turn times as organizers write them into instants, in the time zone of their challenge, and back into both."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.errors import NoOpenPhase
from app.store.tables import Phase
from app.store.types import format_timestamp
from app.text.given_times import in_zone, to_instant

ENDS = {"opens_at": False, "closes_at": True, "merge_deadline": True}
"""The fields that hold times, and whether a period ends then."""


def resolve_times(fields: Mapping[str, Any], zone: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The fields with instants in UTC, and the faults of times that the zone does not have or has twice.

    The zone is not consulted again: a later change of it moves no stored instant.
    """
    resolved, faults = dict(fields), []
    for name, ends in ENDS.items():
        if resolved.get(name) is None:
            continue
        try:
            resolved[name] = to_instant(resolved[name], zone, ends=ends)
        except ValueError as wrong:
            faults.append({"pointer": f"/{name}", "detail": str(wrong)})
            resolved[name] = None
    return resolved, faults


def before_opening(phase: Phase, act: str) -> NoOpenPhase:
    """The error for what only organizers may do until the phase opens."""
    times = times_of_error(phase.challenge.timezone, opens_at=phase.opens_at)
    detail = f"The phase '{phase.slug}' opens at {times['opens_at']}; until then only organizers may {act}."
    return NoOpenPhase(detail, remedy="Try again once it has opened.", **times)


def times_of_error(zone: str, **times: datetime | None) -> dict[str, Any]:
    """Times as facts of an error: in UTC and, as `…_local`, in the time zone of the challenge."""
    facts: dict[str, Any] = {}
    for name, moment in times.items():
        facts[name] = None if moment is None else format_timestamp(moment)
        facts[f"{name}_local"] = None if moment is None else in_zone(moment, zone)
    return facts | {"timezone": zone}
