"""Problems that are not listed cost next to nothing, even if a file has very many."""

import json
import random
import re
import time
import unicodedata

import pytest

from app.formats.content.utf8_decoding import decode_utf8, has_excess_combining_marks, to_nfc
from app.formats.problems import Problems
from app.formats.readers.strict_json import json_decoder
from app.formats.reading_rules import Limits
from app.formats.validation.suggestions import SuggestionFinder
from tests.each_case import for_each


def test_similar_texts_are_looked_for_a_few_hundred_times_only() -> None:
    near = SuggestionFinder([f"class number {number}" for number in range(300)])
    assert near.find("class numbr 7x") is not None
    began = time.process_time()
    for number in range(20_000):
        near.find(f"clas numbr {number}x")
    assert time.process_time() - began < 10  # without a bound, a minute and more


def test_columns_of_faulty_bytes_are_counted_once() -> None:
    body = b'["' + "ä".encode() * (4 << 20) + b"\xff," * 100
    problems = Problems()
    began = time.process_time()
    decode_utf8(body, by_line=False, problems=problems)
    assert time.process_time() - began < 3
    start = 3 + (4 << 20)
    assert [each.column for each in problems.first] == list(range(start, start + 200, 2))


@for_each("sign", ["", "-"])
def test_an_integer_with_more_digits_than_any_finite_number_is_a_fault_of_the_file(sign: str) -> None:
    decoder = json_decoder(Limits(text_length=100_000))
    longest = f"{sign}{2**1024 - 1}"
    assert decoder.decode(longest) == json.loads(longest)
    for digits in (310, 5000):
        assert decoder.decode(sign + "9" * digits).code == "too_large"


def test_marks_are_put_in_order_only_where_the_text_may_be_an_id() -> None:
    assert to_nfc("e\u0301", 2) == "é"
    assert to_nfc("e\u0301" + "\u0327\u0301" * 1000, 1000) == "e\u0301" + "\u0327\u0301" * 1000


def test_piles_of_marks_are_found_wherever_they_are_and_elsewhere_none() -> None:
    pile = re.compile("[\u0301\u0327\u05b0]{31}")
    chance = random.Random(7)
    found = 0
    for _ in range(3000):
        parts = [chance.choice("\u0301\u0327\u05b0") * chance.choice((1, 15, 16, 29, 30, 31, 32)) for _ in range(4)]
        text = "".join(
            chance.choice(("", "", "a", "\u1ebf" * 3, "b" * 40)) + part for part in parts
        ) + "é" * chance.randrange(3)
        assert has_excess_combining_marks(text) is (pile.search(text) is not None), ascii(text)
        found += has_excess_combining_marks(text)
    assert 100 < found < 2900


def test_marks_are_looked_for_at_few_places_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A regular expression that tries every character took milliseconds for each label of a thousand."""
    calls, combining = 0, unicodedata.combining

    def counted(sign: str) -> int:
        nonlocal calls
        calls += 1
        return combining(sign)

    monkeypatch.setattr(unicodedata, "combining", counted)
    for text in ("é" * 998, "e\u0301" * 499, "\u1112\u1161" * 499):
        assert not has_excess_combining_marks(text)
    assert 0 < calls < 400
