"""Files of scores that the vectorized reader might misread, or that might cost it more than the strict reader."""

import gzip
import subprocess
import sys
import tracemalloc

import pytest

from app.formats.reading_rules import ReadingRules
from app.formats.vectorized.scores import score_reader
from app.formats.vectorized.span_window import SpanWindow
from app.scoring.declaration.task import TaskSpec
from tests.formats.reading import read_answers
from tests.formats.test_vectorized_scores import read_vectorized
from tests.live_service import MAX_WAIT_SECONDS


def test_an_empty_member_of_compressed_data_is_not_its_end() -> None:
    rows = b'{"id":"a","scores":[1,2]}\n{"id":"b","scores":[1,2]}\n'
    empty, spec, rules = gzip.compress(b"") * 20, TaskSpec("multiclass", ("x", "y")), ReadingRules()
    for raw, sound in (
        (gzip.compress(rows) + empty, True),
        (gzip.compress(rows[:31]) + empty + gzip.compress(rows[31:]), True),
        (gzip.compress(rows) + empty + gzip.compress(b"x"), False),
        (gzip.compress(rows) + empty + b"no gzip", False),
    ):
        found, _ = read_answers(raw, "jsonl", ids=["a", "b"], classes=spec.classes, encoding="gzip")
        assert (found is not None) is sound
        quick = read_vectorized(raw, "jsonl", ["a", "b"], spec, rules, encoding="gzip")
        assert (quick is not None) is sound


def test_a_class_with_a_line_end_is_no_column() -> None:
    raw, spec = b"id,x\r,y\na,1,2\nb,3,4\n", TaskSpec("multiclass", ("x\r", "y"))
    assert read_answers(raw, "csv", ids=["a", "b"], classes=spec.classes)[0] is None
    assert read_vectorized(raw, "csv", ["a", "b"], spec, ReadingRules()) is None


def test_what_a_file_repeats_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    skip_whitespace = score_reader._skip_whitespace

    def counted(window: SpanWindow) -> None:
        looked.append(len(window))
        skip_whitespace(window)

    monkeypatch.setattr(score_reader, "_skip_whitespace", counted)
    raw = b"{" + b",".join([b'"classes":["x","y"]'] * 1000) + b"}"
    assert read_vectorized(raw, "json", ["a", "b"], TaskSpec("multiclass", ("x", "y")), ReadingRules()) is None
    assert len(looked) < 20


def test_many_names_of_classes_take_little_memory() -> None:
    raw, spec = b'{"classes":[' + b'"",' * 300_000 + b'""]}', TaskSpec("multiclass", ("x", "y"))
    tracemalloc.start()
    try:
        assert read_vectorized(raw, "json", ["a", "b"], spec, ReadingRules()) is None
        assert tracemalloc.get_traced_memory()[1] < 12 * len(raw)
    finally:
        tracemalloc.stop()


_LARGE_GOLD = """
import io, resource
from app.formats.vectorized.id_join import LookupTables
from app.formats.vectorized.prediction_reader import read_predictions
from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import DEFAULT_LIMITS, ReadingRules
from app.scoring.declaration.task import TaskSpec
from app.scoring.string_table import StringTable
ids = StringTable.build([f"t{at}" for at in range(200_000)])
spec = TaskSpec("multilabel", tuple(f"c{at}" for at in range(2000)))
rows = [f'{{"id":"t{at}","scores":[{",".join(["1"] * 2000)}]}}' for at in range(3)]
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
stream = io.BytesIO(f"[{','.join(rows)}]".encode())
tables = LookupTables(ids, StringTable.build(spec.classes))
print(read_predictions(stream, FileKind("json"), tables, spec, rules=ReadingRules(), limits=DEFAULT_LIMITS))
"""


def test_a_small_file_is_not_too_large_because_the_scores_of_all_instances_would_be() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LARGE_GOLD], capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("None", 0), done.stderr
