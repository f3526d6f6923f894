"""Gold as a header and arrays, and back: all that scoring needs, and no string of any id until one is asked for."""

import os
from collections.abc import Sequence
from typing import Any, Final

from numpy.typing import NDArray

from app import __version__
from app.pipeline import Gold
from app.prepared.arrays import Arrays, Damaged
from app.prepared.texts import LateTexts, late, written
from app.scoring.accessories import spec_of
from app.scoring.align import Grouping, IdIndex, Labels
from app.scoring.task import TaskSpec
from app.scoring.texts import TextTable

KEY_BYTES: Final = 32
_Header = dict[str, Any]
_Made = dict[str, NDArray[Any]]


def taken_apart(gold: Gold) -> tuple[_Header, _Made]:
    """Gold as a JSON object and arrays."""
    ids = gold.index.ids
    arrays: _Made = _ids(ids) | {"codes": gold.labels.codes}
    for name, array in (("offsets", gold.labels.offsets), ("splits", gold.splits), ("weights", gold.weights)):
        if array is not None:
            arrays[name] = array
    for name, parts in (("folds", gold.folds), ("groups", gold.groups)):
        if parts is not None:
            arrays |= {name: parts.codes, f"{name}_names": written(parts.names)}
    if gold.void:
        arrays["void"] = written(sorted(gold.void))
    own = list(gold.listed) != ids
    if own:
        arrays["listed"] = written(gold.listed)
    counts = {"void": len(gold.void), "listed": len(gold.listed) if own else None}
    counts |= {name: len(parts.names) for name, parts in (("folds", gold.folds), ("groups", gold.groups)) if parts}
    return {"program": __version__, "spec": _spec(gold.spec), "notes": gold.notes, "counts": counts}, arrays


def put_together(header: _Header, arrays: Arrays) -> Gold:
    """Gold of what `taken_apart` gave; its arrays are those given. Raises Damaged for what another program wrote."""
    if header["program"] != __version__:
        raise Damaged("another version of the program wrote it, and may have read the gold otherwise")
    counts = header["counts"]
    index = _index(arrays)
    own = counts["listed"]
    listed = LateTexts(len(index), lambda: index.ids) if own is None else late(arrays["listed"], own)
    return Gold(
        index=index,
        spec=_spec_of(header["spec"]),
        labels=Labels(arrays["codes"], arrays.get("offsets")),
        splits=arrays.get("splits"),
        weights=arrays.get("weights"),
        void=late(arrays["void"], counts["void"]) if counts["void"] else frozenset(),
        listed=listed,
        notes=header["notes"],
        folds=_grouping("folds", counts, arrays),
        groups=_grouping("groups", counts, arrays),
    )


def _ids(ids: Sequence[str]) -> _Made:
    """The ids as a table whose hash nobody outside can foresee; as a list where they do not fit into one."""
    table = TextTable.build(ids, os.urandom(KEY_BYTES))
    if table is None:
        return {"ids": written(ids)}
    return {"id_words": table.words, "id_slots": table.slots, "id_key": table.key}


def _index(arrays: Arrays) -> IdIndex:
    if "ids" in arrays:
        return IdIndex(late(arrays["ids"], len(arrays["codes"])))
    return IdIndex.of_table(TextTable(arrays["id_words"], arrays["id_slots"], arrays["id_key"]))


def _grouping(name: str, counts: dict[str, int], arrays: Arrays) -> Grouping | None:
    if name not in arrays:
        return None
    return Grouping(late(arrays[f"{name}_names"], counts[name]), arrays[name])


def _spec(spec: TaskSpec) -> dict[str, Any]:
    return {
        "task": spec.task,
        "classes": spec.classes,
        "positive_label": spec.positive_label,
        "beside": {
            "train_frequencies": spec.train_frequencies,
            "class_weights": spec.class_weights,
            "hierarchy": None if spec.hierarchy is None else spec.hierarchy.to_json(),
            "cost_matrix": spec.cost_matrix,
        },
    }


def _spec_of(told: dict[str, Any]) -> TaskSpec:
    return spec_of(told["task"], tuple(told["classes"]), told["positive_label"], told["beside"])
