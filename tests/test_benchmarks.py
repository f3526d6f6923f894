"""The benchmark program runs to its end with tiny work: every piece, its peers and the agreement of their values."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import measure, records
from benchmarks.apart import Failed, apart
from benchmarks.figures import Measured, target_cells
from benchmarks.load import loaded, request
from benchmarks.machine import machine
from benchmarks.run import PIECES, chosen, kept, main, report
from tests.live_service import MAX_WAIT_SECONDS, ROOT, Live, eventually

FORKING = """
from importlib import import_module
from benchmarks import apart, run
from tests import preloaded_scoring, preloaded_service
apart.START_METHOD = "fork"
for module in run.PIECES.values():
    import_module(f"benchmarks.{module}")
preloaded_service.loader("")
preloaded_scoring.loader()
run.main()
"""
"""The program with all pieces loaded once, and their services forked from one loader."""


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the program says to arguments that it does not take."""
    monkeypatch.setattr(sys, "argv", ["bench", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def figures_of_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("bench") / "figures.json"
    command = [sys.executable, "-c", FORKING, "--size", "tiny", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=20 * MAX_WAIT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    figures: dict[str, Any] = json.loads(path.read_text())
    assert report(figures["pieces"]) in done.stdout
    return figures


@pytest.mark.ci
def test_every_piece_gives_ways_beside_each_other_and_targets(figures_of_run: dict[str, Any]) -> None:
    assert list(figures_of_run["pieces"]) == list(PIECES)
    assert figures_of_run["size"] == "tiny"
    for piece, each in figures_of_run["pieces"].items():
        ways = Counter(row["work"] for row in each["rows"])
        assert max(ways.values()) > 1, piece
        assert each["machine"] == machine()
        assert all(row["value"] >= 0 for row in each["rows"])
        assert each["targets"], piece


@pytest.mark.ci
def test_what_is_measured_gives_the_values_of_scikit_learn(figures_of_run: dict[str, Any]) -> None:
    targets = [target for each in figures_of_run["pieces"].values() for target in each["targets"]]
    agreement = [target for target in targets if target["what"].startswith("difference to scikit-learn")]
    assert len(agreement) == 7
    assert all(target["met"] and target["limit"] <= 1e-11 for target in agreement)


@pytest.mark.ci
def test_the_page_shows_what_was_kept(
    figures_of_run: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    page = import_module("performance_page")
    monkeypatch.setattr(page, "RESULTS", tmp_path / "figures_of_run.json")
    assert "## Targets" not in page.page()
    (tmp_path / "figures_of_run.json").write_text(json.dumps(figures_of_run))
    text = page.page()
    assert "Size of the work: tiny." in text
    for piece, each in figures_of_run["pieces"].items():
        assert f"| `{piece}` |" in text
        assert all(f"| {piece} | {target['what']} |" in text for target in each["targets"])
        assert all(row["way"] in text for row in each["rows"])


def test_pieces_are_chosen_by_name_or_by_how_names_begin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen("W6-posts,W3") == ["W3-metrics", "W3-files", "W6-posts"]
    assert "no piece 'W9'; there are W1, W2" in refused(monkeypatch, capsys, "--only", "W9")


@pytest.mark.parametrize(("found", "code"), [({}, 0), ({"failed": "no memory"}, "W1 failed: no memory")])
def test_a_failed_piece_ends_the_program_with_its_reason(
    found: dict[str, str], code: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = {"seconds": 1.0, "rows": [], "targets": []} | found
    monkeypatch.setattr("benchmarks.run.piece_of", lambda *_: result)
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "W1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code


def test_pieces_that_were_not_measured_again_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    assert kept(path, "tiny", {"W2": {"rows": []}}) == {"W2": {"rows": []}}
    path.write_text(json.dumps({"size": "tiny", "pieces": {"W1": {"rows": [1]}, "W7": {"rows": [7]}}}))
    found = kept(path, "tiny", {"W7": {"rows": [8]}, "W2": {"rows": [2]}})
    assert list(found.items()) == [("W1", {"rows": [1]}), ("W2", {"rows": [2]}), ("W7", {"rows": [8]})]
    said = refused(monkeypatch, capsys, "--size", "quick", "--json", str(path))
    assert "has figures of the size 'tiny'" in said


def test_a_target_is_met_on_its_own_side_only() -> None:
    found = Measured()
    found.at_least("speed", 8, 7.99)
    found.at_most("memory", 40, 40.0, "MiB")
    pieces = {"W1": {"targets": [vars(each) | {"met": each.met} for each in found.targets]}}
    assert [cells[-2:] for cells in target_cells(pieces)] == [["7.99", "not met"], ["40", "met"]]


def crash() -> None:
    os._exit(3)


def stay(path: Path) -> None:
    child = subprocess.Popen(["sleep", str(MAX_WAIT_SECONDS)])
    path.write_text(str(child.pid))
    child.wait()


def test_a_failure_apart_is_told_and_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.apart.START_METHOD", "fork")
    assert apart(MAX_WAIT_SECONDS, divmod, 7, 3) == (2, 1)
    with pytest.raises(Failed, match="ZeroDivisionError"):
        apart(MAX_WAIT_SECONDS, divmod, 7, 0)
    with pytest.raises(Failed, match="status 3"):
        apart(MAX_WAIT_SECONDS, crash)
    path, began = tmp_path / "pid", time.monotonic()
    while not path.exists() or not path.read_text():  # a machine may be too slow to start it in the first seconds
        assert time.monotonic() - began < MAX_WAIT_SECONDS
        with pytest.raises(Failed, match="longer than"):
            apart(0.2 + time.monotonic() - began, stay, path)
    pid = int(path.read_text())
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "what it started has ended")


@pytest.mark.ci
def test_the_extra_peak_is_what_a_call_held_at_most() -> None:
    peak = apart(MAX_WAIT_SECONDS, measure.extra_peak, allocate_and_release)
    assert 60 < peak < 80  # not 96, and the system counts in pages that it has yet to add up


def allocate_and_release() -> None:
    bytearray(b"x") * (32 * measure.MIB)
    bytearray(b"x") * (64 * measure.MIB)


def test_the_files_are_what_their_shape_says(tmp_path: Path) -> None:
    of = records.drawn(300, 7)
    read = {name: path.read_text() for name, path in write_files(tmp_path, of).items()}
    expected = [
        {"id": f"doc-{row:08d}", "label": f"label-{code:04d}"}
        for row, code in zip(of.order.tolist(), of.predicted[of.order].tolist(), strict=True)
    ]
    assert json.loads(read["compact"]) == {"predictions": expected}
    assert read["spaced"] == json.dumps({"predictions": expected})
    assert [json.loads(line) for line in read["lines"].splitlines()] == expected
    columns = {"ids": [row["id"] for row in expected], "labels": [row["label"] for row in expected]}
    assert json.loads(read["columns"]) == columns


def write_files(folder: Path, of: records.Drawn) -> dict[str, Path]:
    return {
        "compact": records.as_records(folder / "compact.json", of).path,
        "spaced": records.as_records(folder / "spaced.json", of, spaced=True).path,
        "lines": records.as_lines(folder / "lines.jsonl", of).path,
        "columns": records.as_columns(folder / "columns.json", of).path,
    }


def test_load_counts_every_reply_by_its_status(live: Live) -> None:
    requests = [request("GET", "/healthz"), request("GET", "/nowhere")]
    counts = loaded(live.port, requests, 3, MAX_WAIT_SECONDS, most=40)
    assert counts.statuses == {200: 20, 404: 20}
    assert counts.replies == 40
    assert counts.received > 40 * 100
