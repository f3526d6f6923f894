"""assay order: tables, JSON, CSV, charts, and what bad input is answered."""

import csv
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.run_command import run_assay, write_file
from tests.scoring.order.tables import drawn


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three systems, of which the last is clearly worse."""
    rows = drawn([0.9, 0.85, 0.3], 80).astype(int)
    names = ("<alpha> & co", "=beta", "gamma")
    lines = [",".join(["model", *(f"q{at}" for at in range(80))])]
    lines += [",".join([name, *map(str, row)]) for name, row in zip(names, rows, strict=True)]
    return write_file(tmp_path / "results.csv", "\n".join(lines) + "\n")


def test_the_table_begins_with_the_rank_sets_and_a_conclusion(table: Path) -> None:
    ran = run_assay("order", table)
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("2 of the 3 systems may be first: ")
    assert lines[1].split()[:3] == ["ranks", "system", "value"]
    assert [line[:6] for line in lines[3:6]] == ["1 to 2", "1 to 2", "3     "]
    assert "instances: 80, bootstrap draws: 10,000" in lines
    assert "Note: There are 80 instances, fewer than 2,000: " in ran.err


def test_json_has_the_promised_rows(table: Path) -> None:
    report = run_assay("order", table, "--json").value()
    promised = {"system", "value", "low", "high", "rank", "rank_low", "rank_high", "tie_group"}
    assert all(promised <= row.keys() for row in report["rows"])
    assert report["rows"][2] | {"system": "gamma", "rank": 3, "rank_low": 3, "rank_high": 3} == report["rows"][2]
    assert {"rows", "pairs", "n", "draws", "notes", "conclusion"} <= report.keys()
    assert len(report["pairs"]) == 3


def test_csv_has_one_line_a_system_and_runs_no_formula(table: Path) -> None:
    ran = run_assay("order", table, "--csv")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert sorted(row["system"] for row in rows) == sorted(["'=beta", "<alpha> & co", "gamma"])
    assert [row["rank_high"] for row in rows] == ["2", "2", "3"]
    assert "Note: 2 of the 3 systems may be first" in ran.err
    assert run_assay("order", table, "--csv", "--json").status == 2


def test_standard_input_separators_and_seeds(table: Path, tmp_path: Path) -> None:
    plain = run_assay("order", table, "--json").out
    assert run_assay("order", "-", "--json", stdin=table.read_text()).out == plain
    for mark, name in ((";", "a.csv"), ("\t", "a.tsv"), ("\t", "b.csv")):
        other = write_file(tmp_path / name, table.read_text().replace(",", mark))
        assert run_assay("order", other, "--json", "--draw-seed", 0).out == plain
    assert run_assay("order", table, "--json", "--draw-seed", 1).out != plain


def test_losses_and_groups(table: Path, tmp_path: Path) -> None:
    groups = write_file(tmp_path / "groups.json", {f"q{at}": f"g{at // 4}" for at in range(80)})
    report = run_assay("order", table, "--lower-is-better", "--groups", groups, "--json").value()
    assert report["rows"][0]["system"] == "gamma"
    assert (report["groups"], report["direction"]) == (20, "lower")
    assert report["mean_rank_set"] >= 1


def test_the_chart_and_the_report_need_nothing_else_and_escape_names(table: Path, tmp_path: Path) -> None:
    svg, html = tmp_path / "chart.svg", tmp_path / "report.html"
    ran = run_assay("order", table, "--svg", svg, "--html", html)
    assert ran.status == 0
    assert f"Written: {svg}" in ran.err
    root = ET.fromstring(svg.read_text())
    space = "{http://www.w3.org/2000/svg}"
    sentences = [group.findtext(f"{space}title") or "" for group in root.iter(f"{space}g")]
    assert len(sentences) == 3
    assert sum("may have ranks 1 to 2" in sentence for sentence in sentences) == 2
    assert len([one for one in root.iter(f"{space}line") if one.get("class") == "rank-set"]) == 3
    page = html.read_text()
    assert "&lt;alpha&gt; &amp; co" in page
    assert "<alpha>" not in page
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)
    assert "2 of the 3 systems may be first" in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m,q1\na,1\nb,0\n", "These data (1 instance) support no order"),
        ("m,q1\na,1.5\nb,0.5\n", "The table has one instance, which shows no spread."),
        ("m,q1,q2\na,1,0\n", "There is one system, so there is no order."),
        ("m,q1,q2\na,1,0\nb,1,0\n", "No two of the 2 systems are shown to differ at 5 %"),
        ("m,q1,q2\na,0.5,0.5\nb,0.5,0.5\n", "an interval without width is not certainty"),
    ],
)
def test_poor_tables_have_a_clear_answer(text: str, words: str) -> None:
    ran = run_assay("order", "-", stdin=text)
    assert ran.status == 0
    assert words in ran.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The table is empty."),
        ("m,q1,q2\na,1,\n", "The table has empty cells (1): system 'a', instance 'q2'."),
        ("m,q1,q1\na,1,1\n", "repeated instance id"),
    ],
)
def test_refused_tables_end_with_status_1(text: str, words: str) -> None:
    ran = run_assay("order", "-", stdin=text)
    assert (ran.status, ran.out) == (1, "")
    assert words in ran.err
    assert run_assay("order", "-", "--json", stdin=text).value()["detail"]


def test_a_table_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00m")
    ran = run_assay("order", tmp_path / "t.csv")
    assert ran.status == 1
    assert "is not text in UTF-8" in ran.err
