"""Data written in every format and shape: the JSON ones here, and the table of all."""

import json
from functools import partial
from typing import Any

import numpy as np

from tests.formats.answer_table import AnswerTable, FormatWriter, Location, field_name, pointer_token
from tests.formats.table_writers import fits_npz, table_writers, write_npz

SHAPED_LIKE_OTHERS = frozenset({"predictions", "documents", "ids", "labels"})


def _record(data: AnswerTable, at: int, *, id_name: str = "id", lists: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {id_name: data.ids[at]}
    if data.labels is not None:
        found[data.label_field] = data.labels[at]
    if data.scores is not None:
        found["scores"] = [value for _, value in data.row(at, named=False)] if lists else dict(data.row(at, named=True))
    if data.single is not None:
        found |= {"scores": {data.positive: data.single[at]}} if lists else {"score": data.single[at]}
    return found | {name: column[at] for name, column in data.more.items()}


def _item(data: AnswerTable, part: str, item: int | None, *, lists: bool) -> str:
    """The pointer within a field."""
    if part == "score" and data.single is not None:
        return pointer_token(data.positive) if lists else ""
    if item is None:
        return ""
    return pointer_token(data.classes[item]) if part == "score" and not lists else f"/{item}"


def _records(data: AnswerTable, *, lists: bool = False) -> bytes:
    return json.dumps([_record(data, at, lists=lists) for at in range(data.n)]).encode()


def _in_records(
    data: AnswerTable,
    at: int,
    part: str,
    item: int | None,
    *,
    prefix: str = "",
    id_name: str = "id",
    lists: bool = False,
) -> Location:
    within = _item(data, part, item, lists=lists)
    return {"pointer": f"{prefix}/{at}/{field_name(data, part, id_name=id_name, lists=lists)}{within}"}


def _predictions(data: AnswerTable) -> bytes:
    turned = [dict(reversed(_record(data, at).items())) for at in range(data.n)]
    return json.dumps({"note": "x", "predictions": turned}, ensure_ascii=False, indent=1).encode()


def _ordered(data: AnswerTable) -> bytes:
    """The order of the scores stands once beside the records."""
    records = [_record(data, at, lists=True) for at in range(data.n)]
    if data.scores is None:
        return json.dumps({"predictions": records}).encode()
    for at, record in enumerate(records):
        record["scores"] = [value for _, value in data.row(at, named=True)]
    return json.dumps({"classes": data.names, "predictions": records}).encode()


def _in_ordered(data: AnswerTable, at: int, part: str, item: int | None) -> Location:
    if part == "score" and item is not None and data.scores is not None:
        item = list(data.order or range(len(data.classes))).index(item)
    return _in_records(data, at, part, item, prefix="/predictions", lists=True)


def _mixed(data: AnswerTable) -> bytes:
    """Not all alike, so that no quick way applies."""
    return json.dumps([_record(data, at) | ({"x": {"y": [1, {}]}} if at % 2 else {}) for at in range(data.n)]).encode()


def _documents(data: AnswerTable) -> bytes:
    return json.dumps({"documents": [_record(data, at, id_name="pmid", lists=True) for at in range(data.n)]}).encode()


def _columns(data: AnswerTable) -> bytes:
    found: dict[str, Any] = {"ids": list(data.ids)}
    if data.labels is not None:
        found = {"labels": list(data.labels)} | found
    if data.scores is not None:
        rows = [[value for _, value in data.row(at, named=True)] for at in range(data.n)]
        found |= {"scores": rows, "classes": data.names}
    if data.single is not None:
        found["scores"] = list(data.single)
    return json.dumps(found | {name: list(column) for name, column in data.more.items()}).encode()


def _in_columns(data: AnswerTable, at: int, part: str, item: int | None) -> Location:
    name = {"id": "ids", "label": "labels", "score": "scores"}.get(part, part)
    if item is None or (part == "score" and data.single is not None):
        return {"pointer": f"/{name}/{at}"}
    if part == "score":
        item = list(data.order or range(len(data.classes))).index(item)
    return {"pointer": f"/{name}/{at}/{item}"}


def _in_arrays(data: AnswerTable, at: int, part: str, item: int | None) -> Location:
    return _in_columns(data, at, part, None if part == "label" else item)  # the labels of a set are one text


def _map(data: AnswerTable) -> bytes:
    """Written by hand, so that a key may come twice."""
    values: list[Any] = list(data.labels or ())
    if data.scores is not None:
        values = [dict(data.row(at, named=True)) for at in range(data.n)]
    if data.single is not None:
        values = [{data.positive: score} for score in data.single]
    pairs = zip(data.ids, values, strict=True)
    return ("{" + ",\n".join(f"{json.dumps(str(key))}: {json.dumps(value)}" for key, value in pairs) + "}").encode()


def _in_map(data: AnswerTable, at: int, part: str, item: int | None) -> Location:
    within = _item(data, part, item, lists=data.single is not None or part != "score")
    return {"pointer": pointer_token(data.ids[at]) + ("" if part == "id" else within)}


def _fits_map(data: AnswerTable) -> bool:
    """Keys are texts, and not the names of other shapes; there is one answer, and no empty file of scores."""
    known = SHAPED_LIKE_OTHERS.isdisjoint(map(str, data.ids)) and not data.more and None not in data.ids
    return known and not (data.scored and data.labels is not None)


def _lines(data: AnswerTable, *, end: str = "\n", lists: bool = False) -> bytes:
    return "".join(json.dumps(_record(data, at, lists=lists)) + end for at in range(data.n)).encode()


def _in_lines(data: AnswerTable, at: int, part: str, item: int | None, *, lists: bool = False) -> Location:
    return {"line": at + 1, "pointer": f"/{field_name(data, part, lists=lists)}{_item(data, part, item, lists=lists)}"}


def _fits_json(_: AnswerTable) -> bool:
    return True


_LISTS = partial(_in_records, lists=True)
WRITERS: dict[str, FormatWriter] = {
    "records": FormatWriter("json", _records, _in_records, _fits_json),
    "records, lists": FormatWriter("json", partial(_records, lists=True), _LISTS, _fits_json),
    "predictions": FormatWriter("json", _predictions, partial(_in_records, prefix="/predictions"), _fits_json),
    "records, order beside": FormatWriter("json", _ordered, _in_ordered, _fits_json),
    "mixed records": FormatWriter("json", _mixed, _in_records, _fits_json),
    "documents": FormatWriter(
        "json", _documents, partial(_in_records, prefix="/documents", id_name="pmid", lists=True), _fits_json
    ),
    "columns": FormatWriter("json", _columns, _in_columns, _fits_json),
    "map": FormatWriter("json", _map, _in_map, _fits_map),
    "lines": FormatWriter("jsonl", _lines, _in_lines, _fits_json),
    "lines, crlf": FormatWriter(
        "jsonl", partial(_lines, end="\r\n", lists=True), partial(_in_lines, lists=True), _fits_json
    ),
    "npz": FormatWriter("npz", write_npz, _in_arrays, fits_npz),
    "npz, compressed": FormatWriter(
        "npz", partial(write_npz, save=np.savez_compressed, order="F"), _in_arrays, fits_npz
    ),
    **table_writers(),
}


def part_of_writers(table: AnswerTable, first: int, parts: int) -> list[tuple[str, FormatWriter]]:
    """One in so many of the writers that such a table fits, from this one on: all parts together are all of them."""
    return [(name, writer) for name, writer in WRITERS.items() if writer.fits(table)][first::parts]
