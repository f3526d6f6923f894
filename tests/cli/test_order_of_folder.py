"""`assay order FOLDER --gold G`: prediction files as systems."""

import shutil
from pathlib import Path

import pytest

from tests.cli.run_command import run_assay, write_file

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
GOLD = DIGITS / "gold.jsonl.gz"
FILES = ("support_vectors.columns.json.gz", "naive_bayes.map.json.gz", "random_forest.jsonl.gz")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three systems of the demonstration."""
    systems = tmp_path / "systems"
    systems.mkdir()
    for name in FILES:
        shutil.copy(DIGITS / name, systems)
    return systems


def test_systems_have_the_names_of_their_files_and_the_scores_of_the_scorer(folder: Path) -> None:
    report = run_assay("order", folder, "--gold", GOLD, "--json").value()
    assert [row["system"] for row in report["rows"]] == ["support_vectors", "random_forest", "naive_bayes"]
    assert (report["metric"], report["n"]) == ("f1_macro", 899)
    assert report["rows"][2]["rank_low"] == 3
    alone = run_assay(
        "score", "--gold", GOLD, "--predictions", folder / FILES[0], "--metric", "f1_macro", "--ci", "--json"
    ).value()
    assert report["rows"][0]["value"] == alone["metrics"]["f1_macro"]
    assert report["rows"][0]["low"] == alone["intervals"]["f1_macro"]["low"]


def test_only_the_endings_of_formats_leave_the_name_of_a_system(folder: Path) -> None:
    for name, new in zip(FILES, ("v.1.5.columns.json.gz", "v.2.0.map.json.gz", "v.2.1.JSONL.gz"), strict=True):
        (folder / name).rename(folder / new)
    report = run_assay("order", folder, "--gold", GOLD, "--json").value()
    assert [row["system"] for row in report["rows"]] == ["v.1.5", "v.2.1", "v.2.0"]


def test_losses_are_turned_and_the_gold_in_the_folder_is_no_system(folder: Path) -> None:
    gold = folder / GOLD.name
    shutil.copy(GOLD, gold)
    report = run_assay("order", folder, "--gold", gold, "--metric", "error_rate", "--json").value()
    assert [row["rank"] for row in report["rows"]] == [1, 2, 3]
    assert report["rows"][0]["system"] == "support_vectors"


@pytest.fixture
def opposites(tmp_path: Path) -> tuple[Path, Path]:
    """Gold, and two systems of which one finds the rare class and the other the common one."""
    systems = tmp_path / "opposites"
    systems.mkdir()
    gold = ["a"] * 800 + ["b"] * 200
    outputs = {"rare": ["a"] * 600 + ["b"] * 400, "common": ["a"] * 900 + ["b"] * 100}
    for name, labels in outputs.items():
        write_file(systems / f"{name}.csv", rows_of(labels))
    return write_file(tmp_path / "gold.csv", rows_of(gold)), systems


def rows_of(labels: list[str]) -> str:
    return "id,label\n" + "".join(f"i{at:04},{label}\n" for at, label in enumerate(labels))


def test_with_several_metrics_the_rankings_stand_side_by_side(opposites: tuple[Path, Path], tmp_path: Path) -> None:
    gold, systems = opposites
    page = tmp_path / "report.html"
    asked = ("order", systems, "--gold", gold, "--metric", "recall_macro", "--metric", "accuracy", "--html", page)
    report = run_assay(*asked, "--json").value()
    assert [row["system"] for row in report["rows"]] == ["rare", "common"]
    rankings = report["rankings"]
    assert [metric["metric"] for metric in rankings["metrics"]][:2] == ["recall_macro", "accuracy"]
    assert [row["ranks"]["accuracy"] for row in rankings["rows"]] == [2, 1]
    assert rankings["tau"]["recall_macro"]["accuracy"] == -1
    flip = rankings["flips"][0]
    assert flip == {"a": "rare", "b": "common", "metrics": ["recall_macro", "accuracy"], "significant": True}
    sentence = "recall_macro: 'rare' before 'common'; accuracy: 'common' before 'rare' (significant)"
    assert sentence in run_assay(*asked).out
    assert sentence.replace("'", "&#x27;") in page.read_text()
    table = run_assay(*asked, "--csv").out.splitlines()
    assert table[0].split(",")[9] == "rank by accuracy"
    assert [row.split(",")[9] for row in table[1:]] == ["2", "1"]
    assert "rankings" not in run_assay("order", systems, "--gold", gold, "--json").value()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "needed for a folder of prediction files"),
        (("--gold", GOLD, "--lower-is-better"), "has its own direction"),
        (("--gold", GOLD, "--metric", "prevalence_macro"), "gives no order"),
        (("--gold", GOLD, "--metric", "no_such"), "no_such"),
    ],
)
def test_refusals(folder: Path, options: tuple[object, ...], words: str) -> None:
    ran = run_assay("order", folder, *options)
    assert ran.status != 0
    assert words in ran.err


def test_a_file_with_problems_is_named(folder: Path) -> None:
    write_file(folder / "broken.csv", "id,label\nnobody,1\n")
    ran = run_assay("order", folder, "--gold", GOLD)
    assert ran.status == 1
    assert "broken.csv" in ran.err


def test_a_table_refuses_what_only_folders_use(tmp_path: Path) -> None:
    table = write_file(tmp_path / "t.csv", "model,q1,q2\na,1,0\nb,0,1\n")
    ran = run_assay("order", table, "--gold", GOLD)
    assert ran.status == 2
    assert "applies to a folder" in ran.err


def test_a_system_without_a_value_is_in_every_output(tmp_path: Path) -> None:
    systems = tmp_path / "systems"
    systems.mkdir()
    gold = write_file(tmp_path / "gold.csv", "id,label\na,x\nb,x\nc,x\n")
    write_file(systems / "all_x.csv", "id,label\na,x\nb,x\nc,x\n")
    write_file(systems / "one_y.csv", "id,label\na,x\nb,x\nc,y\n")
    files = tmp_path / "order.html", tmp_path / "order.svg"
    ran = run_assay(
        *("order", systems, "--gold", gold, "--metric", "cohen_kappa", "--json", "--html", files[0], "--svg", files[1])
    )
    report = ran.value()
    assert [(row["system"], row["value"]) for row in report["rows"]] == [("one_y", 0), ("all_x", None)]
    assert report["conclusion"] == "Only 1 of the 2 systems has a value, so there is no order."
    assert "all_x: The score is null." in files[0].read_text()
    assert "all_x: no value" in files[1].read_text()
