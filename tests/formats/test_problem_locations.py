"""Faults of prediction files beyond those of the fault table, with their exact locations."""

import json
from typing import Any

from app.formats.reading_rules import Limits
from tests.each_case import for_each
from tests.formats.fault_table.model import problem_at
from tests.formats.reading import located_problems, read_answer_labels, summarize_problems

GOOD = '{"id":"t1","label":"cat"},{"id":"t2","label":"dog"},{"id":"t3","label":"eel"}'
REST = '{"id":"t2","label":"dog"},{"id":"t3","label":"eel"}'


def without_missing(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [problem for problem in problems if problem["code"] != "missing_instances"]


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


JSON_FAULTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "blank body": (" \n ", [problem_at("syntax", line=1, column=1)]),
    "truncated": (f"[{GOOD[:-10]}", [problem_at("syntax", line=1, column=65)]),
    "trailing comma": (f"[{GOOD},]", [problem_at("syntax", line=1, column=len(GOOD) + 3)]),
    "trailing text": (f"[{GOOD}]\n x", [problem_at("syntax", line=2, column=2)]),
    "python text": ("[{'id': 1}]", [problem_at("syntax", line=1, column=3)]),
    "line end in a string": ('[{"id":"t\n1"}]', [problem_at("syntax", line=1, column=10)]),
    "nested 100,000 deep": ("[" * 100_000, [problem_at("too_deep", line=1, column=65)]),
    "nested 65 deep in an ignored field": (
        '[\n{"id":"t1","label":"cat","x":' + deep(63) + "}," + REST + "]",
        [problem_at("too_deep", line=2, column=29 + 63)],
    ),
    "nested 65 deep in a label": (
        '[{"id":"t1","label":' + deep(63) + "}]",
        [problem_at("too_deep", line=1, column=20 + 63)],
    ),
    "nested 65 deep in a map": ('{"t1":' + deep(64) + "}", [problem_at("too_deep", line=1, column=6 + 64)]),
    "nested 65 deep in a column": (
        '{"ids":[],"labels":[' + deep(63) + "]}",
        [problem_at("too_deep", line=1, column=20 + 63)],
    ),
    "nested 65 deep beside the records": (
        '{"x":' + deep(64) + ',"predictions":[' + GOOD + "]}",
        [problem_at("too_deep", line=1, column=5 + 64)],
    ),
    "NaN as label": ('[{"id":"t1","label":NaN},' + REST + "]", [problem_at("not_a_number", "/0/label", "t1")]),
    "Infinity in an ignored field": (
        '[{"id":"t1","label":"cat","score":[0.5,-Infinity]},' + REST + "]",
        [problem_at("not_a_number", "/0/score/1", "t1")],
    ),
    "1e999 in an ignored field": (
        '{"predictions":[{"id":"t1","label":"cat","score":1e999},' + REST + "]}",
        [problem_at("not_a_number", "/predictions/0/score", "t1")],
    ),
    "NaN beside the records": ('{"x":{"y":NaN},"predictions":[' + GOOD + "]}", [problem_at("not_a_number", "/x/y")]),
    "NaN in a column": (
        '{"ids":["t1","t2","t3"],"labels":["cat",NaN,"eel"]}',
        [problem_at("not_a_number", "/labels/1", "t2")],
    ),
    "NaN in a map": ('{"t1":"cat","t2":NaN,"t3":"eel"}', [problem_at("not_a_number", "/t2", "t2")]),
    "integer of 5,000 digits": (
        '[{"id":' + "9" * 5000 + ',"label":"cat"},' + REST + "]",
        [problem_at("too_large", "/0/id")],
    ),
    "repeated key in an ignored field": (
        '[{"id":"t1","label":"cat","x":{"a/b":1,"a/b":2}},' + REST + "]",
        [problem_at("duplicate_key", "/0/x/a~1b", "t1")],
    ),
    "repeated key beside the records": (
        '{"a":1,"predictions":[' + GOOD + '],"a":2}',
        [problem_at("duplicate_key", "/a")],
    ),
    "records twice": ('{"predictions":[' + GOOD + '],"predictions":[]}', [problem_at("duplicate_key", "/predictions")]),
    "a map's keys equal after NFC": (
        '{"t1":"cat","t2":"dog","t3":"eel","caf\u00e9":"cat","cafe\u0301":"cat"}',
        [problem_at("unknown_id", "/caf\u00e9", "caf\u00e9"), problem_at("unknown_id", "/cafe\u0301", "caf\u00e9")],
    ),
    "an object as id": ('[{"id":{},"label":"cat"},' + REST + "]", [problem_at("wrong_shape", "/0/id")]),
    "a string for a record": ('["t1",' + REST + "]", [problem_at("wrong_shape", "/0")]),
    "a list for a record": ("[[]," + REST + "]", [problem_at("wrong_shape", "/0")]),
    "integer as unknown label": (
        '[{"id":"t1","label":7},' + REST + "]",
        [problem_at("unknown_label", "/0/label", "t1")],
    ),
    "lone surrogate in an id": ('[{"id":"\\udfff","label":"cat"},' + REST + "]", [problem_at("encoding", "/0/id")]),
    "too long a label": (
        '[{"id":"t1","label":"' + "x" * 1001 + '"},' + REST + "]",
        [problem_at("too_large", "/0/label", "t1")],
    ),
    "nothing": ("[]", [problem_at("missing_instances", instance_id=name) for name in ("t1", "t2", "t3")]),
    "a number for a file": ("3", [problem_at("wrong_shape", "")]),
    "a string for a file": ('"t1"', [problem_at("wrong_shape", "")]),
    "predictions is an object": ('{"predictions":{"t1":"cat"}}', [problem_at("wrong_shape", "/predictions")]),
    "ids without labels": ('{"ids":["t1","t2","t3"]}', [problem_at("wrong_shape", "/ids")]),
    "a column too long": (
        '{"ids":["t1","t2","t3"],"labels":["cat","dog","eel","cat"]}',
        [problem_at("wrong_shape", "/labels")],
    ),
    "faults in columns": (
        '{"ids":["t1",null,"t1"],"labels":["cat","x",""]}',
        [
            problem_at("missing_id", "/ids/1"),
            problem_at("unknown_label", "/labels/1"),
            problem_at("empty_label", "/labels/2", "t1"),
            problem_at("duplicate_id", "/ids/2", "t1"),
            problem_at("missing_instances", instance_id="t2"),
            problem_at("missing_instances", instance_id="t3"),
        ],
    ),
    "faults in a map": (
        '{"t1":["cat"],"a/b":"cat","t3":"x","":"cat"}',
        [
            problem_at("wrong_shape", "/t1", "t1"),
            problem_at("unknown_id", "/a~1b", "a/b"),
            problem_at("unknown_label", "/t3", "t3"),
            problem_at("missing_id", "/"),
        ],
    ),
    "several in one record": (
        '[{"id":"t1","label":"Cat"},{"id":"t2","label":null},{"label":"x"},{"id":"t1","label":""}]',
        [
            problem_at("unknown_label", "/0/label", "t1"),
            problem_at("wrong_shape", "/1/label", "t2"),
            problem_at("missing_id", "/2"),
            problem_at("unknown_label", "/2/label"),
            problem_at("empty_label", "/3/label", "t1"),
            problem_at("duplicate_id", "/3/id", "t1"),
        ],
    ),
    "documents without id": (
        '{"documents":[{"pmid":"t1","label":"cat"},{"x":1}]}',
        [
            problem_at("missing_id", "/documents/1"),
            problem_at("wrong_shape", "/documents/1"),
            problem_at("missing_instances", instance_id="t2"),
            problem_at("missing_instances", instance_id="t3"),
        ],
    ),
}


