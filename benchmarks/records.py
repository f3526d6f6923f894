"""Single-label data as files: Zipf classes, four in five predictions right, in shuffled order.

Each record is an id `doc-0000007` and a label `label-0042`, so a file is a repeated pattern with digits filled in.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.formats import FileKind
from app.pipeline import Gold, SourceFile, load_gold

Int = NDArray[np.int64]
ID, LABEL = b'"doc-########"', b'"label-@@@@"'
RECORD = b'{"id":%b,"label":%b}' % (ID, LABEL)
SPACED = b'{"id": %b, "label": %b}' % (ID, LABEL)
BLOCK = 1 << 18  # records per block


@dataclass(frozen=True)
class Drawn:
    """n instances: the true and the predicted class of each, and the order of the predictions in the file."""

    truth: Int
    predicted: Int
    order: Int
    classes: int

    @property
    def names(self) -> list[str]:
        """The classes by number."""
        return [f"label-{number:04d}" for number in range(self.classes)]


def drawn(instances: int, classes: int) -> Drawn:
    """The same for the same counts."""
    chance = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, classes + 1)
    frequencies /= frequencies.sum()
    truth, other = chance.choice(classes, (2, instances), p=frequencies)
    predicted = np.where(chance.random(instances) < 0.8, truth, other)
    return Drawn(truth, predicted, chance.permutation(instances), classes)


def write(path: Path, parts: list[bytes | tuple[bytes, bytes, Int, Int]]) -> Path:
    """Write a file of texts and of patterns with separators, filled with row numbers (#) and classes (@)."""
    with path.open("wb") as out:
        for part in parts:
            if isinstance(part, bytes):
                out.write(part)
                continue
            pattern, separator, rows, codes = part
            for start in range(0, len(rows), BLOCK):
                block = _filled(pattern + separator, rows[start : start + BLOCK], codes[start : start + BLOCK])
                last = start + BLOCK >= len(rows)
                out.write(block[: len(block) - len(separator)] if last else block)
    return path


def _filled(pattern: bytes, rows: Int, codes: Int) -> bytes:
    cells = np.tile(np.frombuffer(pattern, np.uint8), (len(rows), 1))
    for mark, numbers in ((b"#", rows), (b"@", codes)):
        rest = numbers.copy()
        for column in reversed([at for at, each in enumerate(pattern) if each == mark[0]]):
            rest, digit = np.divmod(rest, 10)
            cells[:, column] = digit + ord("0")
    return cells.tobytes()


def as_records(path: Path, of: Drawn, *, spaced: bool = False) -> SourceFile:
    """Predictions as records under 'predictions'; `spaced`: with the spaces of Python's json.dumps."""
    head, pattern, separator = (b'{"predictions": [', SPACED, b", ") if spaced else (b'{"predictions":[', RECORD, b",")
    body = (pattern, separator, of.order, of.predicted[of.order])
    return SourceFile(write(path, [head, body, b"]}"]), FileKind("json"))


def as_columns(path: Path, of: Drawn, *, gold: bool = False) -> SourceFile:
    """Predictions or gold as a list of ids and a list of labels."""
    rows = np.arange(len(of.truth)) if gold else of.order
    codes = (of.truth if gold else of.predicted)[rows]
    parts: list[bytes | tuple[bytes, bytes, Int, Int]] = [b'{"ids":[', (ID, b",", rows, codes), b'],"labels":[']
    return SourceFile(write(path, [*parts, (LABEL, b",", rows, codes), b"]}"]), FileKind("json"))


def as_lines(path: Path, of: Drawn) -> SourceFile:
    """Predictions as JSON Lines."""
    return SourceFile(write(path, [(RECORD, b"\n", of.order, of.predicted[of.order])]), FileKind("jsonl"))


def as_uneven(path: Path, of: Drawn, *, gold: bool = False) -> SourceFile:
    """Records with ids and labels of different lengths: numbers without leading zeros."""
    rows = (np.arange(len(of.truth)) if gold else of.order).tolist()
    codes = (of.truth if gold else of.predicted)[rows].tolist()
    names = uneven_names(of.classes)
    lines = (f'{{"id":"doc-{row}","label":"{names[code]}"}}' for row, code in zip(rows, codes, strict=True))
    path.write_text(f'{{"predictions":[{",".join(lines)}]}}')
    return SourceFile(path, FileKind("json"))


def uneven_names(classes: int) -> list[str]:
    """The classes of `as_uneven`."""
    return [f"{'class' * (1 + code % 3)}-{code}" for code in range(classes)]


def loaded(source: SourceFile, classes: list[str], *, task: str = "multiclass") -> Gold:
    """Loaded gold, ready for scoring."""
    gold, problems = load_gold(source, task=task, classes=classes)  # type: ignore[arg-type]
    assert gold is not None, problems.to_dict()
    return gold
