"""The declarations of the file formats and encodings, with an example of each shape for each kind of answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FormatShape:
    """One way to lay out predictions within a format, with examples.

    `example` gives one label to each instance, `multilabel` a set of labels, `scores` a score for each class, `score`
    (binary tasks) the score of the positive label alone; empty where the shape has no such form. Examples of binary
    formats are Python that writes the file `predictions` and its ending.
    """

    name: str
    meaning: str
    example: str = ""
    multilabel: str = ""
    scores: str = ""
    score: str = ""
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is told from others and how it is laid out.

    `magic` begins every such file; `library` must be installed to read it; a `table` has named columns and may be long.
    """

    key: str
    name: str
    media_types: tuple[str, ...]
    endings: tuple[str, ...]
    meaning: str
    shapes: tuple[FormatShape, ...]
    magic: bytes = b""
    library: str | None = None
    table: bool = False

    @property
    def binary(self) -> bool:
        """Whether its bytes are no text."""
        return bool(self.magic)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A compression around a file: its names in Content-Encoding, the ending it adds, and how its bytes begin."""

    key: str
    names: tuple[str, ...]
    ending: str
    magic: bytes
    source: str


ENCODINGS: dict[str, Encoding] = {
    known.key: known
    for known in (
        Encoding("gzip", ("gzip", "x-gzip"), ".gz", b"\x1f\x8b", "RFC 1952"),
        Encoding("zstd", ("zstd",), ".zst", b"\x28\xb5\x2f\xfd", "RFC 8878"),
    )
}

_JSON = Format(
    key="json",
    name="JSON",
    media_types=("application/json",),
    endings=(".json",),
    meaning="One JSON value (RFC 8259): records (the main shape), columns, or a map. Problems carry an RFC 6901 pointer.",
    shapes=(
        FormatShape(
            name="records",
            meaning="A list of records, bare or under 'predictions'. Scores are an object by class, or a list in the "
            "order of the classes: that of the list 'classes' beside 'predictions', or else of the challenge.",
            example='{"predictions": [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]}',
            multilabel='{"predictions": [{"id": "t1", "labels": ["cat", "dog"]}, {"id": "t2", "labels": []}]}',
            scores='{"predictions": [{"id": "t1", "scores": {"cat": 0.7, "dog": 0.3}}, '
            '{"id": "t2", "scores": {"cat": 0.2, "dog": 0.8}}]}',
            score='{"predictions": [{"id": "t1", "score": 0.7}, {"id": "t2", "score": 0.2}]}',
        ),
        FormatShape(
            name="columns",
            meaning="Lists of equal length: ids and labels (multi-label: a list of lists), or ids, classes and scores.",
            example='{"ids": ["t1", "t2"], "labels": ["cat", "dog"]}',
            multilabel='{"ids": ["t1", "t2"], "labels": [["cat", "dog"], []]}',
            scores='{"ids": ["t1", "t2"], "classes": ["cat", "dog"], "scores": [[0.7, 0.3], [0.2, 0.8]]}',
            score='{"ids": ["t1", "t2"], "scores": [0.7, 0.2]}',
        ),
        FormatShape(
            name="map",
            meaning="An object from id to label (multi-label: to a list of labels; scores: to an object by class).",
            example='{"t1": "cat", "t2": "dog"}',
            multilabel='{"t1": ["cat", "dog"], "t2": []}',
            scores='{"t1": {"cat": 0.7, "dog": 0.3}, "t2": {"cat": 0.2, "dog": 0.8}}',
        ),
        FormatShape(
            name="documents",
            meaning="The BioASQ and MESINESP body: records under 'documents', the id as 'id' or 'pmid'.",
            example='{"documents": [{"pmid": 101, "label": "cat"}, {"pmid": 102, "label": "dog"}]}',
            multilabel='{"documents": [{"pmid": 101, "labels": ["cat", "dog"]}, {"pmid": 102, "labels": []}]}',
        ),
    ),
)
_JSON_LINES = Format(
    key="jsonl",
    name="JSON Lines",
    media_types=("application/x-ndjson", "application/jsonl"),
    endings=(".jsonl", ".ndjson"),
    meaning="One JSON record a line. Problems carry the line, and a pointer within its record.",
    shapes=(
        FormatShape(
            name="lines",
            meaning="One record a line; no blank lines.",
            example='{"id": "t1", "label": "cat"}\n{"id": "t2", "label": "dog"}\n',
            multilabel='{"id": "t1", "labels": ["cat", "dog"]}\n{"id": "t2", "labels": []}\n',
            scores='{"id": "t1", "scores": {"cat": 0.7, "dog": 0.3}}\n{"id": "t2", "scores": [0.2, 0.8]}\n',
            score='{"id": "t1", "score": 0.7}\n{"id": "t2", "score": 0.2}\n',
        ),
    ),
)


def _delimited_format(key: str, *, media: str, endings: tuple[str, ...], sign: str, meaning: str) -> Format:
    """CSV and TSV differ in their separator only."""

    def rows(*lines: tuple[str, ...]) -> str:
        return "".join(sign.join(line) + "\n" for line in lines)

    return Format(
        key=key,
        name=key.upper(),
        media_types=(media,),
        endings=endings,
        meaning=meaning,
        table=True,
        shapes=(
            FormatShape(
                name="table",
                meaning="The header names 'id' and 'label'; several labels are joined by '|', none is an empty field. "
                "Scores have a column for each class, named by it; the score of the positive label is called 'score'.",
                example=rows(("id", "label"), ("t1", "cat"), ("t2", "dog")),
                multilabel=rows(("id", "label"), ("t1", "cat|dog"), ("t2", "")),
                scores=rows(("id", "cat", "dog"), ("t1", "0.7", "0.3"), ("t2", "0.2", "0.8")),
                score=rows(("id", "score"), ("t1", "0.7"), ("t2", "0.2")),
            ),
            FormatShape(
                name="long table",
                meaning="With layout=long, one row per pair of instance and label; an empty label alone is no label.",
                multilabel=rows(("id", "label"), ("t1", "cat"), ("t2", ""), ("t1", "dog")),
                layout="long",
            ),
        ),
    )


_CSV = _delimited_format(
    "csv",
    media="text/csv",
    endings=(".csv",),
    sign=",",
    meaning="Comma-separated values with a header (RFC 4180); a field with a comma, quote or line end stands in double quotes. "
    "Problems carry the line and, as column, the number of the field.",
)
_TSV = _delimited_format(
    "tsv",
    media="text/tab-separated-values",
    endings=(".tsv", ".tab"),
    sign="\t",
    meaning="As CSV, separated by tabs.",
)
_NPZ = Format(
    key="npz",
    name="NumPy .npz",
    media_types=("application/x-npz",),
    endings=(".npz",),
    meaning="Arrays by name, as numpy.savez and savez_compressed write them: the fast way to send many scores. Pickled "
    "objects are refused. Problems carry a pointer: the array, the row, the column, from 0.",
    magic=b"PK",
    shapes=(
        FormatShape(
            name="arrays",
            meaning="ids (n texts or integers) with classes (m texts) and scores (n × m, float32 or float64), or with "
            "labels (n texts, several joined by '|').",
            example='numpy.savez("predictions.npz", ids=["t1", "t2"], labels=["cat", "dog"])',
            multilabel='numpy.savez("predictions.npz", ids=["t1", "t2"], labels=["cat|dog", ""])',
            scores='numpy.savez("predictions.npz", ids=["t1", "t2"], classes=["cat", "dog"], '
            "scores=[[0.7, 0.3], [0.2, 0.8]])",
            score='numpy.savez("predictions.npz", ids=["t1", "t2"], scores=[0.7, 0.2])',
        ),
    ),
)


def _arrow_format(key: str, *, name: str, media: str, endings: tuple[str, ...], magic: bytes, writer: str) -> Format:
    """Parquet and Arrow files differ in who writes them only."""

    def example(columns: str) -> str:
        return f"table = pyarrow.table({{{columns}}})\n{writer}"

    return Format(
        key=key,
        name=name,
        media_types=(media,),
        endings=endings,
        meaning="Columns as in CSV, with list columns for sets of labels and for scores. Read where the library pyarrow "
        "is installed (assay[arrow]). Problems carry a pointer: the column, then the row from 0.",
        magic=magic,
        library="pyarrow",
        table=True,
        shapes=(
            FormatShape(
                name="columns",
                meaning="id with label (or labels, a list column), with a column of float32 or float64 for each class, with "
                "scores (a list column in the order of the classes), or with score.",
                example=example('"id": ["t1", "t2"], "label": ["cat", "dog"]'),
                multilabel=example('"id": ["t1", "t2"], "labels": [["cat", "dog"], []]'),
                scores=example('"id": ["t1", "t2"], "cat": [0.7, 0.2], "dog": [0.3, 0.8]'),
                score=example('"id": ["t1", "t2"], "score": [0.7, 0.2]'),
            ),
            FormatShape(
                name="long columns",
                meaning="With layout=long, one row per pair of instance and label; an empty label alone is no label.",
                multilabel=example('"id": ["t1", "t2", "t1"], "label": ["cat", "", "dog"]'),
                layout="long",
            ),
        ),
    )


_PARQUET = _arrow_format(
    "parquet",
    name="Parquet",
    media="application/vnd.apache.parquet",
    endings=(".parquet", ".pq"),
    magic=b"PAR1",
    writer='pyarrow.parquet.write_table(table, "predictions.parquet")',
)
_ARROW = _arrow_format(
    "arrow",
    name="Arrow IPC",
    media="application/vnd.apache.arrow.file",
    endings=(".arrow", ".feather"),
    magic=b"ARROW1",
    writer='pyarrow.feather.write_feather(table, "predictions.arrow")',
)

FORMATS: dict[str, Format] = {known.key: known for known in (_JSON, _JSON_LINES, _CSV, _TSV, _NPZ, _PARQUET, _ARROW)}
"""Every format, the main one first."""
