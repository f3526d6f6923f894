"""The window of the vectorized readers: the bytes of the file, read once."""

import io
import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import DEFAULT_LIMITS, ReadingRules
from app.formats.vectorized.prediction_reader import read_predictions
from app.formats.vectorized.span_window import LEADING_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout
from app.pipeline import build_lookup_tables
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex, PredictionArrays
from app.scoring.string_table import PADDING_BYTES
from tests.each_case import for_each

CLASSES = ("cat", "dog")
_STEPS = st.lists(
    st.tuples(st.sampled_from(["fill", "ahead", "drop", "tail", "prepend", "append"]), st.integers(0, 200)),
    max_size=30,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=90).map(lambda piece: piece.replace(b"!", b".")), max_size=12), _STEPS)
def test_a_window_holds_the_bytes_of_the_file_that_follow(
    pieces: list[bytes], steps: Sequence[tuple[str, int]]
) -> None:
    window, rest, held = SpanWindow(iter(pieces), b"!", size=32), b"".join(pieces), b""
    for step, count in steps:
        if step in {"fill", "ahead"}:
            if step == "fill":
                window.fill(count)
            else:
                assert window.ahead(count) == (held + rest)[:count]
            assert len(window) >= len(held)
            held, rest = (held + rest)[: len(window)], (held + rest)[len(window) :]
            assert len(held) >= min(count, len(held + rest))
            assert window.ended <= (not rest)
        elif step == "drop":
            window.drop(min(count, len(held)))
            held = held[min(count, len(held)) :]
        elif step == "tail":
            window.replace_tail(min(count, len(held)), b"xyz")
            held = held[:count] + b"xyz"
        elif step == "append":
            window.append(bytes(count % 7))
            held += bytes(count % 7)
        else:
            front = b"." * min(count, LEADING_BYTES)
            window.prepend(front)
            assert window.data.tobytes() == front + held
            assert len(window.data_and_leading) >= LEADING_BYTES + len(front + held) + PADDING_BYTES
            window.drop(len(front))
        assert window.data.tobytes() == held
        assert window.data_and_leading[LEADING_BYTES : LEADING_BYTES + len(held)].tobytes() == held
        # A word can be read at each offset, and an id of the greatest length behind it.
        assert len(window.view) >= len(held) + PADDING_BYTES - 7


@given(st.binary(max_size=100), st.integers(0, 100))
def test_a_forbidden_byte_is_found_wherever_it_is(text: bytes, at: int) -> None:
    window = SpanWindow(
        iter([text.replace(b"!", b"."), text[:at].replace(b"!", b".") + b"!" + text[at:]]), b"!", size=16
    )
    with pytest.raises(UnsupportedLayout):
        window.fill(10_000)


class _Counted(io.BytesIO):
    """A stream that counts the bytes read from it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


def _rows(name: str, values: Sequence[object]) -> bytes:
    return json.dumps([{"id": f"t{at}", name: value} for at, value in enumerate(values)]).encode()


def _columns(name: str, values: Sequence[object]) -> bytes:
    return json.dumps({"ids": [f"t{at}" for at in range(len(values))], name: values}).encode()


_COUNT = 3000
_SCORES = [[at / 7, at / 3] for at in range(_COUNT)]
_LABELS = [CLASSES[at % 2] for at in range(_COUNT)]
_SETS = [[CLASSES[at % 2]] for at in range(_COUNT)]
_TABLE = "".join(f"t{at},{one!r},{other!r}\n" for at, (one, other) in enumerate(_SCORES))
_FILES: dict[str, tuple[bytes, str, TaskKind]] = {
    "records of labels": (_rows("label", _LABELS), "json", "multiclass"),
    "records of sets": (_rows("labels", _SETS), "json", "multilabel"),
    "records of scores": (_rows("scores", _SCORES), "json", "multiclass"),
    "columns of labels": (_columns("labels", _LABELS), "json", "multiclass"),
    "columns of sets": (_columns("labels", _SETS), "json", "multilabel"),
    "columns of scores": (_columns("scores", _SCORES), "json", "multiclass"),
    "columns of scores of sets": (_columns("scores", _SCORES), "json", "multilabel"),
    "a map": (json.dumps({f"t{at}": label for at, label in enumerate(_LABELS)}).encode(), "json", "multiclass"),
    "a table of labels": (
        ("id,label\n" + "".join(f"t{at},{label}\n" for at, label in enumerate(_LABELS))).encode(),
        "csv",
        "multiclass",
    ),
    "a table of scores": (f"id,cat,dog\n{_TABLE}".encode(), "csv", "multiclass"),
}


def _read(data: bytes, form: str, task: TaskKind, stream: io.BytesIO | None = None) -> PredictionArrays | None:
    spec, ids = TaskSpec(task, CLASSES), [f"t{at}" for at in range(_COUNT)]
    tables = build_lookup_tables(IdIndex(ids), CLASSES)
    assert tables is not None
    rules = ReadingRules(scores="used")
    source = stream or io.BytesIO(data)
    return read_predictions(source, FileKind(form), tables, spec, rules=rules, limits=DEFAULT_LIMITS, window=4096)


@for_each("name", _FILES)
def test_every_file_is_read_once_whatever_it_holds(name: str) -> None:
    data, form, task = _FILES[name]
    stream = _Counted(data)
    found = _read(data, form, task, stream)
    assert found is not None
    assert stream.count == len(data)
    if found.labels is not None:
        assert found.labels.codes.tolist() == [at % 2 for at in range(_COUNT)]
    else:
        assert found.scores is not None
        assert np.array_equal(found.scores, _SCORES)


@for_each("name", ["columns of scores", "columns of scores of sets"])
@for_each(
    "old, new",
    [
        (b'"scores": [[', b'"scores": [], "scores": [['),
        (b'], "scores"', b'], "ids": ["t0"], "scores"'),
        (b'"], "scores"', b'", "], "scores"'),
        (b'], "scores"', b', "scores"'),
        (b'], "scores"', b'}, "scores"'),
        (b'], "scores"', b']] , "scores"'),
        (b'], "scores"', b'], , "scores"'),
        (b'"t7"', b'"t8"'),
        (b'"t7"', b'"t7", "t7"'),
        (b"]]}", b']], "labels": []}'),
        (b"]]}", b"]]"),
    ],
)
def test_what_follows_a_column_of_ids_is_checked(name: str, old: bytes, new: bytes) -> None:
    data, form, task = _FILES[name]
    assert data.count(old) == 1
    assert _read(data.replace(old, new), form, task) is None


def test_classes_may_stand_between_ids_and_scores() -> None:
    data, form, task = _FILES["columns of scores"]
    found = _read(data.replace(b'"scores"', b'"classes": ["dog", "cat"], "scores"'), form, task)
    assert found is not None
    assert found.scores is not None
    assert np.array_equal(found.scores, [row[::-1] for row in _SCORES])
