"""The registry of file formats and encodings; each format declares its reader, its templates and its examples."""

from dataclasses import replace

from app.formats.column_data import RawColumns, ReaderContext
from app.formats.format_declaration import Encoding, FileTemplate, Format, FormatShape
from app.formats.readers.csv_table import read_csv, read_semicolon_table, read_tsv
from app.formats.readers.json_document import read_json
from app.formats.readers.json_lines import read_json_lines
from app.formats.readers.npz import read_npz
from app.formats.templates import template_writers

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
    meaning="One JSON value (RFC 8259): records (the main shape), columns, or a map. Problems have an RFC 6901 pointer.",
    read_text=read_json,
    templates={
        "json": FileTemplate(template_writers.write_predictions),
        "columns": FileTemplate(template_writers.write_columns),
        "map": FileTemplate(template_writers.write_map, has_cell_per_score=True),
        "documents": FileTemplate(template_writers.write_documents),
    },
    value_delimiters=b",[{",
    shapes=(
        FormatShape(
            name="records",
            meaning="A list of records, alone or under 'predictions'. Scores are an object by class, or a list in the "
            "order of the classes: that of the list 'classes' beside 'predictions', otherwise that of the challenge.",
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
    meaning="One JSON record per line. Problems have the line, and a pointer within its record.",
    read_text=read_json_lines,
    templates={"jsonl": FileTemplate(template_writers.write_records)},
    value_delimiters=b",[{\n",
    has_record_per_line=True,
    shapes=(
        FormatShape(
            name="lines",
            meaning="One record per line, without blank lines.",
            example='{"id": "t1", "label": "cat"}\n{"id": "t2", "label": "dog"}\n',
            multilabel='{"id": "t1", "labels": ["cat", "dog"]}\n{"id": "t2", "labels": []}\n',
            scores='{"id": "t1", "scores": {"cat": 0.7, "dog": 0.3}}\n{"id": "t2", "scores": [0.2, 0.8]}\n',
            score='{"id": "t1", "score": 0.7}\n{"id": "t2", "score": 0.2}\n',
        ),
    ),
)


def _delimited_shapes(separator: str) -> tuple[FormatShape, ...]:
    def rows(*lines: tuple[str, ...]) -> str:
        return "".join(separator.join(line) + "\n" for line in lines)

    return (
        FormatShape(
            name="table",
            meaning="The header names 'id' and 'label'. Several labels are joined by '|'; an empty field means no label. "
            "Scores have a column for each class, with its name; the score of the positive label is called 'score'.",
            example=rows(("id", "label"), ("t1", "cat"), ("t2", "dog")),
            multilabel=rows(("id", "label"), ("t1", "cat|dog"), ("t2", "")),
            scores=rows(("id", "cat", "dog"), ("t1", "0.7", "0.3"), ("t2", "0.2", "0.8")),
            score=rows(("id", "score"), ("t1", "0.7"), ("t2", "0.2")),
        ),
        FormatShape(
            name="long table",
            meaning="With layout=long, one row per pair of instance and label; a single row with an empty label means no label.",
            multilabel=rows(("id", "label"), ("t1", "cat"), ("t2", ""), ("t1", "dog")),
            layout="long",
        ),
    )


_CSV = Format(
    key="csv",
    name="CSV",
    media_types=("text/csv",),
    endings=(".csv",),
    meaning="Comma-separated values with a header (RFC 4180); a field with a comma, quote or line break must be in double quotes. "
    "Problems have the line and, as column, the number of the field.",
    shapes=_delimited_shapes(","),
    read_text=read_csv,
    templates={"csv": FileTemplate(template_writers.write_csv, has_cell_per_score=True)},
    separator=",",
    value_delimiters=b",\n|",
    table=True,
)
SEMICOLON_TABLE = replace(_CSV, read_text=read_semicolon_table, separator=";", value_delimiters=b";\n|")
"""A table that was sent as CSV or TSV, whose header has semicolons and neither a comma nor a tab."""
_TSV = Format(
    key="tsv",
    name="TSV",
    media_types=("text/tab-separated-values",),
    endings=(".tsv", ".tab"),
    meaning="Like CSV, but separated by tabs.",
    shapes=_delimited_shapes("\t"),
    read_text=read_tsv,
    templates={"tsv": FileTemplate(template_writers.write_tsv, has_cell_per_score=True)},
    separator="\t",
    value_delimiters=b"\t\n|",
    table=True,
)
_NPZ = Format(
    key="npz",
    name="NumPy .npz",
    media_types=("application/x-npz",),
    endings=(".npz",),
    meaning="Arrays by name, as numpy.savez and savez_compressed write them: the fast way to send many scores. Pickled "
    "objects are refused. Problems have a pointer: the array, the row and the column, from 0.",
    read_bytes=read_npz,
    templates={"npz": FileTemplate(template_writers.write_npz, has_cell_per_score=True)},
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


def _read_parquet(data: bytes, context: ReaderContext) -> RawColumns | None:
    from app.formats.readers.arrow_table import read_parquet  # noqa: PLC0415 (imports pyarrow: optional and slow)

    return read_parquet(data, context)


def _read_arrow(data: bytes, context: ReaderContext) -> RawColumns | None:
    from app.formats.readers.arrow_table import read_arrow  # noqa: PLC0415 (imports pyarrow: optional and slow)

    return read_arrow(data, context)


def _arrow_shapes(example_writer: str) -> tuple[FormatShape, ...]:
    def example(columns: str) -> str:
        return f"table = pyarrow.table({{{columns}}})\n{example_writer}"

    return (
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
            meaning="With layout=long, one row per pair of instance and label; a single row with an empty label means no label.",
            multilabel=example('"id": ["t1", "t2", "t1"], "label": ["cat", "", "dog"]'),
            layout="long",
        ),
    )


_ARROW_MEANING = (
    "Columns as in CSV, with list columns for sets of labels and for scores. Needs the library pyarrow "
    "(assay[arrow]). Problems have a pointer: the column, then the row from 0."
)
_PARQUET = Format(
    key="parquet",
    name="Parquet",
    media_types=("application/vnd.apache.parquet",),
    endings=(".parquet", ".pq"),
    meaning=_ARROW_MEANING,
    shapes=_arrow_shapes('pyarrow.parquet.write_table(table, "predictions.parquet")'),
    read_bytes=_read_parquet,
    templates={"parquet": FileTemplate(template_writers.write_parquet, has_cell_per_score=True)},
    magic=b"PAR1",
    library="pyarrow",
    table=True,
)
_ARROW = Format(
    key="arrow",
    name="Arrow IPC",
    media_types=("application/vnd.apache.arrow.file",),
    endings=(".arrow", ".feather"),
    meaning=_ARROW_MEANING,
    shapes=_arrow_shapes('pyarrow.feather.write_feather(table, "predictions.arrow")'),
    read_bytes=_read_arrow,
    templates={"arrow": FileTemplate(template_writers.write_arrow, has_cell_per_score=True)},
    magic=b"ARROW1",
    library="pyarrow",
    table=True,
)

FORMATS: dict[str, Format] = {known.key: known for known in (_JSON, _JSON_LINES, _CSV, _TSV, _NPZ, _PARQUET, _ARROW)}
"""Every format, the main one first."""
