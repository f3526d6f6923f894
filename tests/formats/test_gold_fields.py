"""In gold, a field whose name is one edit away from a known one is refused, in every format with named fields."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.formats import detect_file_kind
from app.formats.readers.gold_fields import is_within_one_edit
from app.gold import load_gold
from app.pipeline import SourceFile
from tests.each_case import for_each

IDS, LABELS = [f"t{number}" for number in range(200)], ["a", "b"] * 100


def gold_file(ending: str, name: str) -> str:
    """Gold with one field more than it needs."""
    records = [{"id": key, "label": label, name: "x"} for key, label in zip(IDS, LABELS, strict=True)]
    if ending == "columns.json":
        return json.dumps({"ids": IDS, "labels": LABELS, name: ["x"] * len(IDS)})
    if ending == "json":
        return json.dumps(records)
    if ending == "jsonl":
        return "\n".join(map(json.dumps, records))
    sign = {"csv": ",", "tsv": "\t"}[ending]
    return "".join(f"{sign.join(row)}\n" for row in [["id", "label", name], *(list(each.values()) for each in records)])


def problems_of(path: Path) -> dict[str, object]:
    source = SourceFile(path, detect_file_kind(path.name, None, None))
    gold, problems = load_gold(source, task="multiclass", classes=["a", "b"])
    return {} if gold is not None else problems.to_dict()


@for_each("ending", ["csv", "tsv", "json", "jsonl", "columns.json"])
@for_each(
    "name, meant",
    [
        ("splt", "split"),
        ("spilt", "split"),
        ("wieght", "weight"),
        ("lable", "label"),
        ("labell", "label"),
        ("idd", "id"),
    ],
)
def test_a_misspelt_field_is_refused_with_the_name_that_is_meant(
    tmp_path: Path, ending: str, name: str, meant: str
) -> None:
    path = tmp_path / f"gold.{ending}"
    path.write_text(gold_file(ending, name))
    assert f"Did you mean '{meant}" in json.dumps(problems_of(path))


@for_each("ending", ["csv", "tsv", "json", "jsonl", "columns.json"])
@for_each("name", ["comment", "speaker", "label_text", "splitting"])
def test_a_field_of_another_name_is_ignored(tmp_path: Path, ending: str, name: str) -> None:
    path = tmp_path / f"gold.{ending}"
    path.write_text(gold_file(ending, name))
    assert problems_of(path) == {}


def neighbours(word: str, letters: str) -> set[str]:
    """All words at one insertion, deletion, substitution or swap of neighbours."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    return {
        *(head + rest[1:] for head, rest in splits if rest),
        *(head + letter + rest for head, rest in splits for letter in letters),
        *(head + letter + rest[1:] for head, rest in splits if rest for letter in letters),
        *(head + rest[1] + rest[0] + rest[2:] for head, rest in splits if len(rest) > 1),
    }


WORDS = st.text("abc", max_size=5)


@given(WORDS, WORDS)
def test_one_edit_is_what_trying_all_edits_gives(one: str, other: str) -> None:
    assert is_within_one_edit(one, other) == (one == other or other in neighbours(one, "abc"))
