"""The ids that `assay validate --ids` reads: the vectorized reader gives those that the plain reading gives, or none."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.input.value_parsing import read_id_index
from app.cli.terminal.output import CommandError
from app.errors import AssayError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ids")


def ids_both_ways(path: Path, text: str) -> tuple[list[str] | str, bool]:
    """The ids or the error, which must not depend on the reader, and whether the vectorized reader read them."""
    path.write_bytes(text.encode())
    with patch("app.formats.vectorized.labels.read_ids", return_value=None):
        plain = _ids(path)
    with patch("app.cli.input.value_parsing.read_ids", side_effect=AssertionError("not vectorized")):
        try:
            found = _ids(path)
        except AssertionError:
            return plain, False
    assert found == plain
    return plain, True


def _ids(path: Path) -> list[str] | str:
    try:
        return read_id_index(path).ids
    except (AssayError, CommandError) as error:
        return repr(error)


WEIGHTS = (("b", "0.5"), ("a", "2"), ("c", "1e-3"))
VECTORIZED = {
    "list.json": '["b", "a", "c"]\n',
    "template.json": '{"predictions": [{"id": "b", "label": ""}, {"id": "a", "label": ""}, {"id": "c", "label": ""}]}',
    "sets.json": '[{"id": "b", "labels": []}, {"id": "a", "labels": ["x"]}, {"id": "c", "labels": []}]',
    "columns.json": '{"ids": ["b", "a", "c"], "labels": ["x", "", "x"]}',
    "map.json": '{"b": "", "a": "x", "c": "x"}',
    "template.jsonl": '{"id": "b", "label": ""}\n{"id": "a", "label": ""}\n{"id": "c", "label": ""}\n',
    "template.csv": "id,label\nb,\na,\nc,\n",
    "template.tsv": "label\tid\n\tb\n\ta\n\tc\n",
    "weights.jsonl": "".join(f'{{"id": "{one}", "label": "x", "weight": {weight}}}\n' for one, weight in WEIGHTS),
    "gold.csv": "id,label,split\nb,x,public\na,x,\nc,x,private\n",
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_plain_lists_templates_and_files_of_labels_are_read_without_strings(folder: Path, name: str) -> None:
    assert ids_both_ways(folder / name, VECTORIZED[name]) == (["a", "b", "c"], True)


OTHERS = {
    "twice.json": '["b", "a", "b"]',
    "numbers.json": "[1, 2]",
    "broken.json": '["b", "a"',
    "followed.json": '["b", "a"] x',
    "nested.json": '[["b"], ["a"]]',
    "decomposed.json": '["e\u0301", "a"]',
    "separator.jsonl": '{"id": "b\u2028", "label": ""}\n{"id": "a", "label": ""}\n',
    **{
        f"weight {at}.json": f'[{{"id": "b", "label": "x", "weight": 1}}, {{"id": "a", "label": "x", "weight": {number}}}]'
        for at, number in enumerate(["0x10", "1 2", "5.", "[1}", "1_0", "-", "01", "true"])
    },
    "repeated key.json": '{"a": "x", "b": "x", "a": "y"}',
    "control.json": '[{"id": "b", "label": "\x01"}, {"id": "a", "label": ""}]',
    "no id.csv": "name,label\nb,\n",
    "reserved.json": '{"predictions": "x", "a": "x", "b": "y"}',
    "plain.txt": '["b", "a"]\n["c", "d"]\n',
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_read_by_the_strict_reader(folder: Path, name: str) -> None:
    assert not ids_both_ways(folder / name, OTHERS[name])[1]


TEXTS = st.sampled_from(["a", "b", "ab", "", " a", "id", "ids", "predictions", "é", '"', "\\", "a\n", "1", "a" * 300])


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.sampled_from(list(VECTORIZED)))
@settings(max_examples=150, deadline=None)
def test_the_ids_of_any_small_file_do_not_depend_on_the_reader(
    folder: Path, rows: list[tuple[str, str]], name: str
) -> None:
    documents: dict[str, Any] = {
        "list": [name for name, _ in rows],
        "template": {"predictions": [{"id": name, "label": label} for name, label in rows]},
        "sets": [{"id": name, "labels": [label]} for name, label in rows],
        "columns": {"ids": [name for name, _ in rows], "labels": [label for _, label in rows]},
        "map": dict(rows),
    }
    stem, _, ending = name.partition(".")
    sign = "," if ending == "csv" else "\t"
    text = "".join(f"{one}{sign}{other}\n" for one, other in [("id", "label"), *rows])
    if ending == "json":
        text = json.dumps(documents[stem], ensure_ascii=False)
    elif ending == "jsonl":
        text = "".join(json.dumps({"id": one, "label": other}) + "\n" for one, other in rows)
    ids_both_ways(folder / name, text)
