"""Reads JSON files: one value, whose shape tells whether it holds records, columns or a map."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.formats.column_data import (
    MissingValue,
    RawColumns,
    RawScores,
    ReaderContext,
    check_common_length,
    check_label_lists,
    check_row_count,
)
from app.formats.content.wrong_format import lost_line_breaks_problem, table_format_problem
from app.formats.problems import WHOLE_FILE_ROW, Location, Problem, build_problem, describe_value, pointer_token, quote
from app.formats.readers.gold_fields import LIST_FIELDS, OUTER_FIELDS, gold_field_refusal
from app.formats.readers.records import columns_from_records, fault_message, valid_id
from app.formats.readers.strict_json import (
    NESTED_OR_BAD_TYPES,
    KeyPath,
    TooDeep,
    decoding_problem,
    has_repeated_key,
    inspect_nesting,
    iter_faults,
    json_decoder,
    json_pointer,
)
from app.formats.value_locations import ColumnListsLayout, FieldNames, KeyedMapLayout, RecordListLayout

JsonObject = tuple[Any, ...]
"""A decoded object: pairs of key and value (see strict_json)."""
_RECORD_KEYS = ("predictions", "documents")


def read_json(text: str, context: ReaderContext) -> RawColumns | None:
    """Read a JSON text; None, and a problem, where it cannot be read at all."""
    try:
        document = json_decoder(context.limits, exact=context.gold).decode(text)
        return _document_columns(document, context)
    except (json.JSONDecodeError, RecursionError, TooDeep) as error:
        problem = table_format_problem(text, "JSON")
        if problem is None and isinstance(error, json.JSONDecodeError):
            problem = lost_line_breaks_problem(text, error.pos)
        context.problems.add(problem or decoding_problem(error, text, context.limits))
    return None


def _document_columns(document: Any, context: ReaderContext) -> RawColumns | None:
    if type(document) is list:
        return _record_columns(document, "", FieldNames("id", context.answer_field), context)
    if type(document) is not tuple:
        message = 'The file is a single value. Write records: {"predictions": [{"id": "t1", …}, …]}, or only the list.'
        got = describe_value(document)
        context.problems.add_new("wrong_shape", message, Location(""), expected="a list or object", got=got)
        return None
    fields: dict[str, Any] = dict(reversed(document))  # of a repeated key, the first value
    for key in _RECORD_KEYS:
        if type(fields.get(key)) is list:
            names = FieldNames(_id_name(key, fields[key]), context.answer_field)
            columns = _record_columns(fields[key], f"/{key}", names, context)
            has_lists = columns.scores is not None and any(type(value) is list for value in columns.scores.values)
            class_names = _class_names(fields, context) if has_lists else None
            if columns.scores and class_names is not None:  # else lists would score under wrong classes
                columns.scores.names = class_names
            used = {key} if class_names is None else {key, "classes"}
            return _check_other_keys(columns, document, used, context)
    if type(fields.get("ids")) is list and list in {type(fields.get("labels")), type(fields.get("scores"))}:
        return _column_lists(fields, document, context)
    if problem := _shape_problem(fields, document, context):
        context.problems.add(problem)
        return None
    return _map_columns(document, context)


def _shape_problem(fields: dict[str, Any], document: JsonObject, context: ReaderContext) -> Problem | None:
    """The problem of an object that cannot be a map; None where it can be one."""
    if _is_data_frame(fields):
        message = "This is a table as pandas writes it by default. Write its rows: df.to_json(FILE, orient='records')."
        return build_problem("wrong_shape", message, Location(""), expected="records", got=describe_value(document))
    if column := _columns_without_ids(fields):
        message = "There are columns but no 'ids'. Give the ids as a list of the same length."
        location, expected = Location(pointer_token(column)), "a list of ids"
        return build_problem("wrong_shape", message, location, expected=expected, got=describe_value(fields[column]))
    key = next((key for key in (*_RECORD_KEYS, "ids") if _cannot_be_answer(fields.get(key), context)), None)
    key = key or _key_of_records(document)
    if not key:
        return None
    message = (
        f'{quote(key)} does not have a supported layout. Write records as {{"predictions": [{{…}}, …]}}, '
        'or columns as {"ids": […], "labels": […]} or {"ids": […], "classes": […], "scores": [[…], …]}.'
    )
    location, got = Location(pointer_token(key)), describe_value(fields[key])
    return build_problem("wrong_shape", message, location, expected="a list", got=got)


def _is_data_frame(fields: dict[str, Any]) -> bool:
    """Whether an object is a pandas table: its columns by row, or names, index and data."""
    kinds = set(map(type, fields.values()))
    if fields.keys() == {"columns", "index", "data"}:
        return kinds == {list} and list in map(type, fields["data"])
    # A map of scores by class has no texts.
    return (
        "id" in fields and kinds == {tuple} and any(column and type(column[0][1]) is str for column in fields.values())
    )


def _columns_without_ids(fields: dict[str, Any]) -> str | None:
    """The first column of an object that consists of columns but has no ids."""
    has_only_columns = fields.keys() <= {"labels", "scores", "classes"} and {"labels", "scores"} & fields.keys()
    return next(iter(fields)) if has_only_columns and set(map(type, fields.values())) == {list} else None


def _cannot_be_answer(value: object, context: ReaderContext) -> bool:
    """Whether a value cannot be a label (or set of labels) of a map, so that the file must have another shape."""
    return type(value) is tuple or (type(value) is list and not context.sets)


def _key_of_records(document: JsonObject) -> str | None:
    """The only key of an object whose value is a list of objects: records under an unknown name."""
    if len(document) != 1:
        return None
    key, value = document[0]
    return str(key) if type(value) is list and value and type(value[0]) is tuple else None


def _record_columns(records: Sequence[Any], prefix: str, names: FieldNames, context: ReaderContext) -> RawColumns:
    outer = 2 if prefix else 1
    return columns_from_records(records, range(len(records)), RecordListLayout(prefix, names), context, outer)


def _id_name(key: str, records: Sequence[Any]) -> str:
    """The name of the id, which documents may call 'pmid'; the first record decides."""
    first = records[0] if key == "documents" and records else ()
    names = [name for name, _ in first] if type(first) is tuple else []
    return "pmid" if "pmid" in names and "id" not in names else "id"


def _check_other_keys(columns: RawColumns, document: JsonObject, used: set[str], context: ReaderContext) -> RawColumns:
    """Check the unused keys: each occurs once, is not nested too deeply, and is not one that gold must not ignore."""
    others = tuple(pair for pair in document if pair[0] not in used)
    depth, faulty = inspect_nesting([others])
    if depth > context.limits.nesting:
        raise TooDeep
    if faulty or has_repeated_key(document):
        shallow = tuple((key, None if key in used else value) for key, value in document)
        for code, path, value in iter_faults(shallow, ()):
            got = None if value is None else describe_value(value)
            context.problems.report(code, WHOLE_FILE_ROW, partial(_fault_problem, code, path, got))
    names = dict.fromkeys(key for key, _ in others)
    known = OUTER_FIELDS if type(columns.layout) is RecordListLayout else LIST_FIELDS
    for name in names:
        if refusal := gold_field_refusal(name, context, known):
            context.problems.add_new("wrong_shape", refusal, Location(pointer_token(name)))
    columns.ignored = tuple(dict.fromkeys((*names, *columns.ignored)))
    return columns


def _column_lists(fields: dict[str, Any], document: JsonObject, context: ReaderContext) -> RawColumns:
    """Read lists of equal length: the ids, and values in the order of the ids."""
    has_labels = type(fields.get("labels")) is list or context.gold
    score = "scores" if context.score_field({"scores"} & fields.keys(), has_labels=has_labels) else None
    labels = fields["labels"] if type(fields.get("labels")) is list else []
    if context.gold and context.task == "multiclass" and list in set(map(type, labels)):
        context = replace(context, sets=True)
    split = context.split_field(fields)
    class_names = _class_names(fields, context) if score else None
    used = ["labels"] * has_labels + ["scores"] * bool(score) + [split, "weight"] * context.gold
    ids = fields["ids"]
    check_row_count(len(ids), context)
    check_label_lists(labels, context)
    lists = {name: fields[name] for name in used if name in fields and _check_is_list(name, fields[name], context)}
    depth = max(inspect_nesting(column)[0] for column in (ids, class_names or (), *lists.values()))
    if depth + 2 > context.limits.nesting:  # two more for the object and the list itself
        raise TooDeep
    rows = check_common_length({name: len(column) for name, column in lists.items()}, len(ids), context.problems)
    values = {
        name: _mark_faults(column, _paths_in_column(name), ids, context, texts=name in {"ids", "labels"})[:rows]
        for name, column in {"ids": ids, **lists}.items()
    }
    columns = RawColumns(
        values["ids"],
        values["labels"] if "labels" in values else [MissingValue.ABSENT] * rows if has_labels else None,
        range(rows),
        ColumnListsLayout(FieldNames("ids", "labels", split)),
        context,
        splits=values.get(split),
        weights=values.get("weight"),
        scores=RawScores(values["scores"], class_names) if "scores" in values else None,
        unreadable_rows=len(ids) - rows,
    )
    return _check_other_keys(
        columns, document, {"ids", *used, *(["classes"] if class_names is not None else [])}, context
    )


def _paths_in_column(name: str) -> Callable[[int], KeyPath]:
    return lambda row: (name, row)


def _check_is_list(name: str, value: object, context: ReaderContext) -> bool:
    """Whether the value of a column is a list; a problem if it is not."""
    if type(value) is list:
        return True
    content = "the name of each class" if name == "classes" else "one value for each id"
    message = f"'{name}' must be a list with {content}."
    location, got = Location(pointer_token(name)), describe_value(value)
    context.problems.add_new("wrong_shape", message, location, expected="a list", got=got)
    return False


def _class_names(fields: dict[str, Any], context: ReaderContext) -> list[Any] | None:
    """The classes in the order of the columns of scores; None where the file does not name them."""
    classes = fields.get("classes")
    return classes if classes is not None and _check_is_list("classes", classes, context) else None


def _mark_faults(
    values: Sequence[Any], path: Callable[[int], KeyPath], ids: Sequence[Any], context: ReaderContext, *, texts: bool
) -> Sequence[Any]:
    """The values; those with repeated keys or invalid numbers are reported (by id) and replaced by a marker."""
    if not inspect_nesting(values)[1]:
        return values
    result = list(values)
    for row, value in enumerate(values):
        if type(value) not in NESTED_OR_BAD_TYPES:
            continue
        for code, inner_path, faulty in iter_faults(value, path(row)):
            owner, got = partial(valid_id, ids[row] if row < len(ids) else None, context), describe_value(faulty)
            context.problems.report(code, row, partial(_fault_problem, code, inner_path, got, owner, text=texts))
            result[row] = MissingValue.FAULT
    return result


def _fault_problem(
    code: str, path: KeyPath, got: str | None, owner: Callable[[], str | None] = lambda: None, *, text: bool = False
) -> Problem:
    """The problem of a repeated key or an invalid number."""
    message, location = fault_message(code, text=text), Location(json_pointer(path))
    return build_problem(code, message, location, instance_id=owner(), got=got)


def _map_columns(document: JsonObject, context: ReaderContext) -> RawColumns:
    check_row_count(len(document), context)
    keys, values = zip(*document, strict=True) if document else ((), ())
    check_label_lists(values, context)
    if inspect_nesting(values)[0] + 1 > context.limits.nesting:
        raise TooDeep
    kinds = set(map(type, values))
    if context.gold and context.task == "multiclass" and list in kinds:
        context = replace(context, sets=True)
    layout = KeyedMapLayout(keys)
    answers = _mark_faults(values, lambda row: (keys[row],), keys, context, texts=True)
    if kinds == {tuple} and not context.gold:
        return RawColumns(list(keys), None, range(len(keys)), layout, context, scores=RawScores(answers))
    return RawColumns(list(keys), answers, range(len(keys)), layout, context)