@for_each("name", JSON_FAULTS)
def test_a_fault_of_a_json_file_is_reported_where_it_stands(name: str) -> None:
    text, expected = JSON_FAULTS[name]
    labels, problems = read_answer_labels(text)
    assert labels is None
    assert located_problems(problems) == without_missing(expected)


MULTI_REST = '{"id":"t2","labels":[]},{"id":"t3","labels":["dog","cat"]}'
MULTI_FAULTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "a string as labels": (
        '[{"id":"t1","labels":"cat"},' + MULTI_REST + "]",
        [problem_at("wrong_shape", "/0/labels", "t1")],
    ),
    "null as labels": (
        '[{"id":"t1","labels":null},' + MULTI_REST + "]",
        [problem_at("wrong_shape", "/0/labels", "t1")],
    ),
    "null within labels": (
        '[{"id":"t1","labels":["cat",null]},' + MULTI_REST + "]",
        [problem_at("wrong_shape", "/0/labels/1", "t1")],
    ),
    "NaN within labels": (
        '[{"id":"t1","labels":["cat",NaN]},' + MULTI_REST + "]",
        [problem_at("not_a_number", "/0/labels/1", "t1")],
    ),
    "empty label": ('[{"id":"t1","labels":[""]},' + MULTI_REST + "]", [problem_at("empty_label", "/0/labels/0", "t1")]),
    "repeated after NFC": (
        '[{"id":"t1","labels":["caf\u00e9","cafe\u0301"]},' + MULTI_REST + "]",
        [problem_at("unknown_label", "/0/labels/0", "t1"), problem_at("duplicate_label", "/0/labels/1", "t1")],
    ),
    "in columns": (
        '{"ids":["t1","t2","t3"],"labels":[[],"dog",["cat","cow"]]}',
        [problem_at("wrong_shape", "/labels/1", "t2"), problem_at("unknown_label", "/labels/2/1", "t3")],
    ),
}


