import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from app.errors import BadRequest, UnsupportedMedia
from app.formats import FORMATS, FileKind, detect_file_kind, media_type_in_form
from app.scoring.declaration.task import TaskKind
from tests.each_case import for_each
from tests.formats.reading import CLASSES, IDS, code_sets, read_answers


@for_each(
    "filename, media_type, encoding, expected",
    [
        (None, None, None, FileKind("json")),
        ("p.csv", None, None, FileKind("csv")),
        ("P.CSV.GZ", "", None, FileKind("csv", "gzip")),
        ("p.ndjson", "application/octet-stream", None, FileKind("jsonl")),
        ("p.jsonl", "application/x-www-form-urlencoded", "identity", FileKind("jsonl")),
        ("predictions", None, None, FileKind("json")),
        ("p.csv", "application/json", None, FileKind("json")),
        ("p.csv.gz", "application/json", None, FileKind("json", encoding="gzip")),
        (None, "text/csv; charset=UTF-8", "gzip", FileKind("csv", "gzip")),
        ("P.TSV.ZST", None, None, FileKind("tsv", "zstd")),
        ("p.json.gz", None, "x-gzip", FileKind("json", "gzip")),
        ("p.parquet", "application/octet-stream", "zstd", FileKind("parquet", "zstd")),
        (None, "application/x-npz", None, FileKind("npz")),
        (None, "application/vnd.apache.arrow.file", None, FileKind("arrow")),
        (None, " Application/X-NDJSON ", "GZIP", FileKind("jsonl", encoding="gzip")),
    ],
)
def test_the_media_type_decides_then_the_file_name_then_json(
    filename: str | None, media_type: str | None, encoding: str | None, expected: FileKind
) -> None:
    assert detect_file_kind(filename, media_type, encoding) == expected


@for_each(
    "filename, media_type, encoding",
    [
        (None, "application/pdf", None),
        ("p.json", "text/plain", None),
        (None, "application/json", "br"),
        (None, "application/json", "gzip, gzip"),
        (None, "application/json", "gzip, zstd"),
        ("p.json.gz", None, "zstd"),
        ("p.json.xz", None, None),
        ("p.npy", None, None),
        ("p.xlsx", "application/octet-stream", None),
        (None, "text/csv; charset=latin-1", None),
    ],
)
def test_what_nobody_reads_is_refused_and_the_accepted_types_are_named(
    filename: str | None, media_type: str | None, encoding: str | None
) -> None:
    with pytest.raises(UnsupportedMedia) as caught:
        detect_file_kind(filename, media_type, encoding)
    assert caught.value.status == 415
    for known in FORMATS.values():
        assert known.media_types[0] in caught.value.advice or "Remove Content-Encoding" in caught.value.advice
    assert ("Rename the file" in str(caught.value)) == (media_type == "text/plain")


@for_each(
    "filename, media_type, expected",
    [
        ("p.csv", "application/vnd.ms-excel", None),
        ("P.CSV.gz", "application/x-gzip", None),
        ("p.npz", "application/x-zip-compressed", None),
        ("p.json", "text/plain", None),
        ("p.xlsx", "application/zip", None),
        ("p.zip", "application/zip", None),
        ("p.csv", "application/json", "application/json"),
        ("p.txt", "text/csv; charset=utf-8", "text/csv; charset=utf-8"),
        ("p.txt", "text/plain", "text/plain"),
        ("p.pdf", "application/pdf", "application/pdf"),
        ("p", None, None),
    ],
)
def test_the_name_of_a_file_in_a_form_decides_where_its_media_type_is_no_format(
    filename: str, media_type: str | None, expected: str | None
) -> None:
    assert media_type_in_form(filename, media_type) == expected


SHAPES = [(key, at) for key, known in FORMATS.items() for at in range(len(known.shapes))]


def example_bytes(key: str, example: str, folder: Path) -> bytes:
    """The bytes of an example: its text, or the file that its Python code writes."""
    if not FORMATS[key].is_binary:
        return example.encode()
    with TemporaryDirectory(dir=folder) as own, contextlib.chdir(own):  # cases share the folder
        exec(example, {"numpy": np, "pyarrow": pa})
        (written,) = Path(own).iterdir()
        return written.read_bytes()


@for_each("key, at", SHAPES)
@for_each("form", ["example", "multilabel", "scores", "score"])
def test_every_declared_example_is_read_as_declared(key: str, at: int, form: str, tmp_path: Path) -> None:
    shape = FORMATS[key].shapes[at]
    example = getattr(shape, form)
    if not example:
        return  # the shape has no such form
    ids = ("101", "102") if shape.name == "documents" else IDS[:2]
    task: TaskKind = "multilabel" if form == "multilabel" else "binary" if form == "score" else "multiclass"
    positive = "cat" if task == "binary" else None
    raw = example_bytes(key, example, tmp_path)
    found, problems = read_answers(
        raw, key, ids=ids, classes=CLASSES[:2], task=task, positive_label=positive, layout=shape.layout
    )
    assert problems.to_dict()["problems"] == []
    assert found is not None
    if form in {"example", "multilabel"}:
        assert code_sets(found.labels) == ([[0], [1]] if form == "example" else [[0, 1], []])
    else:
        assert found.labels is None
        assert found.scores is not None
        assert found.scores.tolist() == ([[0.7, 0.3], [0.2, 0.8]] if form == "scores" else [[0.7], [0.2]])


@for_each("filename, layout", [("p.csv", "wide"), ("p.json", "long"), ("p.jsonl", "long"), ("p.npz", "long")])
def test_a_layout_that_does_not_fit_is_refused(filename: str, layout: str) -> None:
    with pytest.raises(BadRequest, match="layout"):
        detect_file_kind(filename, None, None, layout)


def test_every_ending_and_media_type_leads_to_its_format() -> None:
    for key, known in FORMATS.items():
        for ending in known.endings:
            assert detect_file_kind(f"p{ending}", None, None).format == key
        for media in known.media_types:
            assert detect_file_kind(None, media, None).format == key


def test_several_encodings_get_other_advice_than_an_unknown_one() -> None:
    details = []
    for encoding in ("br", "gzip, zstd"):
        with pytest.raises(UnsupportedMedia) as refusal:
            detect_file_kind(None, "application/json", encoding)
        details.append(refusal.value.detail.replace(encoding, ""))
    assert details[1].startswith(details[0])
    assert details[1] != details[0]
