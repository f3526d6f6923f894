import json

import pytest

from app.formats.problems import (
    END_OF_FILE_ROW,
    MAX_LISTED_PROBLEMS,
    Location,
    Problem,
    Problems,
    build_problem,
    describe_value,
    pointer_token,
)
from tests.each_case import for_each


def problem_in_row(row: int, code: str = "unknown_id") -> Problem:
    return build_problem(code, f"row {row}", Location(f"/{row}"))


def test_all_are_counted_and_the_first_hundred_of_the_file_are_listed_in_file_order() -> None:
    problems = Problems()
    for row in reversed(range(250)):
        problems.add(problem_in_row(row), row)
    assert problems.total == {"unknown_id": 250}
    assert [found.pointer for found in problems.first] == [f"/{row}" for row in range(MAX_LISTED_PROBLEMS)]


def test_problems_of_one_row_keep_the_order_in_which_they_were_found() -> None:
    problems = Problems()
    problems.add(build_problem("missing_instances", "at the end", Location()), END_OF_FILE_ROW)
    problems.add(build_problem("syntax", "first", Location()), 3)
    problems.add(build_problem("encoding", "second", Location()), 3)
    problems.add(build_problem("too_large", "the whole file", Location()))
    assert [found.message for found in problems.first] == ["the whole file", "first", "second", "at the end"]


def test_a_problem_that_is_not_listed_is_not_built() -> None:
    problems = Problems()
    for row in range(MAX_LISTED_PROBLEMS):
        problems.add(problem_in_row(row), row)

    def build() -> Problem:
        raise AssertionError

    problems.report("syntax", MAX_LISTED_PROBLEMS, build)
    assert problems.total["syntax"] == 1


def test_the_answer_leaves_out_what_is_not_known_and_orders_totals() -> None:
    problems = Problems()
    assert problems.to_dict() == {"valid": True, "total": {}, "problems": []}
    problems.add(problem_in_row(0), 0)
    problems.add(build_problem("syntax", "cut off", Location(None, 2, 1)), 1)
    answer = problems.to_dict()
    assert list(answer["total"]) == ["syntax", "unknown_id"]
    assert answer["problems"][1] == {"code": "syntax", "message": "cut off", "line": 2, "column": 1}
    assert answer["valid"] is False


def test_an_undeclared_code_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        Problems().add(problem_in_row(0, "oops"))


def test_pointer_tokens_are_escaped_and_writable() -> None:
    assert pointer_token("a/b~c") == "/a~1b~0c"
    pointer_token("\ud800").encode()


@for_each(
    "value, shown",
    [
        ("a", '"a"'), ("\ud800", '"\\ud800"'), (None, "null"), (True, "true"), (1.0, "1.0"),
        ([1, 2], "a list of 2"), ((("a", 1),), "an object"),
    ],
)  # fmt: skip
def test_values_are_shown_as_json_shows_them(value: object, shown: str) -> None:
    assert describe_value(value) == shown


def test_long_values_are_shortened() -> None:
    assert len(describe_value("x" * 1000)) < 70
    assert json.loads(describe_value("x" * 1000)).endswith("…")
