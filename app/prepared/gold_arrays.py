"""Gold as a header and arrays, and back: all that scoring needs, and no string of any id until one is asked for."""

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from numpy.typing import NDArray

from app import __version__
from app.formats.vectorized.labels import Tables
from app.pipeline import Gold
from app.prepared.array_file import Arrays, Damaged
from app.prepared.lazy_texts import LateTexts, late, written
from app.scoring import SCORER_VERSION
from app.scoring.declaration.gold_metadata import spec_of
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import Grouping, IdIndex, Labels
from app.scoring.string_table import TextTable

KEY_BYTES: Final = 32
_Header = dict[str, Any]
_Made = dict[str, NDArray[Any]]


def taken_apart(gold: Gold) -> tuple[_Header, _Made]:
    """Gold as a JSON object and arrays."""
    ids = gold.index.ids
    arrays: _Made = {"codes": gold.labels.codes, **_table("classes", gold.spec.classes)}
    arrays |= _table("ids", ids) or {"ids": written(ids)}
    for name, array in (("offsets", gold.labels.offsets), ("splits", gold.splits), ("weights", gold.weights)):
        if array is not None:
            arrays[name] = array
    for name, parts in (("folds", gold.folds), ("groups", gold.groups)):
        if parts is not None:
            arrays |= {name: parts.codes, f"{name}_names": written(parts.names)}
    if gold.void:
        arrays["void"] = written(sorted(gold.void))
    if list(gold.listed) != ids:
        arrays["listed"] = written(gold.listed)
    return {
        "program": __version__,
        "scorer_version": SCORER_VERSION,
        "spec": _spec(gold.spec),
        "notes": gold.notes,
        "weight_unit": str(gold.weight_unit),
    }, arrays


def put_together(header: _Header, arrays: Arrays) -> Gold:
    """Gold of what `taken_apart` gave; its arrays are those given. Raises Damaged for what another program wrote."""
    if (header["program"], header.get("scorer_version")) != (__version__, SCORER_VERSION):
        raise Damaged("another version of the program wrote it, and may have read the gold otherwise")
    ids, classes = _table_of("ids", arrays), _table_of("classes", arrays)
    index = IdIndex(late(arrays["ids"])) if ids is None else IdIndex.of_table(ids)
    return Gold(
        index=index,
        spec=_spec_of(header["spec"]),
        labels=Labels(arrays["codes"], arrays.get("offsets")),
        splits=arrays.get("splits"),
        weights=arrays.get("weights"),
        weight_unit=Fraction(header["weight_unit"]),
        void=late(arrays["void"]) if "void" in arrays else frozenset(),
        listed=late(arrays["listed"]) if "listed" in arrays else LateTexts(len(index), lambda: index.ids),
        notes=header["notes"],
        folds=_grouping("folds", arrays),
        groups=_grouping("groups", arrays),
        tables=None if ids is None or classes is None else Tables(ids, classes),
    )


def _table(name: str, texts: Sequence[str]) -> _Made:
    """Texts as a table whose hash nobody outside can foresee; nothing where they do not fit into one."""
    table = TextTable.build(texts, os.urandom(KEY_BYTES))
    if table is None:
        return {}
    return {f"{name}_words": table.words, f"{name}_slots": table.slots, f"{name}_key": table.key}


def _table_of(name: str, arrays: Arrays) -> TextTable | None:
    if f"{name}_words" not in arrays:
        return None
    return TextTable(arrays[f"{name}_words"], arrays[f"{name}_slots"], arrays[f"{name}_key"])


def _grouping(name: str, arrays: Arrays) -> Grouping | None:
    return Grouping(late(arrays[f"{name}_names"]), arrays[name]) if name in arrays else None


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
