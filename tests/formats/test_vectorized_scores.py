"""The vectorized reader of scores: whenever it accepts a file, the strict reader finds no problem and the same matrix."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.vectorized.prediction_reader import read_predictions
from app.formats.vectorized.scores.decimal_parsing import parse_binary64
from app.formats.vectorized.span_window import LEADING_BYTES, SPAN_WINDOW_BYTES
from app.pipeline import SourceFile, build_lookup_tables, validate_predictions
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import IdIndex
from app.scoring.numeric.exact import Floats
from app.scoring.string_table import PADDING_BYTES
from tests.each_case import for_each
from tests.formats.reading import read_answers

MANY = settings(max_examples=150, deadline=None)
NAMES = ("ä", "b c", "dog", "e-5", "naïve", "zu,viel", "0.5")


def numbers(texts: Sequence[str]) -> Floats | None:
    """The numbers of these texts, from a buffer in which they follow each other."""
    raw = ",".join(texts).encode()
    buffer = np.frombuffer(b"9" * LEADING_BYTES + raw + b"," + b"7" * PADDING_BYTES, dtype=np.uint8)
    ends = np.flatnonzero(buffer[: LEADING_BYTES + len(raw) + 1] == ord(","))
    return parse_binary64(buffer, np.concatenate([[LEADING_BYTES], ends[:-1] + 1]), ends)


def is_number(text: str) -> bool:
    """Whether strict JSON reads a text as a finite number, and not as the integer -0."""
    try:
        value = json.loads(text, parse_constant=lambda _: None)
    except ValueError:
        return False
    return type(value) in {int, float} and abs(value) < float("inf") and text == text.strip() and text != "-0"


DIGITS = st.text("0123456789", min_size=1, max_size=25)
NUMBER_TEXTS = st.one_of(
    st.floats(0, 1).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1, width=32).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.tuples(st.floats(-1e6, 1e6), st.integers(0, 25)).map(lambda pair: f"{pair[0]:.{pair[1]}f}"),
    st.tuples(st.floats(-1e6, 1e6), st.integers(0, 25)).map(lambda pair: f"{pair[0]:.{pair[1]}e}"),
    st.tuples(DIGITS, DIGITS, st.integers(-330, 330)).map(lambda parts: f"{int(parts[0])}.{parts[1]}E{parts[2]:+}"),
    # half way between two binary64 numbers, and a hair beside it
    st.tuples(st.integers(2**52, 2**53 - 1), st.sampled_from(["5", "50", "4999999999", "5000000001"])).map(
        lambda pair: f"{pair[0]}.{pair[1]}"
    ),
)


@given(st.lists(NUMBER_TEXTS, min_size=1, max_size=20), st.sampled_from([0, 9]))
@MANY
def test_numbers_are_to_the_bit_what_python_makes_of_them(texts: list[str], usual: int) -> None:
    texts = [*texts, *(["0.123", "-0.75"] * (usual * len(texts)))]
    found = numbers(texts)
    if found is None:
        assert not all(map(is_number, texts))
    else:
        assert found.tobytes() == np.array([float(text) for text in texts]).tobytes()


@given(st.lists(NUMBER_TEXTS, max_size=3), st.text('0123456789+-.eE/:;x _é"\0', max_size=12))
@example(["0.5"], "")
@example([], "-")
@example([], "1.")
@example([], "01.5")
@example([], "0.5e")
@example(["1e-7"], "-0")
@MANY
def test_what_is_no_number_is_never_read(others: list[str], text: str) -> None:
    texts = [*(other for other in others if is_number(other)), text]
    assert (numbers(texts) is not None) == is_number(text)
    assert (numbers(["0.5"] * 40 + texts) is not None) == is_number(text)


def test_digits_beyond_64_bits_are_read_without_a_warning() -> None:
    text = "0.000018446744073709551615"  # added up without a look at what is lost, they are 2^64 - 1
    with np.errstate(all="raise"):
        found = numbers([text])
    assert found is not None
    assert found[0] == float(text)


@pytest.mark.parametrize("write", [repr, "{:.6f}".format, "{:.9e}".format], ids=["repr", "fixed", "exponent"])
def test_usual_numbers_are_not_left_to_python(write: Callable[[float], str], monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [write(value) for value in np.random.default_rng(1).random(2000).tolist()]
    monkeypatch.setattr("app.formats.vectorized.scores.decimal_parsing._NUMBER", None)
    assert numbers(texts) is not None


# ---- whole files --------------------------------------------------------------------------------


def records(ids: Sequence[str], rows: Sequence[Sequence[str]], _: Sequence[str]) -> str:
    """Records with lists."""
    made = [
        f'{{"id": {json.dumps(name, ensure_ascii=False)}, "scores": [{", ".join(row)}]}}'
        for name, row in zip(ids, rows, strict=True)
    ]
    return f'{{"predictions": [{", ".join(made)}]}}\n'


def objects(ids: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> str:
    """A list of records with objects, without spaces."""
    made = []
    for name, row in zip(ids, rows, strict=True):
        pairs = ",".join(
            f"{json.dumps(label, ensure_ascii=False)}:{text}" for label, text in zip(classes, row, strict=True)
        )
        made.append(f'{{"scores":{{{pairs}}},"id":{json.dumps(name, ensure_ascii=False)}}}')
    return f"[{','.join(made)}]"


def lines(ids: Sequence[str], rows: Sequence[Sequence[str]], _: Sequence[str]) -> str:
    """JSON Lines."""
    return "".join(
        f'{{"id":{json.dumps(name, ensure_ascii=False)},"scores":[{",".join(row)}]}}\n'
        for name, row in zip(ids, rows, strict=True)
    )


def columns(ids: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> str:
    """Columns, the classes named first."""
    lists = ",\n ".join(f"[{', '.join(row)}]" for row in rows)
    named, given = (json.dumps(list(names), ensure_ascii=False) for names in (classes, ids))
    return f'{{"classes": {named}, "ids": {given}, "scores": [\n {lists}\n]}}'


def columns_late(ids: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> str:
    """Columns, the ids and classes behind the scores."""
    lists = ",".join(f"[{','.join(row)}]" for row in rows)
    named, given = (json.dumps(list(names), ensure_ascii=False) for names in (classes, ids))
    return f'{{"scores": [{lists}], "ids": {given}, "classes": {named}}}'


def table(ids: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> str:
    """CSV."""
    body = [",".join([name, *row]) for name, row in zip(ids, rows, strict=True)]
    return "\r\n".join([",".join(["id", *classes]), *body]) + "\r\n"


def tabs(ids: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> str:
    """TSV, without a line end behind the last row."""
    return table(ids, rows, classes).replace(",", "\t").replace("\r\n", "\n").removesuffix("\n")


Writer = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], str]
WRITERS: dict[str, tuple[Writer, str]] = {
    "records": (records, "json"),
    "objects": (objects, "json"),
    "lines": (lines, "jsonl"),
    "columns": (columns, "json"),
    "columns, scores first": (columns_late, "json"),
    "table": (table, "csv"),
    "tabs": (tabs, "tsv"),
}
OWN_ORDER = {"objects", "columns", "table", "tabs"}
"""Writers whose files may have the classes in any order."""


def read_vectorized(
    raw: bytes,
    kind: str,
    ids: Sequence[str],
    spec: TaskSpec,
    rules: ReadingRules,
    *,
    size: int = SPAN_WINDOW_BYTES,
    limits: Limits = DEFAULT_LIMITS,
    encoding: str = "",
) -> Floats | None:
    """The scores of the vectorized reader; None if it leaves the file to the strict reader."""
    tables = build_lookup_tables(IdIndex(ids), spec.classes)
    assert tables is not None
    stream, source_kind = io.BytesIO(raw), FileKind(kind, encoding)
    found = read_predictions(stream, source_kind, tables, spec, rules=rules, limits=limits, window=size)
    assert found is None or found.labels is None
    return None if found is None else found.scores


def read_strictly(
    raw: bytes, kind: str, ids: Sequence[str], spec: TaskSpec, rules: ReadingRules
) -> tuple[Floats | None, list[str]]:
    """The scores of the strict reader, and the codes of its problems."""
    found, problems = read_answers(
        raw, kind, ids=ids, classes=spec.classes, rules=rules, task=spec.task, positive_label=spec.positive_label
    )
    return None if found is None else found.scores, list(problems.to_dict()["total"])


@st.composite
def valid_files(draw: st.DrawFn) -> tuple[bytes, str, list[str], TaskSpec]:
    """A sound file of some writer: its bytes and kind, the known ids and the task."""
    name = draw(st.sampled_from(sorted(WRITERS)))
    writer, kind = WRITERS[name]
    names = st.sampled_from([text for text in NAMES if "," not in text or kind in {"json", "jsonl"}])
    ids = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    classes = draw(st.lists(names, min_size=2, max_size=4, unique=True))
    texts = NUMBER_TEXTS.filter(is_number)
    rows = [[draw(texts) for _ in classes] for _ in ids]
    order = draw(st.permutations(range(len(ids))))
    own = draw(st.permutations(range(len(classes)))) if name in OWN_ORDER else range(len(classes))
    raw = writer([ids[at] for at in order], [[rows[at][k] for k in own] for at in order], [classes[k] for k in own])
    return raw.encode(), kind, ids, TaskSpec(draw(st.sampled_from(["multiclass", "multilabel"])), tuple(classes))


@given(valid_files(), st.booleans())
@MANY
def test_sound_files_are_read_fast_and_are_what_the_strict_readers_give(
    drawn: tuple[bytes, str, list[str], TaskSpec], probabilities: bool
) -> None:
    raw, kind, ids, spec = drawn
    rules = ReadingRules(scores="due", probabilities=probabilities)
    found, (due, _) = read_vectorized(raw, kind, ids, spec, rules), read_strictly(raw, kind, ids, spec, rules)
    if due is None:
        assert found is None
    elif not any("," in text for text in ids):
        assert found is not None
    if found is not None:
        assert due is not None
        assert found.tobytes() == np.ascontiguousarray(due).tobytes()


@given(valid_files(), st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_files_are_read_fast_only_where_the_strict_readers_agree(
    drawn: tuple[bytes, str, list[str], TaskSpec], data: st.DataObject
) -> None:
    raw, kind, ids, spec = drawn
    at = data.draw(st.integers(0, len(raw)))
    cut = data.draw(st.integers(0, 3))
    put = data.draw(
        st.sampled_from(
            [b"", b" ", b",", b'"', b"]", b"}", b"\n", b"0", b"-", b"\\", b"\xff", b"e", b'{"id":', raw[:at]]
        )
    )
    raw = raw[:at] + put + raw[at + cut :]
    rules = ReadingRules(scores="due")
    found = read_vectorized(raw, kind, ids, spec, rules)
    if found is not None:
        due, wrong = read_strictly(raw, kind, ids, spec, rules)
        assert due is not None, (raw, ids, spec, wrong)
        assert found.tobytes() == np.ascontiguousarray(due).tobytes()


def scored_rows(n: int, m: int) -> tuple[list[str], list[list[str]], list[str], Floats]:
    """Ids, texts of scores, classes, and the scores."""
    scores = np.random.default_rng(3).dirichlet(np.ones(m) / 4, size=n)
    rows = [[repr(value) for value in row] for row in scores.tolist()]
    return [f"instance-{at}" for at in range(n)], rows, [f"class-{k}" for k in range(m)], scores


@for_each("name", WRITERS)
@for_each("at_once", [64, 1000, 1 << 18])
def test_files_larger_than_what_is_looked_at_together(name: str, at_once: int) -> None:
    ids, rows, classes, scores = scored_rows(300, 7)
    order = np.random.default_rng(4).permutation(300)
    writer, kind = WRITERS[name]
    raw = writer([ids[at] for at in order], [rows[at] for at in order], classes).encode()
    found = read_vectorized(
        raw,
        kind,
        ids,
        TaskSpec("multiclass", tuple(classes)),
        ReadingRules(scores="due", probabilities=True),
        size=at_once,
    )
    assert found is not None
    assert np.array_equal(found, scores)


@for_each(
    "text, kind",
    [
        ('{"ids": ["t1", "t2"], "scores": [0.25, 1]}', "json"),
        ('[{"id": "t1", "score": 0.25}, {"id": "t2", "score": 1}]', "json"),
        ('{"id": "t1", "score": 0.25}\n{"id": "t2", "score": 1}\n', "jsonl"),
        ("id,score\nt1,0.25\nt2,1\n", "csv"),
    ],
)
def test_the_score_of_the_positive_label_may_stand_alone(text: str, kind: str) -> None:
    spec = TaskSpec("binary", ("yes", "no"), "yes")
    found = read_vectorized(text.encode(), kind, ["t1", "t2"], spec, ReadingRules())
    assert found is not None
    assert found.tolist() == [[0.25], [1.0]]
    assert (
        read_vectorized(text.encode(), kind, ["t1", "t2"], TaskSpec("multiclass", ("yes", "no")), ReadingRules())
        is None
    )


AMBIGUOUS_FILES: dict[str, Any] = {
    "another key": '{"predictions": [{"id":"a","scores":[1,2]},{"id":"b","scores":[1,2]}], "x": 1}',
    "a key twice": '{"predictions": [{"id":"a","scores":[1,2]},{"id":"b","scores":[1,2]}], "predictions": []}',
    "classes twice": '{"classes":["x","y"],"ids":["a","b"],"classes":["x","y"],"scores":[[1,2],[1,2]]}',
    "classes beside objects": '{"predictions":[{"id":"a","scores":{"x":1,"y":2}},{"id":"b","scores":{"x":1,"y":2}}],"classes":["x","y"]}',
    "an object with a key twice": '[{"id":"a","scores":{"x":1,"x":2}},{"id":"b","scores":{"x":1,"x":2}}]',
    "an id twice": '[{"id":"a","scores":[1,2]},{"id":"a","scores":[1,2]}]',
    "an id too few": '[{"id":"a","scores":[1,2]}]',
    "an id too many": '[{"id":"a","scores":[1,2]},{"id":"b","scores":[1,2]},{"id":"b","scores":[1,2]}]',
    "something behind": '[{"id":"a","scores":[1,2]},{"id":"b","scores":[1,2]}] 1',
    "other classes": '{"classes":["x","z"],"ids":["a","b"],"scores":[[1,2],[1,2]]}',
    "too few scores": '[{"id":"a","scores":[1]},{"id":"b","scores":[1]}]',
    "rows of other widths": '[{"id":"a","scores":[1,2,3]},{"id":"b","scores":[1]}]',
    "labels too": '[{"id":"a","label":"x","scores":[1,2]},{"id":"b","label":"x","scores":[1,2]}]',
    "NaN": '[{"id":"a","scores":[1,NaN]},{"id":"b","scores":[1,2]}]',
    "a comma at the end": '[{"id":"a","scores":[1,2]},{"id":"b","scores":[1,2]},]',
    "minus zero, an integer": '[{"id":"a","scores":[1,-0]},{"id":"b","scores":[1,2]}]',
}


@for_each("name", AMBIGUOUS_FILES)
def test_at_the_first_doubt_nothing_is_read(name: str) -> None:
    assert (
        read_vectorized(
            AMBIGUOUS_FILES[name].encode(), "json", ["a", "b"], TaskSpec("multiclass", ("x", "y")), ReadingRules()
        )
        is None
    )


def test_a_line_end_in_the_last_row_is_not_taken_for_a_separator() -> None:
    spec = TaskSpec("multiclass", ("x", "y"))
    assert read_vectorized(b"id,x,y\na,1,2\nb,1,2", "csv", ["a", "b"], spec, ReadingRules()) is not None
    assert read_vectorized(b"id,x,y\na,1,2\nb,1\n2", "csv", ["a", "b"], spec, ReadingRules()) is None


def test_a_known_id_with_a_quotation_mark_does_not_make_bad_json_good() -> None:
    raw = b'[{"id":"a"b","scores":[1,2]},{"id":"c","scores":[1,2]}]'
    assert read_vectorized(raw, "json", ['a"b', "c"], TaskSpec("multiclass", ("x", "y")), ReadingRules()) is None


def test_validation_takes_the_fast_way(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, rows, classes, scores = scored_rows(50, 3)
    path = tmp_path / "scores.json"
    path.write_text(records(ids, rows, classes))
    monkeypatch.setattr("app.pipeline.read_source", None)
    spec, source = TaskSpec("multiclass", tuple(classes)), SourceFile(path, FileKind("json"))
    found, problems, notes = validate_predictions(ids, spec, source, tables=build_lookup_tables(IdIndex(ids), classes))
    assert found is not None
    assert found.scores is not None
    assert found.labels is None
    assert np.array_equal(found.scores, scores)
    assert not problems
    assert not notes


def test_much_that_is_no_row_is_read_in_a_time_that_grows_with_it_alone() -> None:
    spec, space = TaskSpec("multiclass", ("x", "y")), b" \n" * 400_000
    row = b'[{"id":"a","scores":[1,2]},{"id":"b","scores":[1,2]}]'
    for raw in (
        space + b"!",
        b"[" + space,
        row + space + b"x",
        row[:-1] + space + b"x",
        b'{"classes": ["x"' + space + b"x",
        b'{"scores": [[' + b"1," * 400_000,
        b'{"ids": ["' + b"a" * 1_000_000,
        b'[{"id":"a","label":"x"},' + space,
    ):
        assert read_vectorized(raw, "json", ["a", "b"], spec, ReadingRules()) is None


@for_each("limits", [Limits(records=9), Limits(text_length=100), Limits(nesting=2), Limits(expanded_bytes=200)])
def test_stricter_limits_hold_in_both_tiers(limits: Limits) -> None:
    ids, rows, classes, _ = scored_rows(10, 3)
    raw, spec = records(ids, rows, classes).encode(), TaskSpec("multiclass", tuple(classes))
    assert read_vectorized(raw, "json", ids, spec, ReadingRules()) is not None
    assert read_vectorized(raw, "json", ids, spec, ReadingRules(), limits=limits) is None
