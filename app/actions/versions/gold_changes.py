"""What changed from one version of the gold to another, from the difference that was stored with the later one."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.store.tables import GoldVersion

GoldChanges = dict[str, Any]

_LABELS = frozenset({"label", "labels"})
_OPPOSITES = {"voided": "restored", "restored": "voided"}


def gold_difference_between(before: GoldVersion, after: GoldVersion) -> GoldChanges | None:
    """How many instances changed in which way, and the classes before and after; for organizers.

    A difference is stored with the later of two versions. Switching back turns it round. None if neither version was
    uploaded as a correction of the other.
    """
    stored, is_reversed = _stored(before, after)
    if stored is None:
        return None
    classes = stored.get("class_counts") or {}
    return {
        "counts": _turned(stored["counts"]) if is_reversed else dict(stored["counts"]),
        "before": classes.get("after" if is_reversed else "before"),
        "after": classes.get("before" if is_reversed else "after"),
        "metadata": list(stored.get("metadata") or ()),
    }


def changed_ids(before: GoldVersion, after: GoldVersion) -> dict[str, list[str]] | None:
    """The ids of the instances that changed, by kind, without any label; None if they are not known."""
    stored, is_reversed = _stored(before, after)
    changes = (before if is_reversed else after).changes
    if stored is None or changes is None:
        return None
    found: dict[str, list[str]] = {kind: [] for kind in stored["counts"]}
    for change in changes:
        for kind in _kinds(change):
            found.setdefault(kind, []).append(change["id"])
    return _turned(found) if is_reversed else found


def _stored(before: GoldVersion, after: GoldVersion) -> tuple[Mapping[str, Any] | None, bool]:
    """The difference between two versions, and whether it is that of the way back."""
    if (after.difference or {}).get("base") == before.version:
        return after.difference, False
    if (before.difference or {}).get("base") == after.version:
        return before.difference, True
    return None, False


def _turned(by_kind: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: by_kind[_OPPOSITES.get(kind, kind)] for kind in by_kind}


def _kinds(change: Mapping[str, Any]) -> Iterable[str]:
    """In which ways an instance changed: as the counts have it."""
    before, after = change["before"], change["after"]
    if before is None or after is None:
        yield "restored" if before is None else "voided"
        return
    changed = before.keys() | after.keys()
    if _LABELS & changed:
        yield "relabelled"
    if "weight" in changed:
        yield "reweighted"
    if "split" in changed:
        yield "moved"
