"""Writers of templates: files with every id in a given order and an empty field for each answer."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class TemplateContent:
    """The ids of a template and, for scores, the classes that have a score for each instance."""

    ids: Sequence[str]
    has_label_sets: bool
    scored_classes: Sequence[str]
    """The classes that have a score each, in a binary task the positive label alone; empty for labels."""
    is_single: bool
    """Whether the score is that of the positive label alone."""
    has_class_named_score: bool = False
    """Whether a class is called `score`, so that the column of the positive label has the label's own name."""

    @property
    def score_columns(self) -> list[str]:
        """The names of the columns of scores in a table."""
        return (
            ["score"]
            if self.scored_classes and self.is_single and not self.has_class_named_score
            else list(self.scored_classes)
        )

    @property
    def no_label(self) -> object:
        """The empty answer: an empty string is refused as a label, an empty list is a set without labels."""
        return [] if self.has_label_sets else ""


def _json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _record_lines(content: TemplateContent) -> list[str]:
    answer: dict[str, object] = {"labels" if content.has_label_sets else "label": content.no_label}
    if content.scored_classes:
        answer = {"score": None} if content.is_single else {"scores": []}
    return [_json_line({"id": name, **answer}) for name in content.ids]


def _wrapped_records(key: str, content: TemplateContent) -> bytes:
    records = ",\n".join(_record_lines(content))
    return f'{{"{key}": [\n{records}\n]}}\n'.encode()


def write_predictions(content: TemplateContent) -> bytes:
    """JSON records under the key 'predictions'."""
    return _wrapped_records("predictions", content)


def write_documents(content: TemplateContent) -> bytes:
    """JSON records under the key 'documents'."""
    return _wrapped_records("documents", content)


def write_records(content: TemplateContent) -> bytes:
    """JSON Lines."""
    return "".join(f"{line}\n" for line in _record_lines(content)).encode()


def write_columns(content: TemplateContent) -> bytes:
    """JSON columns."""
    if content.scored_classes:
        classes = {} if content.is_single else {"classes": list(content.scored_classes)}
        return f"{_json_line({'ids': content.ids, **classes, 'scores': []})}\n".encode()
    return f"{_json_line({'ids': content.ids, 'labels': [content.no_label for _ in content.ids]})}\n".encode()


def write_map(content: TemplateContent) -> bytes:
    """A JSON map."""
    answer = dict.fromkeys(content.scored_classes) if content.scored_classes else content.no_label
    return f"{_json_line(dict.fromkeys(content.ids, answer))}\n".encode()


def _delimited_table(content: TemplateContent, separator: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", delimiter=separator)
    names = content.score_columns or ["label"]
    writer.writerow(["id", *names])
    empty = [""] * len(names)
    writer.writerows([name, *empty] for name in content.ids)
    return text.getvalue().encode()


def write_csv(content: TemplateContent) -> bytes:
    """A table, separated by commas."""
    return _delimited_table(content, ",")


def write_tsv(content: TemplateContent) -> bytes:
    """A table, separated by tabs."""
    return _delimited_table(content, "\t")


def write_npz(content: TemplateContent) -> bytes:
    """NumPy arrays, with scores that are all NaN."""
    body = io.BytesIO()
    scores = np.full((len(content.ids), len(content.scored_classes)), np.nan)
    np.savez(
        body, ids=np.array(content.ids, dtype=str), classes=np.array(content.scored_classes, dtype=str), scores=scores
    )
    return body.getvalue()


def _arrow_table(content: TemplateContent) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (optional, and slow to import)

    columns: dict[str, Any] = {"id": pa.array(content.ids, pa.string())}
    n = len(content.ids)
    if content.scored_classes:
        columns |= {name: pa.nulls(n, pa.float64()) for name in content.score_columns}
    elif content.has_label_sets:
        columns["labels"] = pa.array([[]] * n, pa.list_(pa.string()))
    else:
        columns["label"] = pa.array([""] * n, pa.string())
    return pa.table(columns)


def write_parquet(content: TemplateContent) -> bytes:
    """A Parquet file."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    body = io.BytesIO()
    pq.write_table(_arrow_table(content), body)
    return body.getvalue()


def write_arrow(content: TemplateContent) -> bytes:
    """An Arrow IPC file."""
    import pyarrow as pa  # noqa: PLC0415

    body = io.BytesIO()
    table = _arrow_table(content)
    with pa.ipc.new_file(body, table.schema) as writer:
        writer.write_table(table)
    return body.getvalue()
