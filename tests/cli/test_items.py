"""`assay items FOLDER --gold G`: suspects, agreement, near-duplicates and relabellings without a service."""

import csv
import io
from pathlib import Path

import pytest

from tests.cli.run_command import run_assay, write_file

GOLD = {f"i{n:02}": ("cat", "dog", "eel")[n % 3] for n in range(60)}
TRUTH = GOLD | {"i03": "dog"}
"""What all systems say, which contradicts the gold once."""


def rows_of(labels: dict[str, str]) -> str:
    return "".join(["id,label\n", *(f"{name},{label}\n" for name, label in labels.items())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four systems; `copy` has all errors of `copied`, which are its own."""
    errors = {f"i{n:02}": "eel" for n in range(30, 60) if n % 3 != 2}
    files: dict[str, dict[str, str]] = {"right": {}, "other": {"i10": "cat"}, "copied": errors, "copy": errors}
    systems = tmp_path / "systems"
    systems.mkdir()
    for name, own in files.items():
        write_file(systems / f"{name}.csv", rows_of(TRUTH | own))
    write_file(tmp_path / "gold.csv", rows_of(GOLD))
    return systems


def test_suspects_come_first_and_a_table_has_all(folder: Path) -> None:
    gold = folder.parent / "gold.csv"
    found = run_assay("items", folder, "--gold", gold, "--select", "suspect", "--json").value()
    assert [item["id"] for item in found["items"]] == ["i03"]
    assert found["items"][0]["answers"] == [{"labels": ["dog"], "votes": 4, "right": False}]
    shown = run_assay("items", folder, "--gold", gold, "--limit", "1").out
    assert "dog (4)" in shown
    table = run_assay("items", folder, "--gold", gold, "--csv").out
    assert next(row["rival"] for row in csv.DictReader(io.StringIO(table))) == "dog"
    assert len(table.splitlines()) == 61


def test_a_copy_is_reported_and_agreement_is_shown(folder: Path) -> None:
    gold = folder.parent / "gold.csv"
    pairs = run_assay("items", folder, "--gold", gold, "--near-duplicates", "--json").value()
    names = [system["system"] for system in pairs["systems"]]
    found = [(names[pair["a"]], names[pair["b"]], pair["identical"]) for pair in pairs["pairs"] if pair["reported"]]
    assert found == [("copied", "copy", True)]
    assert "identical" in run_assay("items", folder, "--gold", gold, "--near-duplicates").out
    assert "Fleiss' kappa of 4 systems" in run_assay("items", folder, "--gold", gold, "--agreement").out


def test_a_relabelling_is_tried_and_its_gold_gives_these_scores(folder: Path, tmp_path: Path) -> None:
    gold, changes, corrected = folder.parent / "gold.csv", tmp_path / "changes.csv", tmp_path / "corrected.jsonl"
    write_file(changes, "id,label\ni03,dog\ni10,\n")
    arguments = ("items", folder, "--gold", gold, "--relabel", changes, "-m", "accuracy")
    assert "1 relabelled, 1 voided, 0 unchanged" in run_assay(*arguments).out
    found = run_assay(*arguments, "--save-gold", corrected, "--json").value()
    assert (found["changes"], found["instances"]["after"]) == ({"relabelled": 1, "voided": 1, "unchanged": 0}, 59)
    names = [system["system"] for system in found["systems"]]
    values = {names[row["system"]]: row["values"]["accuracy"]["after"] for row in found["rows"]}
    write_file(folder / "right.csv", rows_of({name: label for name, label in TRUTH.items() if name != "i10"}))
    scored = run_assay("score", "--gold", corrected, "--predictions", folder / "right.csv", "-m", "accuracy", "--json")
    assert values["right"] == scored.value()["metrics"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"id": "i03"}]', "is no list of changes"),
        ("[]", "has no changes"),
        ("id,name\ni03,dog\n", "no column 'label'"),
        ('{"id": "i03", "label": "fox"}', "which is none of the classes"),
        ('{"id": "zz", "label": "dog"}', "is no scored id of the gold"),
    ],
)
def test_faulty_changes_are_explained(folder: Path, tmp_path: Path, text: str, said: str) -> None:
    changes = tmp_path / "changes"
    write_file(changes, text)
    refused = run_assay("items", folder, "--gold", folder.parent / "gold.csv", "--relabel", changes)
    assert refused.status == 1
    assert said in " ".join(refused.err.split())


def test_options_that_exclude_each_other_are_refused(folder: Path) -> None:
    gold = folder.parent / "gold.csv"
    of_folder = ("items", folder, "--gold", gold)
    assert run_assay(*of_folder, "--agreement", "--csv").status == 2
    assert run_assay(*of_folder, "--csv", "--json").status == 2
    assert run_assay(*of_folder, "--save-gold", "x").status == 2
    assert run_assay("items", "digits", "--gold", gold).status == 2
    assert run_assay("items", "digits", "--metric", "accuracy").status == 2
