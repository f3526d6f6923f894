"""assay convert: counts from typed figures and from tables, and contradictions."""

import json
from pathlib import Path

import pytest

from tests.cli.run_command import run_assay, write_file

BINARY = ("convert", "--n", 1000, "--positives", 120)
FIGURES = ("--precision", "0.81", "--recall", "0.74", "--accuracy", "0.95")
TABLE = """label;size;precision;recall
Cat;10;0,50;0,90
Dog;20;0,63;0,60
Mouse;30;0,91;0,70
"""


def test_counts_that_fit_are_shown_and_the_status_is_0() -> None:
    ran = run_assay(*BINARY, *FIGURES, "--f1", "0.77")
    assert ran.status == 0
    assert "1 table of counts fits 4 figures of 1000 instances." in ran.out
    assert [line.split() for line in ran.out.splitlines()][-1] == ["89", "21", "31", "859"]
    assert run_assay(*BINARY, *FIGURES, "--f1", "77%", "--json").value()["counts"] == [
        {"positive": {"tp": 89, "fp": 21, "fn": 31, "tn": 859}, "rest": {"tp": 859, "fp": 31, "fn": 21, "tn": 89}}
    ]


def test_where_many_fit_the_first_are_shown_and_all_are_counted() -> None:
    ran = run_assay("convert", "--n", 10**6, "--positives", 120_000, *FIGURES, "--f1", "0.77", "--first", 3)
    assert ran.status == 0
    assert "1243461 tables of counts fit" in ran.out
    assert "counts of 'positive', the first 3" in ran.out
    assert "In all of them: tp 88200 to 89400, fp 20021 to 21655" in ran.out


def test_a_contradiction_is_explained_and_the_status_is_1() -> None:
    ran = run_assay(*BINARY, *FIGURES, "--f1", "0.80")
    assert (ran.status, ran.err) == (1, "")
    assert "No counts fit 4 figures of 1000 instances.\nThese figures contradict each other:" in ran.out
    assert "0.77 (89/115)" in ran.out
    report = run_assay(*BINARY, *FIGURES, "--f1", "0.80", "--json")
    assert (report.status, report.value()["fits"]) == (1, False)
    assert [one["figure"] for one in report.value()["conflict"]["figures"]] == ["precision", "recall", "f1"]


