"""Cells that a spreadsheet would run as formulas are escaped."""

import csv
import io
from typing import Any

from app.scoring.reports.detailed_report import write_csv
from app.text.spreadsheet_cells import escape_formula
from tests.each_case import for_each

FORMULAS = [
    "=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\tx", " =1", "\u00a0=1", "\u3000+A1", "\ufeff=1",
    "\u200b@A",
]  # fmt: skip
FORMULAS += ["\uff1d1+1", "\uff0bA1", "\uff0dA1", "\uff20SUM(A1)", "\ufe66A1", " \uff1d1", "\u2028=1", "-1+1", "- 1"]


@for_each("text", FORMULAS)
def test_what_begins_like_a_formula_is_marked_as_text(text: str) -> None:
    assert escape_formula(text) == f"'{text}"


@for_each("text", ["", "Blue", "a=1", "-1", "+0.5", "'=1", "\u00e9", "1-2", "(=1)"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert escape_formula(text) == text


def test_reports_as_tables_hold_no_formula() -> None:
    report: dict[str, Any] = {"per_class": {"=cmd": {"f1": 0.5}, "-1": {"f1": -0.5}}}
    out = io.StringIO()
    write_csv(report, "per_class", out)
    assert list(csv.reader(io.StringIO(out.getvalue()))) == [["label", "f1"], ["'=cmd", "0.5"], ["-1", "-0.5"]]
