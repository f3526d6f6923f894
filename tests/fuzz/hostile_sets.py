"""Hostile files of label sets: as many labels, or values, as a file may have, all of them faulty."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from app.formats.content.format_detection import FileKind
from tests.fuzz.hostile_arrow import pair, parquet_bytes
from tests.fuzz.hostile_file import Body, HostileFile, TargetGold, zstd_frame

Labels = Callable[[TargetGold, int], Sequence[Any]]
"""So many labels of one set."""


def _repeated(label: Any) -> Labels:
    return lambda _, count: [label] * count


def _numbered(pattern: str) -> Labels:
    return lambda _, count: [pattern.replace("#", str(number)) for number in range(count)]


def _all_but_one(phase: TargetGold, count: int) -> Sequence[Any]:
    return [*phase.classes[1:count], "zz"]


SETS: dict[str, Labels] = {
    "one label over and over": _repeated("c0"),
    "unknown labels": _numbered("x#"),
    "marks": _numbered("e\u0301#"),
    "numbers": lambda _, count: range(count),
    "no labels": _repeated(0.5),
    "all but one label": _all_but_one,
}


def _json(labels: Labels, *, beyond: bool, lines: bool = False) -> Body:
    def make(phase: TargetGold) -> bytes:
        made = json.dumps(list(labels(phase, phase.values_of_each if beyond else phase.labels_of_each)))
        records = [f'{{"id":"{name}","labels":{made}}}' for name in phase.ids]
        return zstd_frame(("\n".join(records) if lines else f"[{','.join(records)}]").encode())

    return make


def _map(phase: TargetGold) -> bytes:
    made = json.dumps(["c0"] * phase.labels_of_each)
    return zstd_frame(("{" + ",".join(f'"{name}":{made}' for name in phase.ids) + "}").encode())


def _columns(phase: TargetGold) -> bytes:
    made = ",".join([json.dumps(["c0"] * phase.labels_of_each)] * len(phase.ids))
    return zstd_frame(f'{{"ids":{json.dumps(phase.ids)},"labels":[{made}]}}'.encode())


def _csv(labels: Labels) -> Body:
    def make(phase: TargetGold) -> bytes:
        cell = "|".join(labels(phase, phase.labels_of_each))
        return zstd_frame("".join(["id,labels\n", *(f"{name},{cell}\n" for name in phase.ids)]).encode())

    return make


def _npz(phase: TargetGold) -> bytes:
    body = io.BytesIO()
    cell = "|".join(["c0"] * phase.labels_of_each).encode()
    np.savez_compressed(body, ids=np.array(phase.ids), labels=np.array([cell] * len(phase.ids)))
    return body.getvalue()


def _table(phase: TargetGold) -> pa.Table:
    one = pa.array([["c0"] * phase.labels_of_each])
    return pair(pa.array(phase.ids), one.take(pa.array(np.zeros(len(phase.ids), "i4"))), "labels")


def set_files() -> Iterator[HostileFile]:
    """Sets of labels, of every format."""
    for name, labels in SETS.items():
        yield HostileFile(f"sets, {name}", FileKind("json", "zstd"), _json(labels, beyond=False), "multilabel")
    for name in ("one label over and over", "marks", "numbers"):
        yield HostileFile(
            f"sets, {name}, too many", FileKind("json", "zstd"), _json(SETS[name], beyond=True), "multilabel"
        )
    lines = _json(SETS["one label over and over"], beyond=False, lines=True)
    yield HostileFile("sets, one label over and over", FileKind("jsonl", "zstd"), lines, "multilabel")
    yield HostileFile("sets, a map of one label over and over", FileKind("json", "zstd"), _map, "multilabel")
    yield HostileFile("sets, columns of one label over and over", FileKind("json", "zstd"), _columns, "multilabel")
    for name in ("one label over and over", "unknown labels", "marks", "all but one label"):
        yield HostileFile(f"sets, {name}", FileKind("csv", "zstd"), _csv(SETS[name]), "multilabel")
    name = "sets, one label over and over"
    yield HostileFile(name, FileKind("npz"), _npz, "multilabel")
    yield HostileFile(name, FileKind("parquet"), lambda phase: parquet_bytes(_table(phase)), "multilabel")