@for_each("name", MULTI_FAULTS)
def test_a_fault_in_a_set_of_labels_is_reported_where_it_stands(name: str) -> None:
    text, expected = MULTI_FAULTS[name]
    labels, problems = read_answer_labels(text, multilabel=True)
    assert labels is None
    assert summarize_problems(problems) == expected


LINE = ['{"id":"t1","label":"cat"}', '{"id":"t2","label":"dog"}', '{"id":"t3","label":"eel"}']
LINES_FAULTS: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "a bad line": ([LINE[0], '{"id":"t2",}', LINE[2]], [problem_at("syntax", line=2, column=12)]),
    "a blank line": ([LINE[0], "", *LINE[1:]], [problem_at("syntax", line=2, column=1)]),
    "a blank line at the end": ([*LINE, " "], [problem_at("syntax", line=4, column=1)]),
    "two records in a line": (
        [f"{LINE[0]} {LINE[1]}", LINE[2]],
        [
            problem_at("syntax", line=1, column=27),
            problem_at("missing_instances", instance_id="t1"),
            problem_at("missing_instances", instance_id="t2"),
        ],
    ),
    "one record over two lines": (
        [*LINE[:2], '{"id":"t3",', '"label":"eel"}'],
        [problem_at("syntax", line=3, column=12), problem_at("syntax", line=4, column=8)],
    ),
    "two records and a half joined by commas": (
        [LINE[0] + "," + LINE[1], LINE[2]],
        [
            problem_at("syntax", line=1, column=26),
            problem_at("missing_instances", instance_id="t1"),
            problem_at("missing_instances", instance_id="t2"),
        ],
    ),
    "too deep": ([LINE[0], '{"x":' + deep(64), LINE[2]], [problem_at("too_deep", line=2, column=5 + 64)]),
    "too deep, 100,000": ([LINE[0], "[" * 100_000, LINE[2]], [problem_at("too_deep", line=2, column=65)]),
    "deep but complete": (
        ['{"id":"t1","label":"cat","x":' + deep(64) + "}", *LINE[1:]],
        [problem_at("too_deep", line=1, column=29 + 64)],
    ),
    "no object": ([LINE[0], "7", LINE[2]], [problem_at("wrong_shape", line=2)]),
    "NaN": (
        [LINE[0], LINE[1], '{"id":"t3","label":"eel","x":[NaN]}'],
        [problem_at("not_a_number", "/x/0", "t3", line=3)],
    ),
    "unknown label": (
        [LINE[0], LINE[1], '{"id":"t3","label":"cow"}'],
        [problem_at("unknown_label", "/label", "t3", line=3)],
    ),
    "repeated id": ([*LINE, LINE[1]], [problem_at("duplicate_id", "/id", "t2", line=4)]),
    "no id": ([*LINE[:2], '{"label":"eel"}'], [problem_at("missing_id", line=3)]),
    "no label": ([*LINE[:2], '{"id":"t3"}'], [problem_at("wrong_shape", instance_id="t3", line=3)]),
}


@for_each("end", ["\n", "\r\n"])
@for_each("name", LINES_FAULTS)
def test_a_fault_of_json_lines_names_its_line_and_reading_goes_on(name: str, end: str) -> None:
    lines, expected = LINES_FAULTS[name]
    labels, problems = read_answer_labels(end.join(lines) + end, "jsonl")
    assert labels is None
    assert located_problems(problems) == without_missing(expected)


CSV_FAULTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "repeated header": ("id,label,id\nt1,cat,t1\n", [problem_at("duplicate_key", line=1, column=3)]),
    "labels where a label is due": ("id,labels\nt1,cat\n", [problem_at("wrong_shape", line=1)]),
    "unclosed quote in the header": ('id,"label\nt1,cat\n', [problem_at("syntax", line=1, column=2)]),
    "blank line at the end": ("id,label\nt1,cat\nt2,dog\nt3,eel\n\n", [problem_at("syntax", line=5, column=1)]),
    "CR within a line": ("id,label\nt1,cat\nt2,d\rog\nt3,eel\n", [problem_at("syntax", line=3, column=2)]),
    "empty label": ("id,label\nt1,\nt2,dog\nt3,eel\n", [problem_at("empty_label", None, "t1", line=2, column=2)]),
    "unknown label, columns turned": (
        "label,id\ncat,t1\nCat,t2\neel,t3\n",
        [problem_at("unknown_label", None, "t2", line=3, column=1)],
    ),
    "after a field of two lines": (
        'id,label,note\nt1,cat,"a\nb"\nt2,cow,c\nt3,eel,d\n',
        [problem_at("unknown_label", None, "t2", line=4, column=2)],
    ),
    "field of more than 128 KiB": (
        f"id,label\nt1,cat\nt2,dog\nt3,{'x' * 140_000}\n",
        [problem_at("too_large", line=4, column=2)],
    ),
}


