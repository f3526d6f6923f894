import pytest

from app.errors import UnsupportedMedia
from app.formats import FORMATS, FileKind, file_kind
from tests.formats.support import IDS, predict, sets


@pytest.mark.parametrize(
    ("filename", "media_type", "encoding", "expected"),
    [
        (None, None, None, FileKind("json")),
        ("p.csv", None, None, FileKind("csv")),
        ("P.CSV.GZ", "", None, FileKind("csv", gzipped=True)),
        ("p.ndjson", "application/octet-stream", None, FileKind("jsonl")),
        ("p.jsonl", "application/x-www-form-urlencoded", "identity", FileKind("jsonl")),
        ("predictions", None, None, FileKind("json")),
        ("p.csv", "application/json", None, FileKind("json")),
        ("p.csv.gz", "application/json", None, FileKind("json", gzipped=True)),
        (None, "text/csv; charset=UTF-8", "gzip", FileKind("csv", gzipped=True)),
        (None, " Application/X-NDJSON ", "GZIP", FileKind("jsonl", gzipped=True)),
    ],
)
def test_the_media_type_decides_then_the_file_name_then_json(
    filename: str | None, media_type: str | None, encoding: str | None, expected: FileKind
) -> None:
    assert file_kind(filename, media_type, encoding) == expected


@pytest.mark.parametrize(
    ("filename", "media_type", "encoding"),
    [
        (None, "application/pdf", None),
        ("p.json", "text/plain", None),
        (None, "application/json", "br"),
        (None, "application/json", "zstd"),
        (None, "application/json", "gzip, gzip"),
        ("p.json.zst", None, None),
        ("p.tsv", None, None),
        ("p.parquet", "application/octet-stream", None),
        (None, "text/csv; charset=latin-1", None),
    ],
)
def test_what_nobody_reads_is_refused_and_the_accepted_types_are_named(
    filename: str | None, media_type: str | None, encoding: str | None
) -> None:
    with pytest.raises(UnsupportedMedia) as caught:
        file_kind(filename, media_type, encoding)
    assert caught.value.status == 415
    for known in FORMATS.values():
        assert known.media_types[0] in caught.value.advice


@pytest.mark.parametrize(
    ("key", "shape"), [(key, n) for key, known in FORMATS.items() for n in range(len(known.shapes))]
)
def test_every_declared_example_is_read_as_declared(key: str, shape: int) -> None:
    declared = FORMATS[key].shapes[shape]
    ids = ("101", "102") if declared.name == "documents" else IDS[:2]
    labels, problems = predict(declared.example, key, ids=ids)
    assert not problems
    assert sets(labels) == [[0], [1]]
    labels, problems = predict(declared.multilabel, key, ids=ids, multilabel=True)
    assert not problems
    assert sets(labels) == [[0, 1], []]


def test_every_ending_and_media_type_leads_to_its_format() -> None:
    for key, known in FORMATS.items():
        for ending in known.endings:
            assert file_kind(f"p{ending}", None, None).format == key
        for media in known.media_types:
            assert file_kind(None, media, None).format == key
