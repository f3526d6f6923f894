"""Read bytes as a file in one call, and compare the readers."""

import gzip
import io
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from backports import zstd

from app.formats.column_data import NormalizedTable
from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.strict_reader import read_table
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.labels import read_labels
from app.formats.vectorized.labels.span_window import SPAN_WINDOW_BYTES
from app.formats.vectorized.scores import read_scores
from app.pipeline import build_lookup_tables
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex, Labels, PredictionArrays

IDS = ("t1", "t2", "t3")
CLASSES = ("cat", "dog", "eel")


def task_of(*, multilabel: bool) -> TaskKind:
    """The task of tests that only tell one label from sets."""
    return "multilabel" if multilabel else "multiclass"


def read(
    raw: str | bytes,
    kind: str = "json",
    *,
    multilabel: bool = False,
    gold: bool = False,
    encoding: str = "",
    layout: str = "",
    classes: Sequence[str] | None = None,
    wants_scores: bool = False,
    task: TaskKind | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[NormalizedTable, Problems]:
    """Read a file; text is encoded first, and compressed if an encoding is given."""
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    data = compress(data, encoding) if isinstance(raw, str) else data
    problems = Problems()
    table = read_table(
        io.BytesIO(data),
        FileKind(kind, encoding, layout),
        task=task or task_of(multilabel=multilabel),
        gold=gold,
        problems=problems,
        classes=classes,
        wants_scores=wants_scores,
        limits=limits,
    )
    return table, problems


def compress(data: bytes, encoding: str) -> bytes:
    """Compress bytes."""
    pack: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.compress, "zstd": zstd.compress}
    return pack[encoding](data)


def read_answers(
    raw: str | bytes,
    kind: str = "json",
    *,
    ids: Sequence[str] = IDS,
    classes: Sequence[str] = CLASSES,
    rules: ReadingRules | None = None,
    void: Collection[str] = (),
    multilabel: bool = False,
    task: TaskKind | None = None,
    positive_label: str | None = None,
    encoding: str = "",
    layout: str = "",
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[PredictionArrays | None, Problems]:
    """Read predictions and check them: labels and scores."""
    rules = rules or ReadingRules()
    spec = TaskSpec(task or task_of(multilabel=multilabel), tuple(classes), positive_label)
    table, problems = read(
        raw,
        kind,
        task=spec.task,
        encoding=encoding,
        layout=layout,
        classes=classes,
        wants_scores=rules.scores != "ignored",
        limits=limits,
    )
    found = validate_table(table, IdIndex(ids), spec, rules=rules, void=void, problems=problems)
    data = compress(raw.encode("utf-8", "surrogatepass"), encoding) if isinstance(raw, str) else raw
    form = FileKind(kind, encoding, layout)
    count_agreeing_score_windows(data, form, spec, ids, found, rules=rules, notes=table.notes, limits=limits)
    if rules.scores != "due":
        count_agreeing_windows(
            data, FileKind(kind, encoding, layout), spec, ids, found, notes=table.notes, limits=limits
        )
    return found, problems


def count_agreeing_windows(
    data: bytes,
    kind: FileKind,
    spec: TaskSpec,
    ids: Sequence[str],
    strict: PredictionArrays | None,
    *,
    notes: Sequence[str],
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """With how many window sizes the vectorized reader reads a file; asserts that it agrees with the strict one."""
    tables = build_lookup_tables(IdIndex(ids), spec.classes)
    if tables is None:
        return 0
    read = 0
    for size in (SPAN_WINDOW_BYTES, 96):
        several = spec.task == "multilabel"
        quick = read_labels(io.BytesIO(data), kind, tables, sets=several, limits=limits, window=size)
        if quick is None:
            continue
        assert strict is not None, f"the fast tier took a file that the strict reader refuses: {data[:2000]!r}"
        assert strict.labels is not None
        assert not notes
        assert np.array_equal(quick.codes, strict.labels.codes)
        for offsets, other in ((quick.offsets, strict.labels.offsets), (strict.labels.offsets, quick.offsets)):
            assert offsets is None or (other is not None and np.array_equal(offsets, other))
        read += 1
    return read


def count_agreeing_score_windows(
    data: bytes,
    kind: FileKind,
    spec: TaskSpec,
    ids: Sequence[str],
    strict: PredictionArrays | None,
    *,
    rules: ReadingRules,
    notes: Sequence[str],
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """The same for the vectorized reader of scores."""
    table = IdIndex(ids).table
    read = 0
    for size in (1 << 18, 96) if table is not None else ():
        assert table is not None
        quick = read_scores(io.BytesIO(data), kind, table, spec, rules=rules, limits=limits, window=size)
        if quick is None:
            continue
        assert strict is not None, f"the fast tier took a file that the strict reader refuses: {data[:2000]!r}"
        assert strict.labels is None
        assert strict.scores is not None
        assert not notes
        assert quick.shape == strict.scores.shape
        assert quick.tobytes() == np.ascontiguousarray(strict.scores).tobytes()
        read += 1
    return read


def read_answer_labels(raw: str | bytes, kind: str = "json", **how: Any) -> tuple[Labels | None, Problems]:
    """Read predictions and check them: the labels."""
    found, problems = read_answers(raw, kind, **how)
    return None if found is None else found.labels, problems


def read_valid(raw: str | bytes, kind: str = "json", **how: Any) -> PredictionArrays:
    """Read predictions that have no problem."""
    found, problems = read_answers(raw, kind, **how)
    assert problems.to_dict()["problems"] == []
    assert found is not None
    return found


def read_valid_sets(raw: str | bytes, kind: str = "json", **how: Any) -> list[list[int]]:
    """Read predictions that have no problem: the label codes of each instance."""
    return code_sets(read_valid(raw, kind, **how).labels)


def code_sets(labels: Labels | None) -> list[list[int]]:
    """The codes of each instance, whether single- or multi-label."""
    assert labels is not None
    if labels.offsets is None:
        return [[int(code)] for code in labels.codes]
    bounds = labels.offsets.tolist()
    return [labels.codes[start:end].tolist() for start, end in pairwise(bounds)]


def summarize_problems(problems: Problems) -> list[dict[str, Any]]:
    """The problems without prose: code, place and instance."""
    keys = ("code", "pointer", "line", "column", "instance_id")
    return [{key: value for key, value in found.to_dict().items() if key in keys} for found in problems.first]


def located_problems(problems: Problems) -> list[dict[str, Any]]:
    """The same without the ids that are missed because the row that meant them could not be read."""
    return [found for found in summarize_problems(problems) if found["code"] != "missing_instances"]
