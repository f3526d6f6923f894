"""The file formats: each declared once with media types, endings, meaning and examples, and how one is told."""

from dataclasses import dataclass

from app.errors import UnsupportedMedia


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to lay out predictions within a format, with an example for one label and for a set of labels."""

    name: str
    meaning: str
    example: str
    multilabel: str


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is told from others and how it is laid out."""

    key: str
    name: str
    media_types: tuple[str, ...]
    endings: tuple[str, ...]
    meaning: str
    shapes: tuple[Shape, ...]


FORMATS: dict[str, Format] = {
    known.key: known
    for known in (
        Format(
            key="json",
            name="JSON",
            media_types=("application/json",),
            endings=(".json",),
            meaning="One JSON value: records (the main shape), columns, or a map. Problems carry an RFC 6901 pointer.",
            shapes=(
                Shape(
                    name="records",
                    meaning="A list of records, bare or under 'predictions'.",
                    example='{"predictions": [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]}',
                    multilabel='{"predictions": [{"id": "t1", "labels": ["cat", "dog"]}, {"id": "t2", "labels": []}]}',
                ),
                Shape(
                    name="columns",
                    meaning="Two lists of equal length: ids and labels (multi-label: a list of lists).",
                    example='{"ids": ["t1", "t2"], "labels": ["cat", "dog"]}',
                    multilabel='{"ids": ["t1", "t2"], "labels": [["cat", "dog"], []]}',
                ),
                Shape(
                    name="map",
                    meaning="An object from id to label (multi-label: to a list of labels).",
                    example='{"t1": "cat", "t2": "dog"}',
                    multilabel='{"t1": ["cat", "dog"], "t2": []}',
                ),
                Shape(
                    name="documents",
                    meaning="The BioASQ and MESINESP body: records under 'documents', the id as 'id' or 'pmid'.",
                    example='{"documents": [{"pmid": 101, "label": "cat"}, {"pmid": 102, "label": "dog"}]}',
                    multilabel='{"documents": [{"pmid": 101, "labels": ["cat", "dog"]}, {"pmid": 102, "labels": []}]}',
                ),
            ),
        ),
        Format(
            key="jsonl",
            name="JSON Lines",
            media_types=("application/x-ndjson", "application/jsonl"),
            endings=(".jsonl", ".ndjson"),
            meaning="One JSON record a line. Problems carry the line, and a pointer within its record.",
            shapes=(
                Shape(
                    name="lines",
                    meaning="One record a line; no blank lines.",
                    example='{"id": "t1", "label": "cat"}\n{"id": "t2", "label": "dog"}\n',
                    multilabel='{"id": "t1", "labels": ["cat", "dog"]}\n{"id": "t2", "labels": []}\n',
                ),
            ),
        ),
        Format(
            key="csv",
            name="CSV",
            media_types=("text/csv",),
            endings=(".csv",),
            meaning="Comma-separated values with a header; a field with a comma, quote or line end stands in double "
            "quotes. Problems carry the line and, as column, the number of the field.",
            shapes=(
                Shape(
                    name="table",
                    meaning="The header names 'id' and 'label'; several labels are joined by '|', none is an empty field.",
                    example="id,label\nt1,cat\nt2,dog\n",
                    multilabel="id,label\nt1,cat|dog\nt2,\n",
                ),
            ),
        ),
    )
}

_BY_FILENAME = frozenset({"", "application/x-www-form-urlencoded", "application/octet-stream"})
_UNREAD = (".tsv", ".npz", ".parquet", ".arrow", ".zst", ".zip", ".bz2", ".xz", ".tar", ".tgz", ".xlsx", ".xls")


@dataclass(frozen=True, slots=True)
class FileKind:
    """How to read a file: its format ("json", "jsonl", "csv") and whether it is gzipped."""

    format: str
    gzipped: bool = False


def accepted() -> str:
    """Name every media type that is read, as advice for who sent another."""
    types = [media for known in FORMATS.values() for media in known.media_types]
    return f"Send {', '.join(types)}; plain or with Content-Encoding: gzip (or a file name that ends in .gz)."


def file_kind(filename: str | None, media_type: str | None, encoding: str | None) -> FileKind:
    """Tell format and compression from media type, file name and Content-Encoding, in this order.

    A media type decides; where it is absent, form-urlencoded or octet-stream, the file name's ending does; else it
    is JSON. Raises UnsupportedMedia, which names what is accepted.
    """
    name = (filename or "").strip().lower()
    gzipped = _is_gzip(encoding) or name.endswith(".gz")
    media, _, parameters = (media_type or "").partition(";")
    media = media.strip().lower()
    _check_charset(parameters)
    if media in _BY_FILENAME:
        return FileKind(_format_by_ending(name.removesuffix(".gz")), gzipped)
    for known in FORMATS.values():
        if media in known.media_types:
            return FileKind(known.key, gzipped)
    raise UnsupportedMedia(f"The media type '{media}' is not read here.", remedy=accepted())


def _is_gzip(encoding: str | None) -> bool:
    name = (encoding or "").strip().lower()
    if name in {"", "identity"}:
        return False
    if name in {"gzip", "x-gzip"}:
        return True
    raise UnsupportedMedia(f"The content encoding '{name}' is not read here.", remedy=accepted())


def _check_charset(parameters: str) -> None:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if key.strip().lower() == "charset" and charset not in {"utf-8", "utf8", "us-ascii"}:
            raise UnsupportedMedia(
                f"The charset '{charset}' is not read here; save the file as UTF-8.", remedy=accepted()
            )


def _format_by_ending(name: str) -> str:
    for known in FORMATS.values():
        if name.endswith(known.endings):
            return known.key
    if name.endswith(_UNREAD):
        raise UnsupportedMedia(f"Files that end in '{name[name.rindex('.') :]}' are not read here.", remedy=accepted())
    return "json"
