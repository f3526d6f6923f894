"""Markdown of users as HTML: bounded, and with headings that stand below those of the page without a gap."""

import re
from itertools import pairwise

import pytest

from app.web.markdown import MAX_CELLS, markdown


def levels(text: str, top: int = 2) -> list[int]:
    return [int(level) for level in re.findall(r"<h([1-6])>", markdown(text, top))]


@pytest.mark.parametrize("columns", [1, 10, 100, 1000, 4000])
def test_a_short_text_makes_no_huge_table(columns: int) -> None:
    head = "|" + "a|" * columns + "\n|" + "-|" * columns + "\n"
    html = markdown(head + "|\n" * ((20_000 - len(head)) // 2))
    assert html.count("<td") + html.count("<th") <= MAX_CELLS + columns


def test_many_tables_share_the_bound() -> None:
    head = "|" + "a|" * 20 + "\n|" + "-|" * 20 + "\n"
    html = markdown((head + "|\n" * 20 + "\n") * 150)
    assert html.count("<table") > 1
    assert html.count("<td") + html.count("<th") <= MAX_CELLS


def test_a_table_of_usual_size_is_whole() -> None:
    html = markdown(
        "Before\n\n| id | label |\n|---|---|\n" + "".join(f"| t{at} | cat |\n" for at in range(1000)) + "\nAfter"
    )
    assert html.count("<tr") == 1001
    assert html.endswith("<p>After</p>\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a\n#### b\n###### c\n## d\n# e", [2, 3, 4, 3, 2]),
        ("#### a\n# b\n###### c", [2, 2, 3]),
        ("### a\n### b", [2, 2]),
        ("# a\n## b\n### c\n#### d\n##### e\n###### f", [2, 3, 4, 5, 6, 6]),
        ("no heading", []),
    ],
)
def test_headings_skip_no_level(text: str, expected: list[int]) -> None:
    assert levels(text) == expected
    shown = [2, *levels(text, 3)]
    assert all(after <= before + 1 for before, after in pairwise(shown))