def test_a_figure_that_is_impossible_alone_is_named_alone_even_if_that_takes_longer_to_see(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("label,size,f1\na,0,0.0\nb,1,0.0\nc,3,\n")
    figures = ("--figure", "recall_macro=0.4", "--figure", "precision_weighted=0.8")
    report = run_assay("convert", "--table", table, "--cut", *figures, "--json").value()
    assert [one["figure"] for one in report["conflict"]["figures"]] == ["precision_weighted"]


def test_a_search_that_is_cut_has_a_status_of_its_own() -> None:
    words = ("convert", "--n", 10**6, "--positives", 120_000, "--figure", "precision_macro=0.8123456789", "--limit", 5)
    ran = run_assay(*words)
    assert ran.status == 3
    assert "Undecided" in ran.out
    assert run_assay(*words, "--json").value()["fits"] is None


def test_any_figure_may_be_given() -> None:
    words = ("--figure", "mcc=0.75", "--figure", "npv=0.965", "--specificity", "0.9761", "--figure", "tp=89")
    found = run_assay(*BINARY, *words, "--json").value()
    assert [one["positive"] for one in found["counts"]] == [{"tp": 89, "fp": 21, "fn": 31, "tn": 859}]


@pytest.mark.parametrize("name", ["table.csv", "table.json", "table.tsv"])
def test_a_table_has_a_row_for_each_class(tmp_path: Path, name: str) -> None:
    header, *lines = TABLE.splitlines()
    rows = [dict(zip(header.split(";"), line.split(";"), strict=True)) for line in lines]
    content = {"table.csv": TABLE, "table.json": json.dumps(rows), "table.tsv": TABLE.replace(";", "\t")}[name]
    ran = run_assay("convert", "--table", write_file(tmp_path / name, content), "--figure", "f1_weighted=0.708")
    assert ran.status == 0
    assert "1 table of counts fits 7 figures of 60 instances." in ran.out
    assert [line.split() for line in ran.out.splitlines()][-3:] == [
        ["Cat", "9", "9", "1", "41"],
        ["Dog", "12", "7", "8", "33"],
        ["Mouse", "21", "2", "9", "28"],
    ]
    slip = run_assay("convert", "--table", write_file(tmp_path / name, content), "--figure", "f1_weighted=0.709")
    assert slip.status == 1
    assert "This figure contradicts the figures of the classes, each of which fits alone:" in slip.out


def test_numbers_of_a_json_table_keep_their_digits(tmp_path: Path) -> None:
    rows = '[{"label": "a", "size": 1000, "recall": 0.700}]'
    found = run_assay("convert", "--n", 2000, "--table", write_file(tmp_path / "t.json", rows), "--json").value()
    assert found["figures"][0]["printed"] == "0.700"
    assert found["ranges"]["a"]["tp"] == [700, 700]


def test_a_table_may_hold_several_systems_and_figures_of_the_whole_task(tmp_path: Path) -> None:
    table = """system,label,size,precision,recall,f1,accuracy
one,yes,50,0.50,0.80,0.62,
one,,100,,,,0.50
two,yes,50,0.50,0.80,0.66,
two,,100,,,,0.50
"""
    ran = run_assay("convert", "--table", write_file(tmp_path / "t.csv", table))
    assert ran.status == 1
    assert "one: 1 table of counts fits 4 figures of 100 instances." in ran.out
    assert "two: No counts fit 4 figures of 100 instances." in ran.out
    found = run_assay("convert", "--table", tmp_path / "t.csv", "--json").value()
    assert found["fits"] is False
    assert [(one["system"], one["fits"]) for one in found["systems"]] == [("one", True), ("two", False)]


def test_percentages_without_a_sign_or_their_last_zeros() -> None:
    words = ("convert", "--n", 3532, "--positives", 1202, "--percent", "--recall", "66,9")
    assert run_assay(*words, "--json").value()["ranges"]["positive"]["tp"] == [804, 804]
    assert run_assay(*words, "--decimals", 2).status == 1  # 804 of 1202 are 66,89 %


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (["--n", 10], 1, "Give at least one"),
        (["--n", 10, "--recall", "0.5x"], 1, "'0.5x' is not a figure"),
        (["--n", 10, "--recall", "80"], 1, "--percent"),
        (["--recall", "0.5"], 1, "Give it with --n"),
        (["--n", 10, "--figure", "rcall=0.5"], 1, "did you mean recall"),
        (["--n", 10, "--figure", "recall"], 2, "name=value"),
        (["--n", 10, "--recall", "0.5", "--figure", "recall=0.5"], 2, "twice"),
        (["--n", 0, "--recall", "0.5"], 2, "--n"),
        (["--table", __file__, "--positives", 3], 2, "--table"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_json_value(words: list[object], status: int, part: str) -> None:
    ran = run_assay("convert", *words, "--json")
    assert ran.status == status
    assert part in json.dumps(ran.value())


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.json", "[", "t.json"),
        ("t.json", "{}", "list of rows"),
        ("t.json", "[1]", "is not a row"),
        ("t.json", '[{"label": "a", "recall": [1]}]', "neither text nor a number"),
        ("t.json", "[]", "no rows"),
        ("t.csv", "label,recall\na\n", "row 1"),
        ("t.csv", "label,label\na,b\n", "twice"),
        ("t.csv", "label,size,recall\n,ten,0.5\n", "'ten'"),
        ("t.csv", "system,label,size,recal\nmine,a,5,0.5\n", "mine: "),
    ],
)
def test_a_faulty_table_is_refused_by_name(tmp_path: Path, name: str, content: str, part: str) -> None:
    ran = run_assay("convert", "--n", 10, "--table", write_file(tmp_path / name, content), "--json")
    assert ran.status == 1
    assert part in ran.value()["detail"]
    assert ran.value()["remedy"]


def test_what_nothing_divided_by_nothing_counts_as_can_be_said_and_is_told() -> None:
    words = ("convert", "--n", 10, "--positives", 4, "--precision", "1.00", "--recall", "0.00")
    ran = run_assay(*words)
    assert ran.status == 0
    assert "1 table of counts fits 2 figures of 10 instances where 0/0 counts as 1." in ran.out
    found = run_assay(*words, "--json").value()
    assert (found["undefined"], found["otherwise"]) == (["1"], [])
    assert found["counts"][0]["positive"] == {"tp": 0, "fp": 0, "fn": 4, "tn": 6}
    assert run_assay(*words, "--undefined", "0").status == 1
    refused = run_assay(*words, "--undefined", "2")
    assert (refused.status, "worst, 0, 1, skip, any" in " ".join(refused.err.split())) == (2, True)


def test_counts_that_fit_under_another_convention_only_are_listed_too() -> None:
    found = run_assay("convert", "--n", 4, "--positives", 2, "--figure", "precision_macro=0.25", "--json").value()
    rest = {one["undefined"][0]: one["count"] for one in found["otherwise"]}
    assert (found["undefined"], found["count"]) == (["worst", "0"], 2)
    assert rest == {}
    ran = run_assay("convert", "--n", 4, "--positives", 2, "--figure", "precision_macro=0.50")
    assert ran.out.count("where 0/0 counts as") == 2


def test_cut_figures_are_printed_cut() -> None:
    ran = run_assay("convert", "--n", 10, "--positives", 10, "--recall", "0.3", "--cut")
    assert [line.split() for line in ran.out.splitlines()][-1] == ["3", "0", "7", "0"]


def test_a_figure_that_plays_no_part_in_a_contradiction_is_not_named(tmp_path: Path) -> None:
    """The search that is cut early cannot decide about the one alone, but about the pair."""
    table = write_file(tmp_path / "table.csv", "label,size,accuracy_ovr\na,1,\nb,2,50.0%\nc,1,\n")
    words = ("--percent", "--figure", "jaccard_micro=14.3%", "--figure", "accuracy_ovr_weighted=43.7%")
    found = run_assay("convert", "--table", table, *words, "--json").value()
    assert [one["figure"] for one in found["conflict"]["figures"]] == ["accuracy_ovr_weighted"]


def test_what_a_figure_would_be_is_told_under_every_convention() -> None:
    words = ("convert", "--n", 10, "--positives", 4, "--precision", "0.50", "--recall", "0.00", "--json")
    (precision, _) = run_assay(*words).value()["conflict"]["figures"]
    assert precision["without"]["printed"] == ["0.00", "1.00"]
    assert precision["above"]["printed"] == "1.00"
