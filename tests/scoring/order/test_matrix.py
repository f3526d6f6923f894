"""Reading a table of results: what is accepted, and what each fault says."""

import pytest

from app.analysis.order.matrix import group_codes, read_matrix
from app.errors import InvalidContent
from tests.each_case import for_each


def test_a_header_of_any_name_and_one_row_a_system() -> None:
    matrix = read_matrix("system,q1,q2\nalpha,1,0\n\nbeta,0,0\n")
    assert (matrix.systems, matrix.ids) == (("alpha", "beta"), ("q1", "q2"))
    assert matrix.values.tolist() == [[1, 0], [0, 0]]
    assert matrix.right_or_wrong


def test_values_may_be_numbers_and_words_of_truth() -> None:
    matrix = read_matrix("m;q1;q2\na;0.25;-1e-3\nb;True;FALSE\n", ";")
    assert matrix.values.tolist() == [[0.25, -0.001], [1, 0]]
    assert not matrix.right_or_wrong


@for_each(
    "text, detail",
    [
        ("", "The table is empty."),
        ("m\na\n", "The table has no instances: its header has one cell."),
        ("m,q1\n", "The table has no systems: it has a header alone."),
        ("m,q1,q1\na,1,1\n", "The table has a repeated instance id: 'q1'."),
        ("m,q1,\na,1,1\n", "The instance id number 2 is empty."),
        ("m,q1\na,1\na,0\n", "The table has a repeated system: 'a'."),
        ("m,q1\n,1\n", "The system number 1 is empty."),
        ("m,q1,q2\na,1,1\nb,1\n", "Row 2 ('b') has 2 cells, the header 3."),
        ("m,q1,q2\na,1,\nb,NA,nan\n", "The table has empty cells (3): system 'a', instance 'q2'; system 'b', instance "),
        ("m,q1,q2\na,1,two\n", "The table has cells that are not numbers up to 1e+100 (1): system 'a', instance 'q2' is 'two'."),
        ("m,q1,q2\na,inf,1\n", "The table has cells that are not numbers up to 1e+100 (1): system 'a', instance 'q1' is 'inf'."),
        ('m,q1\n"a,1\n', "The table is not CSV: "),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(text: str, detail: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        read_matrix(text)
    assert caught.value.detail.startswith(detail)
    assert caught.value.advice


def test_equal_ids_in_two_spellings_of_unicode_are_repeated() -> None:
    with pytest.raises(InvalidContent, match="repeated instance id"):
        read_matrix("m,\u00e9,e\u0301\na,1,0\n")


def test_groups_are_sorted_by_name_and_every_instance_needs_one() -> None:
    names, codes = group_codes(["x", "y", "z"], {"x": "g2", "y": "g1", "z": "g2", "w": "g3"})
    assert (names, codes.tolist()) == (["g1", "g2"], [1, 0, 1])
    with pytest.raises(InvalidContent, match=r"have no group \(1\): 'z'"):
        group_codes(["x", "z"], {"x": "g"})
