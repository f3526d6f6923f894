"""Faults of keys, ids and labels."""

from typing import Any

import numpy as np
import pyarrow as pa

from tests.formats.cells.model import CLASSES, IDS, Cell, Fault, Found, Group, at, each, missing
from tests.formats.cells.write import (
    ALL,
    ARROWS,
    JSON,
    LABELS,
    SETS,
    TABLES,
    Pairs,
    Raw,
    cell,
    columnar,
    js,
    labelled,
    npz,
    place,
    second,
    written,
)

RECORDS = ("records", "lines")
LISTED = ("records", "columns", "lines")
TEXT_ALONE = dict.fromkeys(TABLES, "every field is text")
NOT_LONG = tuple(name for name in ALL if name != "long")
ROWS_ARE_PAIRS = "rows of the same id are one instance"
KEYS_ARE_TEXT = "the keys of an object are texts"


def values(code: str, spoiled: Any, *, of: str = "id", follow: tuple[str, ...] = ("t2",), **more: Any) -> Any:
    """A maker of cells whose second id (or label) is `spoiled`: one problem there, and the ids missed by it."""

    def make(column: str) -> Cell:
        rows = second(LABELS, id=spoiled) if of == "id" else second(LABELS, value=spoiled)
        found = {"code": code, **place(column, 1, of), **more}
        return cell(column, written(column, rows), found, *missing(*follow))

    return make


def column_of(column: str, name: str, array: Any, *problems: Found) -> Cell:
    """A cell of Parquet or Arrow with this array as one of the columns."""
    table = {"id": list(IDS), "label": list(CLASSES)} | {name: array}
    return cell(column, columnar(column, pa.table(table)), *problems)


# ---- keys ------------------------------------------------------------------------------------------


def _key_twice(column: str) -> Cell:
    if column in RECORDS:
        twice = Pairs([("id", "t2"), ("label", "dog"), ("label", "eel")])
        one, three = ({"id": name, "label": label} for name, label in (LABELS[0], LABELS[2]))
        lines = [js(one), js(twice), js(three)]
        body = "\n".join(lines) if column == "lines" else f'{{"predictions": [{", ".join(lines)}]}}'
        return cell(column, body, {"code": "duplicate_key", **place(column, 1, "label"), "instance_id": "t2"})
    if column == "columns":
        body = js(Pairs([("ids", list(IDS)), ("labels", list(CLASSES)), ("labels", list(CLASSES))]))
        return cell(column, body, at("duplicate_key", "/labels"))
    if column == "map":
        body = js(Pairs([*LABELS, ("t2", "eel")]))
        return cell(column, body, at("duplicate_key", "/t2", "t2"))
    if column in TABLES:
        sign = "\t" if column == "tsv" else ","
        rows = [("id", "label", "label"), *((name, label, label) for name, label in LABELS)]
        body = "".join(sign.join(row) + "\n" for row in rows)
        return cell(column, body, at("duplicate_key", line=1, column=3))
    arrays = [pa.array(IDS), pa.array(CLASSES), pa.array(CLASSES)]
    table = pa.table(arrays, names=["id", "label", "label"])
    return cell(column, columnar(column, table), at("duplicate_key", "/label"))


def _id_twice(column: str) -> Cell:
    if column == "long":
        body = written(column, [("t1", "cat"), ("t2", ""), ("t2", ""), ("t3", "eel")])
        return cell(column, body, at("duplicate_id", None, "t2", line=4, column=1))
    found = {"code": "duplicate_id", **place(column, 3, "id"), "instance_id": "t2"}
    return cell(column, written(column, [*LABELS, LABELS[1]]), found)


def _no_id(column: str) -> Cell:
    if column in RECORDS:
        rows = [{"id": "t1", "label": "cat"}, {"label": "dog"}, {"id": "t3", "label": "eel"}]
        body = "\n".join(map(js, rows)) if column == "lines" else js({"predictions": rows})
        return cell(column, body, {"code": "missing_id", **place(column, 1, "row")}, *missing("t2"))
    if column == "columns":
        return cell(
            column, js({"labels": list(CLASSES)}), at("wrong_shape", "/labels", expected="a list of ids beside it")
        )
    if column in TABLES:
        sign = "\t" if column == "tsv" else ","
        body = "".join(sign.join(line) + "\n" for line in [("name", "label"), *LABELS])
        return cell(column, body, at("wrong_shape", line=1))
    if column == "npz":
        return cell(column, npz(labels=CLASSES), at("wrong_shape"))
    return cell(column, columnar(column, pa.table({"label": CLASSES})), at("wrong_shape"))


def _missing(column: str) -> Cell:
    return cell(column, written(column, LABELS[:2]), *missing("t3"))


def _near_id(column: str) -> Cell:
    found = {"code": "unknown_id", **place(column, 1, "id"), "instance_id": "T-2", "expected": '"t2"', "got": '"T-2"'}
    if column == "map":
        found["pointer"] = "/T-2"
    return cell(column, written(column, second(LABELS, id="T-2")), found, *missing("t2"))


