"""The file to fill in: every id in gold order, with the place for its answer."""

import csv
import io
import json
from collections.abc import Iterable

from app.errors import BadRequest
from app.scoring.task import Task

TEMPLATES: dict[str, str] = {
    "json": "application/json",
    "columns": "application/json",
    "map": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
}
"""Every template format and the media type of what it gives."""


def template(ids: Iterable[str], task: Task, format: str = "json") -> bytes:  # noqa: A002 (the query parameter's name)
    """Write the ids in their order, without labels or split, as UTF-8.

    A single label is empty, to be filled in (the empty string is refused as a label); a set of labels is the empty
    list. Raises BadRequest for a format that TEMPLATES does not name.
    """
    if format not in TEMPLATES:
        raise BadRequest(f"There is no template in the format '{format}'; there are {', '.join(TEMPLATES)}.")
    names = list(ids)
    several = task == "multilabel"
    if format == "csv":
        return _csv(names)
    field, empty = ("labels", []) if several else ("label", "")
    records = [{"id": name, field: empty} for name in names]
    if format == "jsonl":
        return "".join(f"{_line(record)}\n" for record in records).encode()
    if format == "columns":
        return f"{_line({'ids': names, 'labels': [empty for _ in names]})}\n".encode()
    if format == "map":
        return f"{_line(dict.fromkeys(names, empty))}\n".encode()
    body = ",\n".join(_line(record) for record in records)
    return f'{{"predictions": [\n{body}\n]}}\n'.encode()


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _csv(names: list[str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("id", "label"))
    writer.writerows((name, "") for name in names)
    return text.getvalue().encode()
