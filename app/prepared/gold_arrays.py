"""Encodes gold as a header and arrays and decodes it; ids become strings only when one is requested."""

import os
from fractions import Fraction
from typing import Any, Final

from numpy.typing import NDArray

from app import __version__
from app.formats.vectorized.id_join import LookupTables
from app.pipeline import Gold
from app.prepared.array_file import MAGIC, Arrays, DamagedArrayFile
from app.prepared.lazy_texts import decode_texts, encode_texts
from app.scoring import SCORER_VERSION
from app.scoring.declaration.gold_metadata import build_task_spec
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import Grouping, IdIndex, Labels
from app.scoring.string_table import StringTable

PROGRAM: Final = f"{__version__} {SCORER_VERSION} {MAGIC.decode()}"
"""The version of the program and of its files: another one may read the same gold differently."""
HASH_KEY_BYTES: Final = 32
_Header = dict[str, Any]
_NamedArrays = dict[str, NDArray[Any]]


def encode_gold(gold: Gold) -> tuple[_Header, _NamedArrays]:
    """Gold as a JSON object and arrays."""
    ids = gold.index.table
    arrays: _NamedArrays = {"codes": gold.labels.codes}
    arrays |= _encode_table("classes", StringTable.build(gold.spec.classes))
    arrays |= _encode_table("ids", ids) or {"ids": encode_texts(gold.ids)}
    for name, array in (("offsets", gold.labels.offsets), ("splits", gold.splits), ("weights", gold.weights)):
        if array is not None:
            arrays[name] = array
    for name, parts in (("folds", gold.folds), ("groups", gold.groups)):
        if parts is not None:
            arrays |= {name: parts.codes, f"{name}_names": encode_texts(parts.names)}
    if gold.unknown is not None and gold.unknown.offsets is not None:
        arrays |= {"unknown": gold.unknown.codes, "unknown_offsets": gold.unknown.offsets}
    if gold.void:
        arrays["void"] = encode_texts(sorted(gold.void))
        arrays |= _encode_table("known", gold.known_ids)
    # Both are sorted, and the template lacks no id.
    if len(gold.template_ids) != len(gold.index):
        arrays["listed"] = encode_texts(gold.template_ids)
    return {
        "program": PROGRAM,
        "spec": _encode_spec(gold.spec),
        "notes": gold.notes,
        "weight_unit": str(gold.weight_unit),
    }, arrays


def decode_gold(header: _Header, arrays: Arrays) -> Gold:
    """The gold that `encode_gold` encoded; it uses the given arrays without a copy.

    Raises DamagedArrayFile if another version of the program wrote it.
    """
    if header["program"] != PROGRAM:
        raise DamagedArrayFile("another version of the program wrote it, and may have read the gold differently")
    ids, classes = _decode_table("ids", arrays), _decode_table("classes", arrays)
    index = IdIndex(decode_texts(arrays["ids"])) if ids is None else IdIndex.from_table(ids)
    return Gold(
        index=index,
        spec=_decode_spec(header["spec"]),
        labels=Labels(arrays["codes"], arrays.get("offsets")),
        splits=arrays.get("splits"),
        weights=arrays.get("weights"),
        weight_unit=Fraction(header["weight_unit"]),
        void=decode_texts(arrays["void"]) if "void" in arrays else frozenset(),
        template_ids=decode_texts(arrays["listed"]) if "listed" in arrays else index.lazy_ids,
        notes=header["notes"],
        folds=_decode_grouping("folds", arrays),
        groups=_decode_grouping("groups", arrays),
        unknown=Labels(arrays["unknown"], arrays["unknown_offsets"]) if "unknown" in arrays else None,
        tables=None if ids is None or classes is None else LookupTables(ids, classes),
        known_ids=_decode_table("known", arrays),
    )


def _encode_table(name: str, texts: StringTable | None) -> _NamedArrays:
    """A hash table of these texts with a random key, so that nobody can construct collisions; empty if they do not fit."""
    table = None if texts is None else StringTable.from_words(texts.words, os.urandom(HASH_KEY_BYTES))
    if table is None:
        return {}
    return {f"{name}_words": table.words, f"{name}_slots": table.slots, f"{name}_key": table.key}


def _decode_table(name: str, arrays: Arrays) -> StringTable | None:
    if f"{name}_words" not in arrays:
        return None
    return StringTable(arrays[f"{name}_words"], arrays[f"{name}_slots"], arrays[f"{name}_key"])


def _decode_grouping(name: str, arrays: Arrays) -> Grouping | None:
    return Grouping(decode_texts(arrays[f"{name}_names"]), arrays[name]) if name in arrays else None


def _encode_spec(spec: TaskSpec) -> dict[str, Any]:
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


def _decode_spec(spec: dict[str, Any]) -> TaskSpec:
    return build_task_spec(spec["task"], tuple(spec["classes"]), spec["positive_label"], spec["beside"])
