"""Read bytes as a file in one call, and compare the readers."""

import gzip
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
from backports import zstd

from app.formats import label_set_detection
from app.formats.column_data import NormalizedTable
from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.source_file import SourceFile
from app.formats.strict_reader import read_table
from app.formats.validation.gold_validation import is_valid_vocabulary
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.labels import read_gold
from app.formats.vectorized.prediction_reader import read_predictions
from app.formats.vectorized.span_window import SPAN_WINDOW_BYTES
from app.gold import Gold, build_lookup_tables, load_gold, normalized_task_spec
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
    count_agreeing_windows(data, form, spec, ids, found, rules=rules, notes=table.notes, limits=limits)
    return found, problems


def count_agreeing_windows(
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
    """With how many window sizes a vectorized reader reads a file; asserts that it agrees with the strict one."""
    tables = build_lookup_tables(IdIndex(ids), spec.classes)
    if tables is None:
        return 0
    read = 0
    for size in (SPAN_WINDOW_BYTES, 96):
        told: list[str] = []
        how: dict[str, Any] = {"rules": rules, "limits": limits, "notes": told, "window": size}
        quick = read_predictions(io.BytesIO(data), kind, tables, spec, **how)
        if quick is None:
            assert not told
            continue
        assert strict is not None, f"the fast tier took a file that the strict reader refuses: {data[:2000]!r}"
        assert told == list(notes)
        assert rules.scores != "due" or quick.labels is None
        _assert_same_labels(quick.labels, strict.labels)
        assert (quick.scores is None) is (strict.scores is None)
        if quick.scores is not None and strict.scores is not None:
            assert quick.scores.shape == strict.scores.shape
            assert quick.scores.tobytes() == np.ascontiguousarray(strict.scores).tobytes()
        read += 1
    return read


def _assert_same_labels(quick: Labels | None, strict: Labels | None) -> None:
    assert (quick is None) is (strict is None)
    if quick is not None and strict is not None:
        assert np.array_equal(quick.codes, strict.codes)
        assert (quick.offsets is None) is (strict.offsets is None)
        if quick.offsets is not None and strict.offsets is not None:
            assert np.array_equal(quick.offsets, strict.offsets)


def load_gold_both_ways(source: SourceFile, **how: Any) -> tuple[Gold | None, Problems]:
    """Load gold, and assert that the strict reader alone gives the same."""
    return compare_gold_readers(source, **how)[:2]


def compare_gold_readers(source: SourceFile, **how: Any) -> tuple[Gold | None, Problems, int]:
    """Load gold both ways; the third value is the number of window sizes with which the vectorized reader read it."""
    windows = 0
    with patch("app.gold.load_plain_gold", return_value=None):
        strict, problems = load_gold(source, **how)
    spec = normalized_task_spec(how["task"], how.get("classes"), how.get("positive_label"), {})
    if not how.get("void"):  # which the vectorized reader is not given
        windows = assert_plain_gold_agrees(source, spec, strict, declared=how.get("classes") is not None, **how)
    if strict is not None:
        assert_task_guess_agrees(source, how.get("limits", DEFAULT_LIMITS))
    found, told = load_gold(source, **how)
    assert told.to_dict() == problems.to_dict()
    assert_same_gold(found, strict)
    return found, told, windows


def assert_task_guess_agrees(source: SourceFile, limits: Limits = DEFAULT_LIMITS) -> None:
    """The first instance of a valid file tells the same of its labels as the whole file."""
    with source.path.open("rb") as stream:
        guess = label_set_detection.has_label_sets(stream, source.kind, limits)
        stream.seek(0)
        assert guess == label_set_detection._file_has_sets(stream, source.kind, limits)


def assert_plain_gold_agrees(
    source: SourceFile,
    spec: TaskSpec,
    strict: Gold | None,
    *,
    declared: bool,
    limits: Limits = DEFAULT_LIMITS,
    **_: Any,
) -> int:
    """With how many window sizes the vectorized reader reads gold; asserts that it agrees with the strict one."""
    read = 0
    for size in (SPAN_WINDOW_BYTES, 96):
        classes = spec.classes if declared else None
        with source.path.open("rb") as stream:
            how: dict[str, Any] = {"task": spec.task, "classes": classes, "limits": limits, "window": size}
            quick = read_gold(stream, source.kind, **how)
            stream.seek(0)
            as_in_file = read_gold(stream, source.kind, **how, sort=False)
        assert (quick is None) is (as_in_file is None)
        if quick is None or as_in_file is None or not is_valid_vocabulary(replace(spec, classes=quick.classes), limits):
            continue
        assert strict is not None, f"accepted what the strict reader refuses: {source.path.read_bytes()[:2000]!r}"
        assert quick.tables.ids.texts() == strict.ids
        assert quick.classes == strict.spec.classes
        assert quick.tables.classes.texts() == list(quick.classes)
        assert code_sets(quick.labels) == code_sets(strict.labels)
        assert (quick.labels.offsets is None) is (strict.labels.offsets is None)
        assert_equal_arrays(quick.splits, strict.splits)
        assert_equal_arrays(quick.weights, strict.weights)
        assert quick.weight_unit == strict.weight_unit
        ids = as_in_file.tables.ids.texts()
        order = np.array(sorted(range(len(ids)), key=ids.__getitem__))
        assert [ids[at] for at in order] == strict.ids
        assert code_sets(as_in_file.labels.take(order)) == code_sets(strict.labels)
        assert_equal_arrays(None if as_in_file.splits is None else as_in_file.splits[order], strict.splits)
        assert_equal_arrays(None if as_in_file.weights is None else as_in_file.weights[order], strict.weights)
        read += 1
    return read


def assert_same_gold(found: Gold | None, other: Gold | None) -> None:
    """All parts of two golds are equal."""
    assert (found is None) is (other is None)
    if found is None or other is None:
        return
    assert found.ids == other.ids
    assert list(found.template_ids) == list(other.template_ids)
    assert (found.spec, found.notes, found.void) == (other.spec, other.notes, other.void)
    assert found.weight_unit == other.weight_unit
    pairs: list[tuple[Any, Any]] = [
        (found.labels.codes, other.labels.codes),
        (found.labels.offsets, other.labels.offsets),
    ]
    pairs += [(found.splits, other.splits), (found.weights, other.weights)]
    for name in ("folds", "groups"):
        parts, others = getattr(found, name), getattr(other, name)
        assert (parts is None) is (others is None)
        if parts is not None:
            assert tuple(parts.names) == tuple(others.names)
            pairs.append((parts.codes, others.codes))
    for mine, theirs in pairs:
        assert_equal_arrays(mine, theirs)
    assert (found.tables is None) is (other.tables is None)
    if found.tables is not None and other.tables is not None:
        assert found.tables.ids.texts() == other.tables.ids.texts()
        assert found.tables.classes.texts() == other.tables.classes.texts()


def assert_equal_arrays(one: Any, other: Any) -> None:
    """Two arrays, or None, have the same type and values."""
    assert (one is None) is (other is None)
    if one is not None:
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


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
