"""What changed from one version of the gold to another, from the differences that are stored with later versions."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.store.queries import gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion

GoldChanges = dict[str, Any]
Changes = Mapping[str, tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
"""By id, the fields of an instance before and after; None where it is not scored."""

KINDS = ("relabelled", "reweighted", "voided", "restored", "moved")
_LABELS = frozenset({"label", "labels"})
_OPPOSITES = {"voided": "restored", "restored": "voided"}


class _Step(NamedTuple):
    """The way between a version and the one that its difference starts from, in either direction."""

    later: GoldVersion
    is_reversed: bool

    @property
    def counts(self) -> dict[str, int]:
        counts = dict((self.later.difference or {})["counts"])
        return {kind: counts[_OPPOSITES.get(kind, kind)] for kind in counts} if self.is_reversed else counts

    def class_counts(self, end: str) -> Any:
        """The counts of classes before or after this step; None if they are not known."""
        stored = (self.later.difference or {}).get("class_counts") or {}
        return stored.get({"before": "after", "after": "before"}[end] if self.is_reversed else end)

    def changes(self) -> Changes | None:
        """All changed instances; None if not all are listed."""
        listed = self.later.changes
        if listed is None or len(listed) < (self.later.difference or {}).get("changed", 0):
            return None
        ends = ("after", "before") if self.is_reversed else ("before", "after")
        return {change["id"]: (change[ends[0]], change[ends[1]]) for change in listed}


def gold_difference_between(session: ReadSession, before: GoldVersion, after: GoldVersion) -> GoldChanges | None:
    """How many instances changed in which way, and the classes before and after; for organizers.

    None if that is not known: neither version follows the other, or too many instances changed on the way to be listed.
    """
    return gold_difference_among(_known_versions(session, before), before, after)


def changed_ids(session: ReadSession, before: GoldVersion, after: GoldVersion) -> dict[str, list[str]] | None:
    """The ids of the instances that changed, by kind, without any label; None if they are not known."""
    steps = _steps(_known_versions(session, before), before, after)
    return _ids_by_kind(_composed(steps)) if steps else None


def gold_difference_among(
    known: Mapping[int, GoldVersion], before: GoldVersion, after: GoldVersion
) -> GoldChanges | None:
    """The difference between two of the versions of a phase, which are given by their numbers."""
    steps = _steps(known, before, after)
    if not steps:
        return None
    counts: dict[str, int] | None = steps[0].counts
    metadata = list((steps[0].later.difference or {}).get("metadata") or ())
    if len(steps) > 1:
        ids = _ids_by_kind(_composed(steps))
        counts = None if ids is None else {kind: len(found) for kind, found in ids.items()}
        kinds, was, now = GOLD_METADATA_KINDS.values(), before.accessories, after.accessories
        metadata = [kind.name for kind in kinds if was.get(kind.field) != now.get(kind.field)]
    if counts is None:
        return None
    ends = {"before": steps[0].class_counts("before"), "after": steps[-1].class_counts("after")}
    return {"counts": counts, **ends, "metadata": metadata}


def _known_versions(session: ReadSession, one: GoldVersion) -> dict[int, GoldVersion]:
    return {version.version: version for version in gold.versions(session, one.phase_id)}


def _steps(known: Mapping[int, GoldVersion], before: GoldVersion, after: GoldVersion) -> list[_Step]:
    """The way from one version to another through those that both follow; empty if there is none."""
    down, up = _followed(before, known), _followed(after, known)
    numbers = {version.version for version in up}
    common = next((version for version in down if version.version in numbers), None)
    if common is None:
        return []
    back = [_Step(version, is_reversed=True) for version in down[: down.index(common)]]
    forth = [_Step(version, is_reversed=False) for version in up[: up.index(common)]]
    return [*back, *reversed(forth)]


def _followed(version: GoldVersion, known: Mapping[int, GoldVersion]) -> list[GoldVersion]:
    """A version, the one that it was compared with, and so on; a version has a greater number than what it follows."""
    found = [version]
    while (found[-1].difference or {}).get("base") in known:
        found.append(known[(found[-1].difference or {})["base"]])
    return found


def _composed(steps: Iterable[_Step]) -> Changes | None:
    """The changes from the first version to the last one."""
    every = [step.changes() for step in steps]
    listed = [each for each in every if each is not None]
    return reduce(_compose, listed) if len(listed) == len(every) else None


def _compose(first: Changes, second: Changes) -> Changes:
    """Two changes one after the other; a field that is not named stayed as it was."""
    found = dict[str, tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]()
    for name in sorted(first.keys() | second.keys()):
        if name not in first or name not in second:
            found[name] = first[name] if name in first else second[name]
            continue
        (before, between), (between_too, after) = first[name], second[name]
        # What one of them leaves unnamed is told by the other, if that names it.
        start = None if before is None else _without(between_too, between) | dict(before)
        end = None if after is None else _without(between, between_too) | dict(after)
        if start is not None and end is not None:
            same = {part for part in start.keys() & end.keys() if start[part] == end[part]}
            start, end = _without(start, same), _without(end, same)
        if start != end:
            found[name] = start, end
    return found


def _without(of: Mapping[str, Any] | None, parts: Iterable[str] | None) -> dict[str, Any]:
    left_out = set(parts or ())
    return {name: value for name, value in (of or {}).items() if name not in left_out}


def _ids_by_kind(changes: Changes | None) -> dict[str, list[str]] | None:
    if changes is None:
        return None
    kinds = ((kind, name) for name, ends in changes.items() for kind in _kinds(*ends))
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for kind, name in kinds:
        found[kind].append(name)
    return found


def _kinds(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterable[str]:
    """In which ways an instance changed: as the counts have it."""
    if before is None or after is None:
        yield "restored" if before is None else "voided"
        return
    if any(before.get(part) != after.get(part) for part in _LABELS):
        yield "relabelled"
    if before.get("weight", 1) != after.get("weight", 1):  # equal weights of all instances are no weights
        yield "reweighted"
    if before.get("split") != after.get("split"):
        yield "moved"
