"""The commitment to gold: an HMAC over its labels and everything beside them, which tells nothing without its key."""

import hmac
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import rfc8785
from numpy.typing import NDArray

from app.formats.normalize import SPLITS
from app.gold import Gold
from app.receipts.content import canonical_json, id_list, label_list
from app.scoring.evaluation_input import Grouping

NONCE_BYTES: Final = 32
_BLOCK_ROWS: Final = 1 << 15


def gold_commitment(gold: Gold, nonce: bytes) -> str:
    """HMAC-SHA-256 of the canonical content of gold under its nonce, in hexadecimal; raises ValueError for its length."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"the nonce of a commitment has {NONCE_BYTES} bytes, not {len(nonce)}")
    code = hmac.new(nonce, digestmod="sha256")
    for part in gold_content(gold):
        code.update(part)
    return code.hexdigest()


def gold_content(gold: Gold) -> Iterator[bytes]:
    """The canonical JSON of gold in parts: what depends on instances is in the order of the ids."""
    parts: dict[str, Iterator[bytes]] = {name: iter([rfc8785.dumps(value)]) for name, value in _facts(gold).items()}
    parts["ids"] = id_list(gold)
    parts["labels"] = label_list(gold.labels, gold)
    parts |= _columns(gold)
    for at, name in enumerate(sorted(parts)):
        yield b'%s"%s":' % (b"," if at else b"{", name.encode())
        yield from parts[name]
    yield b"}"


def _facts(gold: Gold) -> dict[str, Any]:
    spec = gold.spec
    return {
        "task": spec.task,
        "positive_label": spec.positive_label,
        "classes": list(spec.classes),
        "void_ids": sorted(gold.void),
        # As pairs, because the order of declaration counts, and canonical JSON sorts the members of an object.
        "hierarchy": None if spec.hierarchy is None else [[*pair] for pair in spec.hierarchy.to_json().items()],
        "train_frequencies": _as_texts(spec.train_frequencies),
        "class_weights": _as_texts(spec.class_weights),
        "cost_matrix": None
        if spec.cost_matrix is None
        else {label: _as_texts(costs) for label, costs in spec.cost_matrix.items()},
    }


def _as_texts(numbers: Any) -> dict[str, str] | None:
    """Numbers as their shortest decimal texts."""
    return None if numbers is None else {label: repr(number) for label, number in numbers.items()}


def _columns(gold: Gold) -> dict[str, Iterator[bytes]]:
    """What each instance has besides its labels; null where no instance has it."""
    splits, weights = gold.splits, gold.weights
    return {
        "splits": iter([b"null"]) if splits is None else _texts(SPLITS, splits),
        "weights": iter([b"null"]) if weights is None else _weight_texts(weights, gold.weight_unit),
        "folds": _group_names(gold.folds),
        "groups": _group_names(gold.groups),
        "unknown_cells": iter([b"null"]) if gold.unknown is None else label_list(gold.unknown, gold),
    }


def _weight_texts(weights: NDArray[np.int64], unit: Fraction) -> Iterator[bytes]:
    """Weights as exact fractions in lowest terms, such as "3" or "1/2"."""
    distinct, codes = np.unique(weights, return_inverse=True)
    return _texts([str(weight * unit) for weight in distinct.tolist()], codes)


def _group_names(parts: Grouping | None) -> Iterator[bytes]:
    return iter([b"null"]) if parts is None else _texts(parts.names, parts.codes)


def _texts(names: Sequence[str], codes: NDArray[np.integer]) -> Iterator[bytes]:
    """The canonical list of these names, in parts."""
    encoded = [canonical_json(name) for name in names]
    yield b"["
    for start in range(0, len(codes), _BLOCK_ROWS):
        part = b",".join([encoded[code] for code in codes[start : start + _BLOCK_ROWS].tolist()])
        yield (b"," if start else b"") + part
    yield b"]"
