"""Decoding a file of columns has a share of the CPU time of its own, whatever its metadata make of it."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.children.pool import Child
from app.formats.cpu_share import CpuShare
from tests.fuzz.hostile import sound
from tests.fuzz.hostile_file import Phase
from tests.fuzz.hostile_shared import shared_files

PHASE = Phase.of(10_000, 30)
FILES = {file.name: file for file in shared_files()}


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child(["--cpu", "600", "--memory", str(2 << 30), "--limits", "{}"])
    yield made
    made.stop()


def asked(child: Child, folder: Path, body: bytes, kind: dict[str, str]) -> dict[str, Any]:
    """What a child says of a file for the gold of PHASE."""
    gold = folder / "gold"
    gold.write_text(json.dumps([{"id": name, "label": PHASE.classes[0]} for name in PHASE.ids]))
    (folder / "file").write_bytes(body)
    told = {"path": str(gold), "format": "json", "encoding": "", "layout": "", "task": "multiclass"}
    request = {
        "kind": "validate",
        "gold": told | {"classes": PHASE.classes},
        "recipe": {"primary": "accuracy", "metrics": ["accuracy"]},
        "predictions": {"path": str(folder / "file"), **kind},
    }
    return child.ask(request, 600)


@pytest.mark.parametrize("name", FILES)
def test_what_a_library_decodes_is_ended_by_its_share_of_the_cpu_time(name: str, child: Child, tmp_path: Path) -> None:
    kind, body = FILES[name].kind, FILES[name].body(PHASE)
    answer = asked(child, tmp_path, body, {"format": kind.format, "encoding": kind.encoding, "layout": ""})
    assert answer["total"] == {"too_large": 1}, answer
    assert "decoding its Parquet or Arrow" in answer["problems"][0]["message"]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_file_of_all_scores_has_time_enough(form: str, child: Child, tmp_path: Path) -> None:
    answer = asked(child, tmp_path, sound(PHASE, form, scores=True), {"format": form, "encoding": "", "layout": ""})
    assert answer["valid"], answer


def test_a_share_ends_steps_of_any_length_and_counts_nothing_between_them() -> None:
    ended = 0

    def note(*_: object) -> None:
        nonlocal ended
        ended += 1

    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, 600)
    try:
        short, long, unused = CpuShare(0.05), CpuShare(0.05), CpuShare(0.05)
        with long.step():
            while not ended:
                pass
        assert list(unused.each(map(_burnt, [0.0] * 3))) == [0.0] * 3
        _burnt(0.1)
        with unused.step():
            assert ended == 1
        for _ in short.each(map(_burnt, [0.0005] * 1000)):
            if ended > 1:
                break
        assert ended > 1
        assert 500 < signal.getitimer(signal.ITIMER_PROF)[0] < 600
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_without_a_limit_of_the_program_nothing_is_limited() -> None:
    share = CpuShare(0.001)
    with share.step():
        _burnt(0.05)
    with share.step():
        assert signal.getitimer(signal.ITIMER_PROF)[0] == 0


def _burnt(seconds: float) -> float:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds
