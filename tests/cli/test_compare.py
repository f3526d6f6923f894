"""assay compare: two prediction files against one gold, as a table and as JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay, write_file
from tests.golden.reference_data import challenge_folder, load_vector
from tests.reference_material import needs_shared

GOLD = {f"t{at}": "abc"[at % 3] for at in range(30)}
FIRST = GOLD | {f"t{at}": "a" for at in range(20, 26)}
SECOND = GOLD | {f"t{at}": "b" for at in range(4, 14)}


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    names = {"gold": GOLD, "a": FIRST, "b": SECOND}
    gold, a, b = (write_file(tmp_path / f"{name}.json", labels) for name, labels in names.items())
    return ("compare", "--gold", gold, "--predictions", a, "--predictions", b)


@needs_shared
def test_the_golden_vector(tmp_path: Path) -> None:
    data = load_vector("approx_randomization_small")
    parts = ("gold", "system_a", "system_b")
    gold, a, b = (
        write_file(tmp_path / f"{part}.json", {row["id"]: row[part] for row in data["instances"]}) for part in parts
    )
    metrics = [word for text in data["expected"] for word in ("--metric", text)]
    report = run_assay("compare", "--gold", gold, "-p", a, "-p", b, *metrics, "--json").value()
    assert set(report["metrics"]) == set(data["expected"])
    for text, expected in data["expected"].items():
        row = report["metrics"][text]
        assert (row["p_value"], row["rounds"], row["exact"]) == (expected["p_two_sided"], 64, True)
        assert row["difference"] == pytest.approx(expected["difference"], abs=1e-11)


def test_json_has_all_that_is_promised(files: tuple[object, ...]) -> None:
    ran = run_assay(*files, "--metric", "accuracy", "--metric", "f1_macro", "--json")
    report: dict[str, Any] = ran.value()
    assert (report["n"], report["task"], report["classes"]) == (30, "multiclass", ["a", "b", "c"])
    assert "exchangeable" in report["null_hypothesis"]
    row = report["metrics"]["accuracy"]
    keys = {"a", "b", "difference", "low", "high", "p_value", "rounds", "exact", "mcnemar_p", "smallest_difference"}
    assert keys < set(row)
    assert row["a"] - row["b"] == pytest.approx(row["difference"])
    assert row["low"] <= row["difference"] <= row["high"]
    assert row["mcnemar_p"] == row["p_value"]  # all exchanges were tried, and for accuracy that is McNemar's test
    assert report["metrics"]["f1_macro"]["mcnemar_p"] is None


def test_the_table_says_what_may_be_concluded(files: tuple[object, ...]) -> None:
    ran = run_assay(*files)
    assert ran.status == 0
    assert "a - b" in ran.out
    assert "McNemar p" in ran.out
    assert "f1_macro" in ran.out
    assert "No difference is shown at the 5 % level. That does not say that the systems are equal." in ran.out
    assert "The test assumes: " in ran.out
    assert "more metrics apply" in ran.out


def test_swapping_the_files_mirrors_everything(files: tuple[object, ...]) -> None:
    words = ("--metric", "f1_macro", "--json")
    there = run_assay(*files, *words).value()["metrics"]["f1_macro"]
    back = run_assay(*files[:3], "-p", files[6], "-p", files[4], *words).value()["metrics"]["f1_macro"]
    assert (back["p_value"], back["low"], back["high"]) == (there["p_value"], -there["high"], -there["low"])
    assert (back["a"], back["b"]) == (there["b"], there["a"])


def test_the_seed_decides_the_digits_and_rows_may_have_any_order(files: tuple[object, ...], tmp_path: Path) -> None:
    many = {f"m{at}": "abcd"[at % 4] for at in range(400)}
    a = many | {f"m{at}": "a" for at in range(120)}
    b = many | {f"m{at}": "b" for at in range(40, 190)}
    paths = [write_file(tmp_path / f"m{at}.json", labels) for at, labels in enumerate((many, a, b))]
    turned = [
        write_file(tmp_path / f"r{at}.json", dict(reversed(labels.items()))) for at, labels in enumerate((many, a, b))
    ]

    def compared(of: list[Path], *words: str) -> dict[str, Any]:
        command = ("compare", "-g", of[0], "-p", of[1], "-p", of[2], "-m", "f1_macro", "--rounds", "299", "--json")
        row: dict[str, Any] = run_assay(*command, *words).value()["metrics"]["f1_macro"]
        return row

    assert compared(paths) == compared(turned) == compared(paths, "--draw-seed", "0")
    assert compared(paths)["rounds"] == 299
    assert compared(paths, "--draw-seed", "other")["low"] != compared(paths)["low"]


def test_both_files_get_the_same_vocabulary(tmp_path: Path) -> None:
    """A label that only one system uses is a class for both: its F1 of 0 lowers both macro averages."""
    gold = write_file(tmp_path / "g.json", {"1": "x", "2": "y", "3": "x"})
    a = write_file(tmp_path / "a.json", {"1": "x", "2": "z", "3": "x"})
    b = write_file(tmp_path / "b.json", {"1": "x", "2": "y", "3": "w"})
    command = ("compare", "--gold", gold, "-p", a, "-p", b, "--metric", "f1_macro", "--json")
    report = run_assay(*command).value()
    assert report["classes"] == ["w", "x", "y", "z"]
    assert report["metrics"]["f1_macro"]["a"] == 0.25
    assert report["notes"][1].endswith("the sorted labels of the gold and all predictions (4) are the vocabulary")
    declared = write_file(tmp_path / "c.json", ["x", "y"])
    ran = run_assay(*command, "--classes", declared)
    assert (ran.status, ran.value()["total"]) == (1, {"unknown_label": 1})


def test_groups_are_exchanged_whole(files: tuple[object, ...], tmp_path: Path) -> None:
    groups = write_file(tmp_path / "groups.json", dict.fromkeys(GOLD, "all"))
    ran = run_assay(*files, "--groups", groups, "--metric", "accuracy", "--json")
    report = ran.value()
    row = report["metrics"]["accuracy"]
    assert (row["p_value"], row["mcnemar_p"], row["low"]) == (1.0, None, None)
    assert report["null_hypothesis"].startswith("The two systems are exchangeable: for each group")
    assert any("Too few groups to tell" in note for note in report["notes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rounds", "0"), "--rounds"),
        (("--all", "--metric", "f1_macro"), "--all"),
        (("-p", "{gold}"), "needed twice"),
    ],
)
def test_wrong_usage(files: tuple[object, ...], words: tuple[str, ...], message: str) -> None:
    ran = run_assay(*files, *(word.format(gold=files[2]) for word in words))
    assert (ran.status, message in ran.err) == (2, True)


def test_one_file_is_not_enough(files: tuple[object, ...]) -> None:
    ran = run_assay(*files[:5])
    assert (ran.status, "there is only one" in ran.err) == (2, True)


def test_problems_name_the_file(files: tuple[object, ...], tmp_path: Path) -> None:
    incomplete = write_file(tmp_path / "short.json", {"t0": "a"})
    ran = run_assay(*files[:5], "-p", incomplete, "--json")
    assert ran.status == 1
    assert {problem["file"] for problem in ran.value()["problems"]} == {"predictions b"}


@needs_shared
def test_real_systems(tmp_path: Path) -> None:
    folder = challenge_folder("germeval2018-coarse")
    if not folder.is_dir():
        pytest.skip("the challenge germeval2018-coarse is not among the reference material")
    names = ("RuG_coarse_1", "RuG_coarse_2")
    paths = [folder / "predictions" / f"{name}.json.gz" for name in names]
    words = ("--metric", "f1_macro", "--metric", "accuracy", "--rounds", "999", "--json")
    ran = run_assay("compare", "--gold", folder / "gold.jsonl.gz", "-p", paths[0], "-p", paths[1], *words)
    report = json.loads(ran.out)
    assert ran.status == 0
    for row in report["metrics"].values():
        assert row["rounds"] == 999
        assert 0 < row["p_value"] <= 1
        assert row["low"] < row["difference"] < row["high"]
