"""String tables: the right row for each known text and none for any other, even if hashes collide."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scoring import string_table
from app.scoring.evaluation_input import IdIndex
from app.scoring.string_table import MAX_STRING_BYTES, PADDING_BYTES, Spans, StringTable, words_of

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
KEY = b"of these tests, of 32 bytes, yes"


def spans(texts: Sequence[str]) -> Spans:
    """Texts laid one after the other into a buffer."""
    parts = [text.encode() for text in texts]
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    buffer = np.frombuffer(b"".join(parts) + b"\xff" * PADDING_BYTES, dtype=np.uint8)
    return Spans(words_of(buffer), np.concatenate([[0], np.cumsum(lengths)])[: len(parts)], lengths)


@given(st.lists(TEXTS, unique=True, min_size=1, max_size=40), st.data())
def test_known_texts_have_their_rows_and_an_unknown_one_makes_all_unknown(
    known: list[str], data: st.DataObject
) -> None:
    table = StringTable.build(known, KEY)
    assert table is not None
    assert table.texts() == known
    texts = data.draw(st.lists(st.sampled_from(known), max_size=60))
    likely = data.draw(st.integers(0, len(known)))
    found = table.rows(spans(texts), likely)
    assert found is not None
    assert found.tolist() == [known.index(text) for text in texts]
    in_order = table.rows(spans(known[likely:]), likely)
    assert in_order is not None
    assert in_order.tolist() == list(range(likely, len(known)))
    unknown = data.draw(st.just("") | TEXTS)
    if unknown not in known:
        place = data.draw(st.integers(0, len(texts)))
        assert table.rows(spans([*texts[:place], unknown, *texts[place:]])) is None


def test_equal_hashes_are_told_apart_by_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = StringTable.build(["t0", "t1", "t2"], KEY)
    assert table is not None
    same = string_table._hash_words(spans(["t1"]).words(1) or [], table.key)[0]
    monkeypatch.setattr(string_table, "_hash_words", lambda words, _key: np.full(len(words[0]), same))
    found = table.rows(spans(["t1", "t1"]))
    assert found is not None
    assert found.tolist() == [1, 1]
    assert table.rows(spans(["t1", "t0"])) is None
    assert table.rows(spans(["u1"])) is None


def test_where_hashes_cannot_tell_texts_apart_there_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(string_table, "_hash_words", lambda words, _key: np.zeros(len(words[0]), dtype=np.uint64))
    assert StringTable.build([f"t{number}" for number in range(20)], KEY) is None


def test_texts_that_do_not_fit_have_no_table() -> None:
    assert StringTable.build([]) is None
    assert StringTable.build(["a", "b" * (MAX_STRING_BYTES + 1)]) is None
    assert StringTable.build(["a", "b" * MAX_STRING_BYTES]) is not None
    assert StringTable.build(["a\0b"]) is None
    assert StringTable.build(["a", ""]) is None
    assert StringTable.build(["a", "\ud800"]) is None
    uneven = [*(f"{number}" for number in range(200_000)), "x" * MAX_STRING_BYTES]
    assert StringTable.build(uneven) is None


def test_a_text_that_ends_with_nul_is_not_the_one_without() -> None:
    table = StringTable.build(["a", "bcdefghi"], KEY)
    assert table is not None
    for text in ("a\0", "a\0\0\0", "bcdefghi\0", "\0"):
        assert table.rows(spans([text])) is None
        assert table.rows(spans(["a", text, "bcdefghi"])) is None
        assert table.rows(spans(["a", text]), likely=0) is None


def test_what_json_has_to_escape_is_noticed() -> None:
    for text in ('a"', "a\\", "\ta", "\x1f"):
        table = StringTable.build(["b", text])
        assert table is not None
        assert not table.is_json_safe
    sound = StringTable.build(["a b/ü\x7f", "é" * 30])
    assert sound is not None
    assert sound.is_json_safe


def test_an_index_of_a_table_is_that_of_its_texts() -> None:
    known = ["t1", "é", "longer than eight bytes"]
    table = StringTable.build(known)
    assert table is not None
    index = IdIndex.from_table(table)
    assert len(index) == 3
    assert "ids" not in vars(index)
    assert index.rows(["é", "x"]).tolist() == [1, -1]
    assert "t1" in index
    assert index.ids == known
    assert len(index) == 3


def test_the_key_decides_where_a_text_stands() -> None:
    known = [f"t{number}" for number in range(1000)]
    tables = [StringTable.build(known, key) for key in (KEY, b"another key, of 32 bytes as well")]
    first, second = (table.slots for table in tables if table is not None)
    assert not np.array_equal(first, second)
