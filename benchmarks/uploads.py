"""Predicted scores as files of every format, from bytes to a checked matrix in gold order, and parsers alone (W3)."""

import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from numpy.typing import NDArray

from app.formats import FileKind
from app.formats.reading_rules import ReadingRules
from app.pipeline import Gold, SourceFile, validate_predictions
from benchmarks.figures import Measured
from benchmarks.measure import Way, collector_off, extra_peak, timed
from benchmarks.records import loaded
from benchmarks.sizes import Sizes

Matrix = NDArray[Any]


class Scores(msgspec.Struct):
    """Columns in the form that msgspec reads fastest."""

    ids: list[str]
    classes: list[str]
    scores: list[list[float]]


@dataclass(frozen=True)
class Made:
    """Scores of n instances in shuffled order, and the gold that defines their order."""

    gold: Gold
    ids: list[str]
    classes: list[str]
    scores: Matrix


def made(folder: Path, instances: int, classes: int) -> Made:
    """Probabilities with six decimals, as people write them, so each row sums to 1 only approximately."""
    chance = np.random.default_rng(0)
    scores = np.exp(chance.normal(size=(instances, classes)))
    scores = np.round(scores / scores.sum(axis=1, keepdims=True), 6)
    names = [f"class-{number:03d}" for number in range(classes)]
    ids = [f"image-{number:06d}" for number in range(instances)]
    truth = [names[code] for code in chance.integers(0, classes, instances)]
    path = folder / "gold.json"
    path.write_bytes(orjson.dumps({"ids": ids, "labels": truth}))
    gold = loaded(SourceFile(path, FileKind("json")), names)
    return Made(gold, [ids[row] for row in chance.permutation(instances)], names, scores)


def files(folder: Path, of: Made) -> dict[str, SourceFile]:
    """The same scores in every format."""
    single = of.scores.astype(np.float32)
    np.savez(folder / "single.npz", ids=of.ids, classes=of.classes, scores=single)
    np.savez(folder / "double.npz", ids=of.ids, classes=of.classes, scores=of.scores)
    np.savez_compressed(folder / "packed.npz", ids=of.ids, classes=of.classes, scores=single)
    table = pa.table({"id": of.ids, **dict(zip(of.classes, single.T, strict=True))})
    pyarrow.parquet.write_table(table, folder / "scores.parquet")
    pyarrow.feather.write_feather(table, folder / "scores.arrow", compression="uncompressed")
    rows = of.scores.tolist()
    columns = {"ids": of.ids, "classes": of.classes, "scores": rows}
    (folder / "columns.json").write_bytes(orjson.dumps(columns))
    records = [{"id": name, "scores": row} for name, row in zip(of.ids, rows, strict=True)]
    (folder / "records.json").write_bytes(orjson.dumps({"classes": of.classes, "predictions": records}))
    kinds = {
        ".npz, float32": ("single.npz", "npz"),
        ".npz, float64": ("double.npz", "npz"),
        ".npz, float32, deflated": ("packed.npz", "npz"),
        "Arrow IPC, float32": ("scores.arrow", "arrow"),
        "Parquet, float32": ("scores.parquet", "parquet"),
        "JSON columns": ("columns.json", "json"),
        "JSON records with lists": ("records.json", "json"),
    }
    return {name: SourceFile(folder / file, FileKind(kind)) for name, (file, kind) in kinds.items()}


def ours(of: Made, source: SourceFile) -> Callable[[], Matrix]:
    """The file to the matrix in gold order, with all checks."""
    rules = ReadingRules(scores="due", probabilities=True)

    def run() -> Matrix:
        found, problems, _ = validate_predictions(
            of.gold.index, of.gold.spec, source, rules=rules, tables=of.gold.tables
        )
        assert found is not None, problems.to_dict()
        assert found.scores is not None
        return found.scores

    return run


def peers(of: Made, sources: dict[str, SourceFile]) -> dict[str, Callable[[], Matrix]]:
    """Bytes to a matrix in the order of the file, unchecked; they run with the garbage collector off."""
    binary, text = (sources[name].path.read_bytes() for name in (".npz, float32", "JSON columns"))
    typed = msgspec.json.Decoder(Scores)
    scores: Matrix = np.ascontiguousarray(of.scores, np.float32)
    return {
        "numpy.load alone, float32": lambda: np.load(io.BytesIO(binary))["scores"],
        "zlib.crc32 of the .npz alone": lambda: np.array(zlib.crc32(binary)),
        "memcpy of the float32 matrix": scores.copy,
        f"json.loads and numpy.array{BARE}": lambda: np.array(json.loads(text)["scores"], np.float32),
        f"orjson and numpy.array{BARE}": lambda: np.array(orjson.loads(text)["scores"], np.float32),
        f"msgspec typed and numpy.array{BARE}": lambda: np.array(typed.decode(text).scores, np.float32),
    }


BARE = ", JSON columns"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure the time of every format and parser, and the memory of the formats."""
    of, found = made(folder, *sizes.matrix), Measured()
    sources = files(folder, of)
    mine = {f"assay, {name}": ours(of, source) for name, source in sources.items()}
    bare = peers(of, sources)
    slow = [name for name in mine if "JSON" in name]
    ways: dict[str, Way] = mine | {name: collector_off(run) for name, run in bare.items()}
    spent = timed(ways, repetitions=min(3, sizes.repetitions), once=slow if sizes.repetitions > 3 else ())
    instances, classes = sizes.matrix
    work = f"{instances:,} by {classes} scores, bytes to a matrix"
    found.ways(work, spent, "ms")
    best = min(spent[name] for name in bare if name.endswith(BARE))
    found.at_least("the best bare JSON parser, over our .npz with all checks", 50, best / spent["assay, .npz, float32"])
    peaks = {name: extra_peak(run) for name, run in mine.items()}
    found.ways(f"{work}: extra peak of memory", peaks, "MiB")
    return found