def _far_id(column: str) -> Cell:
    found = {"code": "unknown_id", **place(column, 3, "id"), "instance_id": "zebra"}
    if column == "map":
        found["pointer"] = "/zebra"
    return cell(column, written(column, [*LABELS, ("zebra", "cat")]), found)


def _empty_id(column: str) -> Cell:
    found = {"code": "missing_id", **place(column, 1, "id")}
    if column == "map":
        found["pointer"] = "/"
    return cell(column, written(column, second(LABELS, id="")), found, *missing("t2"))


def _id_null(column: str) -> Cell:
    return column_of(column, "id", ["t1", None, "t3"], at("missing_id", "/id/1"), *missing("t2"))


def _typed(name: str, array: Any) -> dict[str, Cell]:
    """Cells of a whole column (.npz: array) of a wrong type."""
    problem = at("wrong_shape", f"/{name}")
    arrays = {"ids": IDS, "labels": CLASSES} | {f"{name}s": np.asarray(array)}
    packed = cell("npz", npz(**arrays), at("wrong_shape", f"/{name}s"))
    return {"npz": packed, **{column: column_of(column, name, array, problem) for column in ARROWS}}


def _lists(name: str) -> dict[str, Cell | str]:
    lists = [[one] for one in (IDS if name == "id" else CLASSES)]
    packed = cell("npz", npz(**({"ids": IDS, "labels": CLASSES} | {f"{name}s": lists})), at("wrong_shape", f"/{name}s"))
    return {
        "npz": packed,
        **{column: column_of(column, name, lists, at("wrong_shape", f"/{name}")) for column in ARROWS},
    }


FLOATS, FLAGS = [1.0, 2.0, 3.0], [True, False, True]
NO_NULL = {"npz": "arrays have no nulls"}

IDENTITY = Group(
    "Keys and ids",
    ALL,
    (
        Fault(
            "key given twice",
            "In a record, an object, a header, a schema: the answer's key or column stands there twice.",
            each((*JSON, *TABLES, *ARROWS), _key_twice, npz="see the member of an archive given twice"),
        ),
        Fault(
            "duplicate id",
            "t2 is given twice (long CSV: twice without labels).",
            each(tuple(name for name in ALL if name != "map"), _id_twice, map="a repeated id is a repeated key"),
        ),
        Fault(
            "missing id field",
            "A record, or the file, has no field of ids.",
            each(tuple(name for name in ALL if name != "map"), _no_id, map="the key is the id"),
        ),
        Fault("empty id", "The id of t2 is the empty string.", each(ALL, _empty_id)),
        Fault("missing instance", "t3 is not in the file.", each(ALL, _missing)),
        Fault("misspelt id", "T-2 instead of t2: the answer asks whether t2 is meant.", each(ALL, _near_id)),
        Fault("unknown id", "There is an id too many, like none that is known.", each(ALL, _far_id)),
        Fault(
            "1.0 as id",
            "A number with a decimal point.",
            {
                **each(LISTED, values("wrong_shape", Raw("1.0")), map=KEYS_ARE_TEXT, **TEXT_ALONE),
                **_typed("id", FLOATS),
            },
        ),
        Fault(
            "true as id",
            "A boolean.",
            {
                **each(LISTED, values("wrong_shape", Raw("true")), map=KEYS_ARE_TEXT, **TEXT_ALONE),
                **_typed("id", FLAGS),
            },
        ),
        Fault(
            "null as id",
            "No value.",
            {
                **each(LISTED, values("missing_id", Raw("null")), map=KEYS_ARE_TEXT, **TEXT_ALONE, **NO_NULL),
                **each(ARROWS, _id_null),
            },
        ),
        Fault(
            "list as id",
            "A list instead of a text.",
            {**each(LISTED, values("wrong_shape", ["t2"]), map=KEYS_ARE_TEXT, **TEXT_ALONE), **_lists("id")},
        ),
    ),
)


# ---- labels ----------------------------------------------------------------------------------------


def _in_set(code: str, labels: list[str], item: int) -> Any:
    """A maker of multi-label cells with these labels for t2, of which one is faulty."""

    def make(column: str) -> Cell:
        found = {"code": code, **place(column, 1, "label", item, sets=True), "instance_id": "t2"}
        if column in {"csv", "tsv"}:
            found |= {"line": 3, "column": 2}
        if column == "long":
            found |= {"line": 3 + item, "column": 2}
        if column == "npz":
            found["pointer"] = "/labels/1"  # one text holds them all
        return cell(column, written(column, second(SETS, value=labels), "labels"), found, challenge="sets")

    return make


def _one_for_sets(column: str) -> Cell:
    """One label where the task takes sets."""
    found = []
    for row, name in enumerate(IDS):
        here = place(column, row, "label", sets=False)
        found.append({"code": "wrong_shape", **here, "instance_id": name})
    return cell(column, written(column, LABELS), *found, challenge="sets")


