"""Arbitrary input: no bytes raise an exception, and every answer can be encoded."""

import json
import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FORMATS
from app.formats.reading_rules import ReadingRules
from app.formats.validation.gold_validation import label_set
from app.formats.validation.table_validation import validate_table
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import IdIndex
from tests.formats.reading import CLASSES, IDS, read, read_answer_labels


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(str.encode),
    st.sampled_from(["", "gzip", "zstd"]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_no_bytes_at_all_raise(raw: bytes, encoding: str, several: bool, gold: bool) -> None:
    for kind in FORMATS:
        table, problems = read(raw, kind, multilabel=several, encoding=encoding, gold=gold)
        ids = list(dict.fromkeys(name for name in table.ids if name))
        validate_table(table, IdIndex(ids), TaskSpec("multiclass", ()), rules=ReadingRules(), problems=problems)
        json.dumps(problems.to_dict(), ensure_ascii=False).encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "label", "labels", "ids", "predictions", "split", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(json_values, st.booleans(), st.booleans())
@settings(max_examples=400, deadline=None)
def test_no_json_at_all_raises_and_whatever_is_read_without_problems_scores(
    value: Any, several: bool, gold: bool
) -> None:
    for kind in ("json", "jsonl"):
        table, problems = read(json.dumps(value), kind, multilabel=several, gold=gold)
        ids = list(dict.fromkeys(name for name in table.ids if name))
        spec = TaskSpec("multilabel" if several else "multiclass", label_set(table))
        found = validate_table(table, IdIndex(ids), spec, rules=ReadingRules(), problems=problems)
        assert (found is None) is bool(problems)
        assert found is None or found.labels is None or found.labels.n == len(ids)
        assert found is None or found.scores is None or found.scores.shape == (len(ids), len(spec.classes))


@given(st.lists(st.sampled_from(["e\u0301", "\u00e9", "a", "A\u030a", "\u212b"]), min_size=1, max_size=6))
def test_ids_equal_after_nfc_are_one_id(names: list[str]) -> None:
    distinct = list(dict.fromkeys(unicodedata.normalize("NFC", name) for name in names))
    text = json.dumps([{"id": name, "label": "x"} for name in names])
    _, problems = read_answer_labels(text, ids=distinct, classes=["x"])
    repeated = len(names) - len(distinct)
    assert problems.total == ({"duplicate_id": repeated} if repeated else {})


@given(
    template=st.sampled_from(
        [
            '[{{"id":"{0}","label":"{1}"}}]',
            '{{"{0}":[{{"id":"t1","label":"{1}"}}]}}',
            '{{"{0}":"{1}","{0}":"x"}}',
            '{{"ids":["{0}"],"labels":["{1}"],"{0}":1,"{0}":2}}',
            "id,label,{0},{0}\nt1,{1}\n",
            "id,{0}\n{1},{0}\n",
            '{{"id":"{0}","{1}":1,"{1}":2}}',
        ]
    ),
    texts=st.tuples(st.text(st.sampled_from("a\x85\udc85\ud800é\0,")), st.text(st.sampled_from("t1\udfff\ud83d|~/"))),
    kind=st.sampled_from(["json", "jsonl", "csv"]),
    several=st.booleans(),
    escaped=st.booleans(),
)
def test_every_answer_can_be_written_as_utf_8(
    template: str, texts: tuple[str, str], kind: str, several: bool, escaped: bool
) -> None:
    """Lone surrogates arrive as escapes and as bytes; no answer contains one."""
    shown = [json.dumps(text)[1:-1] if escaped else text for text in texts]
    table, problems = read(template.format(*shown), kind, multilabel=several)
    validate_table(table, IdIndex(IDS), TaskSpec("multiclass", CLASSES), rules=ReadingRules(), problems=problems)
    json.dumps([problems.to_dict(), table.notes], ensure_ascii=False).encode()
