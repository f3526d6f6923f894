"""Files with much more content than the answers, as people send them, stay within the limits of their phase."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from app.formats.content.format_detection import FileKind
from app.formats.phase_size_limits import PhaseSize, limits_for_phase, max_upload_bytes
from app.formats.reading_rules import DEFAULT_LIMITS, ReadingRules
from app.pipeline import SourceFile, validate_predictions
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.each_case import for_each
from tests.formats.fault_table.write import columnar, npz

FileContent = tuple[bytes, FileKind]


class _Phase:
    """Instances and classes with names of some length."""

    def __init__(self, instances: int, classes: int, *, id_size: int = 12) -> None:
        self.ids = [f"{number:0{id_size}d}" for number in range(instances)]
        self.classes = [f"class {number}" for number in range(classes)]
        self.scores = np.random.default_rng(1).random((instances, classes))


def texts(phase: _Phase, form: str) -> FileContent:
    text = ('Œuvre "no." 7, ' * 300)[:4000]
    note = {"text": text, "note": 'good, "but" short', "label": phase.classes[0]}
    return _serialize([{"": row, "id": name} | note for row, name in enumerate(phase.ids)], form), FileKind(form)


def _serialize(rows: list[dict[str, Any]], form: str) -> bytes:
    """A table with its index, as frames of data are written."""
    if form == "json":
        return json.dumps(rows, indent=4).encode()
    if form == "parquet":
        return columnar("parquet", pa.Table.from_pylist(rows))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def many_fields(phase: _Phase) -> FileContent:
    more = {f"feature number {number}": round(number / 7, 17) for number in range(30)}
    rows = [{"id": name, "label": phase.classes[0], **more} for name in phase.ids]
    return json.dumps(rows, indent=8).encode(), FileKind("json")


def scores_in_full(phase: _Phase) -> FileContent:
    rows = [
        {"id": name, "scores": dict(zip(phase.classes, map(float, row), strict=True)), "label": phase.classes[0]}
        for name, row in zip(phase.ids, phase.scores, strict=True)
    ]
    return json.dumps(rows, indent=8).encode(), FileKind("json")


def arrays(phase: _Phase) -> FileContent:
    return npz(ids=phase.ids, scores=phase.scores, classes=phase.classes), FileKind("npz")


def long_table(phase: _Phase, form: str) -> FileContent:
    """All pairs with their scores, an index and two more columns."""
    more = {"fold": 3, "model": "a model, of some size"}
    pairs = enumerate((at, name) for at in range(len(phase.classes)) for name in range(len(phase.ids)))
    rows = [
        {"": row, "id": phase.ids[name], "label": phase.classes[at], "score": float(phase.scores[name, at])} | more
        for row, (at, name) in pairs
    ]
    return _serialize(rows, form), FileKind(form, layout="long")


FILES: dict[str, tuple[_Phase, TaskKind, Callable[[_Phase], FileContent]]] = {
    "texts in JSON": (_Phase(4000, 2), "multiclass", lambda phase: texts(phase, "json")),
    "texts in CSV": (_Phase(4000, 2), "multiclass", lambda phase: texts(phase, "csv")),
    "texts in Parquet": (_Phase(4000, 2), "multiclass", lambda phase: texts(phase, "parquet")),
    "many fields": (_Phase(2000, 2), "multiclass", many_fields),
    "scores in full": (_Phase(100, 400), "multiclass", scores_in_full),
    "scores as binary64": (_Phase(2000, 400), "multiclass", arrays),
    "pairs with long ids": (_Phase(60, 900, id_size=300), "multilabel", lambda phase: long_table(phase, "csv")),
    "all pairs in CSV": (_Phase(60, 900), "multilabel", lambda phase: long_table(phase, "csv")),
    "all pairs in Parquet": (_Phase(60, 900), "multilabel", lambda phase: long_table(phase, "parquet")),
}


@pytest.mark.ci
@for_each("name", FILES)
def test_what_people_send_beside_the_answers_fits(name: str, tmp_path: Path) -> None:
    phase, task, write = FILES[name]
    body, kind = write(phase)
    path = tmp_path / "file"
    path.write_bytes(body)
    spec = TaskSpec(task, tuple(phase.classes))
    rules = ReadingRules(scores="due" if "scores" in name else "ignored")
    found, problems, _ = validate_predictions(phase.ids, spec, SourceFile(path, kind), rules=rules)
    assert problems.to_dict()["problems"] == []
    assert found is not None
    needs = PhaseSize.of(phase.ids, phase.classes)
    assert len(body) <= max_upload_bytes(needs, DEFAULT_LIMITS, pairs=kind.layout == "long")


def test_a_phase_of_some_size_has_a_limit_far_below_that_of_the_site() -> None:
    needs = PhaseSize(instances=5000, longest_id_bytes=16, classes=3, class_names_bytes=30)
    assert limits_for_phase(needs, DEFAULT_LIMITS).expanded_bytes < 50 << 20


def test_all_pairs_may_have_an_index_scores_and_more() -> None:
    limits = limits_for_phase(
        PhaseSize(instances=1000, longest_id_bytes=16, classes=1000, class_names_bytes=8000), DEFAULT_LIMITS, pairs=True
    )
    assert limits.pairs is not None
    assert limits.pairs >= 1_000_000
    assert limits.values >= 12 * 1_000_000
    assert limits.expanded_bytes >= 100 * 1_000_000
