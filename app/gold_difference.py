"""Compares a later version of the gold with the one that it is to replace, instance by instance."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.formats.normalize import SPLITS
from app.gold import Gold
from app.scoring.evaluation_input import Labels

MAX_CHANGES = 50_000
"""Changed instances that are listed; more are only counted."""

Change = dict[str, Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why gold cannot follow the earlier version: a sentence, and what to do."""

    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class GoldDifference:
    """What changes from one version of the gold to the next.

    An instance may be counted several times: one that got another label and another weight is relabelled and
    re-weighted. `changes` has each changed instance once, with the label, weight and split that differ or are new.
    """

    relabelled: int
    reweighted: int
    voided: int
    restored: int
    moved: int
    before: dict[str, list[int]]
    """Per split, how many instances have each class."""
    after: dict[str, list[int]]
    changes: list[Change] = field(default_factory=list)
    """The changed instances in the order of their ids: `id`, `before` and `after`, null where it is not scored."""
    changed: int = 0
    """How many there are; more than are listed if there are very many."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON, as it is stored with the later version."""
        names = ("relabelled", "reweighted", "voided", "restored", "moved")
        counts = {name: getattr(self, name) for name in names}
        classes = {"before": self.before, "after": self.after}
        return {"counts": counts, "class_counts": classes, "changed": self.changed, "changes": self.changes}


def new_ids(gold: Gold, earlier: Gold) -> list[str]:
    """The ids that the earlier version does not know, for which no submission has an answer; sorted."""
    return sorted(set(gold.template_ids).difference(earlier.template_ids))


def refusal_to_follow(gold: Gold, earlier: Gold) -> Refused | None:
    """Why this gold cannot follow the earlier version after submissions; None if it can."""
    if gold.spec.classes != earlier.spec.classes:
        return Refused(
            "The classes differ from those of the active version, and they are fixed once something was submitted.",
            "Use the classes of the active version, or open a new phase.",
        )
    if (gold.splits is None) != (earlier.splits is None):
        said = "The file has splits, but" if earlier.splits is None else "The file has no splits, but"
        has = "no splits" if earlier.splits is None else "them"
        return Refused(
            f"{said} the active version has {has}, and which scores are public is fixed once something was submitted.",
            "Remove the splits."
            if earlier.splits is None
            else "Give each instance its split, as in the active version.",
        )
    return None


def compare_gold(earlier: Gold, later: Gold, max_changes: int = MAX_CHANGES) -> GoldDifference:
    """What changes from one version to another of the same classes."""
    rows = earlier.index.rows(later.ids)
    is_common = rows >= 0
    here, there = np.flatnonzero(is_common), rows[is_common].astype(np.int64)
    relabelled = _differing_labels(earlier.labels.take(there), later.labels.take(here), len(later.spec.classes))
    reweighted = _differing_weights(earlier, there, later, here)
    moved = np.zeros(len(here), dtype=bool)
    if earlier.splits is not None and later.splits is not None:
        moved = np.asarray(earlier.splits[there] != later.splits[here])
    is_voided = np.ones(len(earlier.index), dtype=bool)
    is_voided[there] = False
    voided, restored = np.flatnonzero(is_voided), np.flatnonzero(~is_common)
    changed = np.flatnonzero(relabelled | reweighted | moved)
    pairs: list[tuple[str, int | None, int | None]] = [
        *((later.ids[here[at]], int(there[at]), int(here[at])) for at in changed.tolist()),
        *((earlier.ids[row], row, None) for row in voided.tolist()),
        *((later.ids[row], None, row) for row in restored.tolist()),
    ]
    pairs.sort(key=lambda pair: pair[0])
    return GoldDifference(
        relabelled=int(relabelled.sum()),
        reweighted=int(reweighted.sum()),
        voided=len(voided),
        restored=len(restored),
        moved=int(moved.sum()),
        before=earlier.class_counts(),
        after=later.class_counts(),
        changes=[_change(earlier, later, *pair) for pair in pairs[:max_changes]],
        changed=len(pairs),
    )


def _differing_labels(before: Labels, after: Labels, m: int) -> Mask:
    """Whether the labels of each instance differ, as sets."""
    if before.offsets is None and after.offsets is None:
        return np.asarray(before.codes != after.codes)
    first, second = before.as_sets(), after.as_sets()
    shared = np.bincount(first.rows[first.overlap(second, m)], minlength=first.n)
    return np.asarray((first.sizes != shared) | (second.sizes != shared))


def _differing_weights(earlier: Gold, there: NDArray[np.int64], later: Gold, here: NDArray[np.int64]) -> Mask:
    """Whether the weights differ, as they are written in the files; equal weights of all instances are no weights."""
    if earlier.weights is None and later.weights is None:
        return np.zeros(len(here), dtype=bool)
    before = [_weight(earlier, row) for row in there.tolist()]
    after = [_weight(later, row) for row in here.tolist()]
    return np.array([was != now for was, now in zip(before, after, strict=True)], dtype=bool)


def _weight(gold: Gold, row: int) -> Fraction:
    return Fraction(1) if gold.weights is None else int(gold.weights[row]) * gold.weight_unit


def _change(earlier: Gold, later: Gold, name: str, was: int | None, now: int | None) -> Change:
    before, after = _instance(earlier, was), _instance(later, now)
    if before is not None and after is not None:
        for part in before.keys() & after.keys():
            if before[part] == after[part]:
                del before[part], after[part]
    return {"id": name, "before": before, "after": after}


def _instance(gold: Gold, row: int | None) -> dict[str, Any] | None:
    """The label (or the sorted labels), weight and split of an instance, as far as there are any."""
    if row is None:
        return None
    labels = gold.labels.take(np.array([row]))
    names = [gold.spec.classes[code] for code in sorted(set(labels.codes.tolist()))]
    found: dict[str, Any] = {"label": names[0]} if labels.offsets is None else {"labels": names}
    if gold.weights is not None:
        weight = _weight(gold, row)
        found["weight"] = int(weight) if weight.denominator == 1 else float(weight)
    if gold.splits is not None:
        found["split"] = SPLITS[int(gold.splits[row])]
    return found