@for_each("name", CSV_FAULTS)
def test_a_fault_of_a_csv_file_names_line_and_field(name: str) -> None:
    text, expected = CSV_FAULTS[name]
    labels, problems = read_answer_labels(text, "csv")
    assert labels is None
    assert located_problems(problems) == without_missing(expected)


def test_labels_of_a_csv_cell_are_checked_one_by_one() -> None:
    labels, problems = read_answer_labels("id,labels\nt1,cat||cow\nt2,dog|dog\nt3,\n", "csv", multilabel=True)
    assert labels is None
    assert summarize_problems(problems) == [
        problem_at("empty_label", None, "t1", line=2, column=2),
        problem_at("unknown_label", None, "t1", line=2, column=2),
        problem_at("duplicate_label", None, "t2", line=3, column=2),
    ]


def test_every_problem_of_a_large_file_is_counted_and_a_hundred_are_listed() -> None:
    records = [{"id": f"x{n}", "label": "cow"} for n in range(500)]
    _, problems = read_answer_labels(json.dumps(records), ids=[f"t{n}" for n in range(400)])
    assert problems.total == {"unknown_id": 500, "unknown_label": 500, "missing_instances": 400}
    assert [found.pointer for found in problems.first] == [
        pointer for n in range(50) for pointer in (f"/{n}/id", f"/{n}/label")
    ]


def test_missing_ids_are_named_beside_rows_whose_ids_could_not_be_read() -> None:
    """Mending every listed problem gives a complete file: no problem appears only at the second attempt."""
    ids = ["t0", "t1", "t2", "t3"]
    rows = '{"id":"t0","label":"q"},{"label":"cat"},{"id":"zz","label":""},{"id":1.0,"label":"cat"},{"id":"t1"}'
    _, problems = read_answer_labels(f"[{rows}]", ids=ids)
    assert [found.instance_id for found in problems.first if found.code == "missing_instances"] == ["t2", "t3"]
    _, problems = read_answer_labels("id,label\nt0,cat\nt1,dog,x\nt2,eel\n", "csv", ids=ids)
    assert problems.total == {"wrong_shape": 1, "missing_instances": 2}


def test_missing_ids_come_last_in_gold_order() -> None:
    _, problems = read_answer_labels('[{"id":"t2","label":"cow"}]')
    assert [found.code for found in problems.first] == ["unknown_label", "missing_instances", "missing_instances"]
    assert [found.instance_id for found in problems.first][1:] == ["t1", "t3"]


def test_every_problem_says_how_to_mend_it() -> None:
    for text, _ in [*JSON_FAULTS.values()]:
        for found in read_answer_labels(text)[1].first:
            sentences = [part for part in found.message.replace("?", ".").split(". ") if part]
            assert len(sentences) >= 2, found.message


def test_answers_can_be_written_as_json_whatever_the_file_holds() -> None:
    texts = [text for text, _ in (*JSON_FAULTS.values(), *CSV_FAULTS.values())]
    for text in texts:
        for kind in ("json", "jsonl", "csv"):
            json.dumps(read_answer_labels(text, kind)[1].to_dict(), ensure_ascii=False, allow_nan=False).encode()


def test_near_misses_are_asked_about() -> None:
    _, problems = read_answer_labels(f'[{{"id":"T-01","label":" CAT"}},{REST}]')
    unknown_id, unknown_label = problems.first[:2]
    assert (unknown_id.expected, unknown_label.expected) == ('"t1"', '"cat"')
    assert 'Did you mean "t1"?' in unknown_id.message
    assert 'Did you mean "cat"?' in unknown_label.message


def test_long_vocabularies_are_cut_in_messages() -> None:
    _, problems = read_answer_labels(
        '{"t1":"nothing like it"}', ids=["t1"], classes=[f"label {n:04}" for n in range(1000)]
    )
    expected = problems.first[0].expected or ""
    assert "(1000 labels)" in expected
    assert len(expected) < 300


def test_records_over_the_limit_are_refused() -> None:
    labels, problems = read_answer_labels(f"[{GOOD}]", limits=Limits(records=2))
    assert labels is None
    assert problems.total == {"too_many_rows": 1}
