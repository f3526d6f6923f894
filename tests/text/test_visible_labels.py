"""A label without a visible character is shown as a word."""

from pathlib import Path

from app.text.visible_labels import visible_label
from tests.cli.run_command import run_assay
from tests.each_case import for_each


@for_each("label", ["cat", " cat ", "猫", "-", "\u0301", "a\u200b"])
def test_a_label_that_can_be_seen_stays(label: str) -> None:
    assert visible_label(label) == label


@for_each(
    "label, shown",
    [
        (" ", "(blank U+0020)"),
        ("\u200b", "(blank U+200B)"),
        ("\u00a0\u2003", "(blank U+00A0 U+2003)"),
        ("", "(blank)"),
    ],
)
def test_one_that_cannot_is_named(label: str, shown: str) -> None:
    assert visible_label(label) == shown


def test_the_tables_of_the_command_line_name_it(tmp_path: Path) -> None:
    gold, mine = tmp_path / "gold.json", tmp_path / "mine.json"
    gold.write_text('[{"id":"a","label":" "},{"id":"b","label":"y"}]')
    mine.write_text('[{"id":"a","label":"y"},{"id":"b","label":"y"}]')
    shown = run_assay("score", "--gold", gold, "--predictions", mine, "--per-class", "--confusion")
    assert shown.status == 0, shown.out
    assert shown.out.count("(blank") == 3  # the table of classes, a row and a column of the matrix
