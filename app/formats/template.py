"""The file to fill in: every id, in the order that it is given, with the place for its answer."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.errors import BadRequest
from app.formats.detection import is_supported
from app.formats.registry import FORMATS
from app.scoring.declaration.task import TaskSpec

_MAX_CELLS = 20_000_000
"""Most places for single scores that a template has; a larger file is better written by the system itself."""


@dataclass(frozen=True, slots=True)
class _TemplateContent:
    """What a template is made of: ids and, for scores, the classes that each instance has one for."""

    ids: Sequence[str]
    several: bool
    scored: Sequence[str]
    """The classes that have a score each, in a binary task the positive label alone; empty for labels."""
    single: bool
    own: bool = False
    """Whether a class is called `score`, so that the positive label's column has its own name."""

    @property
    def score_columns(self) -> list[str]:
        """What a table calls the columns of scores."""
        return ["score"] if self.scored and self.single and not self.own else list(self.scored)


def _records(blank: _TemplateContent) -> list[dict[str, object]]:
    place: dict[str, object] = {"labels": []} if blank.several else {"label": ""}
    if blank.scored:
        place = {"score": None} if blank.single else {"scores": []}
    return [{"id": one, **place} for one in blank.ids]


def _wrapped_records(key: str, blank: _TemplateContent) -> bytes:
    body = ",\n".join(_json_line(record) for record in _records(blank))
    return f'{{"{key}": [\n{body}\n]}}\n'.encode()


def _json(blank: _TemplateContent) -> bytes:
    return _wrapped_records("predictions", blank)


def _documents(blank: _TemplateContent) -> bytes:
    return _wrapped_records("documents", blank)


def _lines(blank: _TemplateContent) -> bytes:
    return "".join(f"{_json_line(record)}\n" for record in _records(blank)).encode()


def _columns(blank: _TemplateContent) -> bytes:
    if blank.scored:
        classes = {} if blank.single else {"classes": list(blank.scored)}
        return f"{_json_line({'ids': blank.ids, **classes, 'scores': []})}\n".encode()
    empty: object = [] if blank.several else ""
    return f"{_json_line({'ids': blank.ids, 'labels': [empty for _ in blank.ids]})}\n".encode()


def _map(blank: _TemplateContent) -> bytes:
    empty: object = [] if blank.several else ""
    if blank.scored:
        empty = dict.fromkeys(blank.scored)
    return f"{_json_line(dict.fromkeys(blank.ids, empty))}\n".encode()


def _csv(blank: _TemplateContent, separator: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", delimiter=separator)
    names = blank.score_columns or ["label"]
    writer.writerow(["id", *names])
    empty = [""] * len(names)
    writer.writerows([one, *empty] for one in blank.ids)
    return text.getvalue().encode()


def _tsv(blank: _TemplateContent) -> bytes:
    return _csv(blank, "\t")


def _npz(blank: _TemplateContent) -> bytes:
    body = io.BytesIO()
    scores = np.full((len(blank.ids), len(blank.scored)), np.nan)
    np.savez(body, ids=np.array(blank.ids, dtype=str), classes=np.array(blank.scored, dtype=str), scores=scores)
    return body.getvalue()


def _arrow_table(blank: _TemplateContent) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (optional, and slow to import)

    columns: dict[str, Any] = {"id": pa.array(blank.ids, pa.string())}
    n = len(blank.ids)
    if blank.scored:
        columns |= {name: pa.nulls(n, pa.float64()) for name in blank.score_columns}
    elif blank.several:
        columns["labels"] = pa.array([[]] * n, pa.list_(pa.string()))
    else:
        columns["label"] = pa.array([""] * n, pa.string())
    return pa.table(columns)


def _parquet(blank: _TemplateContent) -> bytes:
    import pyarrow.parquet as pq  # noqa: PLC0415

    body = io.BytesIO()
    pq.write_table(_arrow_table(blank), body)
    return body.getvalue()


def _arrow(blank: _TemplateContent) -> bytes:
    import pyarrow as pa  # noqa: PLC0415

    body = io.BytesIO()
    table = _arrow_table(blank)
    with pa.ipc.new_file(body, table.schema) as writer:
        writer.write_table(table)
    return body.getvalue()


@dataclass(frozen=True, slots=True)
class FileTemplate:
    """A kind of file to fill in: the format it is in, and whether it has a place for each single score."""

    format: str
    write: Callable[[_TemplateContent], bytes]
    wide: bool = False

    @property
    def media_type(self) -> str:
        """What it is sent as."""
        return FORMATS[self.format].media_types[0]

    @property
    def ending(self) -> str:
        """How its name ends."""
        return FORMATS[self.format].endings[0]


TEMPLATES: dict[str, FileTemplate] = {
    "json": FileTemplate("json", _json),
    "columns": FileTemplate("json", _columns),
    "map": FileTemplate("json", _map, wide=True),
    "documents": FileTemplate("json", _documents),
    "jsonl": FileTemplate("jsonl", _lines),
    "csv": FileTemplate("csv", _csv, wide=True),
    "tsv": FileTemplate("tsv", _tsv, wide=True),
    "npz": FileTemplate("npz", _npz, wide=True),
    "parquet": FileTemplate("parquet", _parquet, wide=True),
    "arrow": FileTemplate("arrow", _arrow, wide=True),
}
"""Every template by the name that asks for it."""


def build_template(ids: Sequence[str], spec: TaskSpec, format: str = "json", *, scores: bool = False) -> bytes:  # noqa: A002 (the query parameter's name)
    """Write the ids in their order, without labels or split.

    A single label is empty, to be filled in (the empty string is refused as a label); a set of labels is the empty
    list. With `scores`, and always in npz, there is a place for scores instead. Raises BadRequest for a format that
    TEMPLATES does not name or that this installation does not read, and where there would be too many places.
    """
    if format not in TEMPLATES:
        raise BadRequest(f"There is no template in the format '{format}'; there are {', '.join(TEMPLATES)}.")
    made = TEMPLATES[format]
    if not is_supported(FORMATS[made.format]):
        raise BadRequest(f"Files in the format '{format}' are not read here, so there is no template.")
    scored: Sequence[str] = ()
    if scores or format == "npz":
        scored = spec.classes if spec.positive_label is None else (spec.positive_label,)
    if made.wide and len(ids) * len(scored) > _MAX_CELLS:
        message = (
            f"The template would have {len(ids)} × {len(scored)} places for scores; at most {_MAX_CELLS} are made."
        )
        raise BadRequest(message, remedy="Ask for format=columns, which lists ids and classes once.")
    if FORMATS[made.format].table and "id" in scored:
        message = "A table cannot have a column of scores for a class that is called 'id', as the ids are."
        raise BadRequest(message, remedy="Ask for format=columns, which lists ids and classes once.")
    single, own = spec.positive_label is not None, "score" in spec.classes
    return made.write(_TemplateContent(list(ids), spec.task == "multilabel", scored, single, own))


def _json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