def _sets_for_one(column: str) -> Cell:
    """Sets where the task takes one label."""
    found = [
        {"code": "wrong_shape", **place(column, row, "label", sets=True), "instance_id": name}
        for row, name in enumerate(IDS)
    ]
    if column in ARROWS:
        found = [at("wrong_shape")]
    return cell(column, written(column, SETS, "labels"), *found)


def _joined(column: str) -> Cell:
    """Labels joined by a bar where the task takes one."""
    rows = second(LABELS, value="cat|dog")
    return cell(
        column, written(column, rows), {"code": "unknown_label", **place(column, 1, "label"), "instance_id": "t2"}
    )


def _label_null(column: str) -> Cell:
    return column_of(column, "label", ["cat", None, "eel"], at("wrong_shape", "/label/1", "t2"))


def _unequal(column: str) -> Cell:
    if column == "columns":
        body: str | bytes = js({"ids": list(IDS), "labels": list(CLASSES[:2])})
    else:
        body = npz(ids=IDS, labels=CLASSES[:2])
    return cell(column, body, at("wrong_shape", "/labels"), *missing("t3"))


def _empty_label(column: str) -> Cell:
    if column == "long":
        body = written(column, [*SETS, ("t2", [""])], "labels")
        return cell(column, body, at("empty_label", None, "t2", line=5, column=2))
    return labelled("empty_label", "")(column)


def _no_label(column: str) -> Cell:
    rows = [{"id": "t1", "label": "cat"}, {"id": "t2"}, {"id": "t3", "label": "eel"}]
    body = "\n".join(map(js, rows)) if column == "lines" else js({"predictions": rows})
    return cell(column, body, {"code": "wrong_shape", **place(column, 1, "row"), "instance_id": "t2"})


FIELD_ALONE = "all rows have the same fields"
ANSWERS = Group(
    "Labels",
    ALL,
    (
        Fault(
            "unknown label",
            "A label like none of the vocabulary.",
            each(ALL, labelled("unknown_label", "zebra", expected='"cat", "dog", "eel"')),
        ),
        Fault(
            "misspelt label",
            "Dog instead of dog: the answer asks whether dog is meant.",
            each(ALL, labelled("unknown_label", "Dog", expected='"dog"')),
        ),
        Fault(
            "empty label",
            "The label of t2 is the empty string (long CSV: beside another one).",
            each(ALL, _empty_label),
        ),
        Fault("duplicate label", "A set holds dog twice.", each(ALL, _in_set("duplicate_label", ["dog", "dog"], 1))),
        Fault(
            "unknown in a set",
            "One label of a set is unknown.",
            each(ALL, _in_set("unknown_label", ["dog", "zebra"], 1)),
        ),
        Fault(
            "label where sets are due",
            "A multi-label task gets one label per instance.",
            each(
                JSON,
                _one_for_sets,
                **dict.fromkeys((*TABLES, "npz", *ARROWS), "one label is a set of one; several are joined by a bar"),
            ),
        ),
        Fault(
            "set where a label is due",
            "A task of one label gets lists; in tables and arrays, labels joined by a bar.",
            {
                **each((*JSON, *ARROWS), _sets_for_one, long="it is for sets only"),
                **each(("csv", "tsv", "npz"), _joined),
            },
        ),
        Fault(
            "no label",
            "The record of t2 has no label.",
            each(
                RECORDS,
                _no_label,
                map="an id has a value",
                **dict.fromkeys(("columns", *TABLES, "npz", *ARROWS), FIELD_ALONE),
            ),
        ),
        Fault(
            "1.0 as label",
            "A number with a decimal point.",
            {**each(JSON, labelled("wrong_shape", Raw("1.0")), **TEXT_ALONE), **_typed("label", FLOATS)},
        ),
        Fault(
            "true as label",
            "A boolean.",
            {**each(JSON, labelled("wrong_shape", Raw("true")), **TEXT_ALONE), **_typed("label", FLAGS)},
        ),
        Fault(
            "null as label",
            "No value.",
            {**each(JSON, labelled("wrong_shape", Raw("null")), **TEXT_ALONE, **NO_NULL), **each(ARROWS, _label_null)},
        ),
        Fault(
            "list as label",
            "A list instead of a text.",
            {**each(JSON, labelled("wrong_shape", ["dog"]), **TEXT_ALONE), **_lists("label")},
        ),
        Fault(
            "unequal lengths",
            "There are fewer labels than ids.",
            each(
                ("columns", "npz"),
                _unequal,
                **dict.fromkeys((*RECORDS, "map"), "an id and its answer stand together"),
                **dict.fromkeys(TABLES, "see ragged rows"),
                **dict.fromkeys(ARROWS, "columns of a table have one length"),
            ),
        ),
    ),
)
