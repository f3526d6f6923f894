"""Commands on files of every format: what they send, what they read offline, and pipes."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

from app.formats.templates.build_template import TEMPLATES, build_template
from app.scoring.declaration.task import TaskSpec
from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer
from tests.formats.fault_table.write import columnar, npz
from tests.formats.reading import compress as compressed
from tests.live_service import MAX_WAIT_SECONDS

IDS = ["t1", "t2", "t3"]
CLASSES = ["cat", "dog"]
SUBMISSIONS = "POST /api/v1/challenges/pets/submissions"
CHALLENGE = {"slug": "pets", "phases": [{"name": "main", "slug": "main", "open": True}]}
DONE = {"id": "s1", "status": "finished", "scores": {}}


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "classes.json"
    path.write_text(json.dumps(CLASSES))
    return path


def ids_file(folder: Path, name: str) -> Path:
    """A template in one of the formats, as the service gives it."""
    made = TEMPLATES[name]
    path = folder / f"ids-{name}{made.ending}"
    path.write_bytes(build_template(IDS, TaskSpec("multiclass", tuple(CLASSES)), name))
    return path


def test_a_template_of_every_format_tells_the_ids(tmp_path: Path, classes: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("id,label\nt1,cat\nt2,dog\nt3,cat\n")
    ran = {
        name: run_assay("validate", "-f", mine, "--ids", ids_file(tmp_path, name), "--classes", classes).status
        for name in TEMPLATES
    }
    assert ran == dict.fromkeys(TEMPLATES, 0)


@pytest.mark.parametrize(
    ("name", "text", "packing"),
    [
        ("ids.txt", "t1\nt2\nt3\n", ""),
        ("ids.tsv.gz", "id\nt1\nt2\nt3\n", "gzip"),
        ("ids.txt.zst", "t1\nt2\nt3\n", "zstd"),
    ],
)
def test_a_bare_list_of_ids_will_do_compressed_or_not(
    name: str, text: str, packing: str, tmp_path: Path, classes: Path
) -> None:
    ids = tmp_path / name
    ids.write_bytes(compressed(text.encode(), packing))
    mine = tmp_path / "mine.json"
    mine.write_text('{"t1": "cat", "t2": "dog", "t3": "cow"}')
    ran = run_assay("validate", "-f", mine, "--ids", ids, "--classes", classes, "--json")
    assert (ran.status, ran.value()["total"]) == (1, {"unknown_label": 1})


def scores_file(folder: Path) -> Path:
    path = folder / "mine.npz"
    np.savez(path, ids=IDS, classes=CLASSES, scores=np.array([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]]))
    return path


def test_the_recipe_decides_offline_as_it_does_in_the_service(tmp_path: Path, classes: Path) -> None:
    ids = ids_file(tmp_path, "json")
    recipe = tmp_path / "recipe.json"
    command = ("validate", "-f", scores_file(tmp_path), "--ids", ids, "--classes", classes, "--task", "multiclass")
    assert run_assay(*command).status == 0
    recipe.write_text(json.dumps({"version": 1, "status": "active", "primary": "log_loss", "metrics": ["log_loss"]}))
    ran = run_assay(*command, "--recipe", recipe, "--json")
    assert [one["pointer"] for one in ran.value()["problems"]] == ["/scores/1", "/scores/2/0", "/scores/2/1"]
    recipe.write_text(json.dumps({"slug": "pets", "recipe": {"primary": "accuracy", "decision": None}}))
    assert run_assay(*command, "--recipe", recipe).status == 0
    recipe.write_text("[]")
    assert run_assay(*command, "--recipe", recipe, "--json").value()["code"] == "wrong_shape"


def test_a_recipe_without_ids_and_classes_is_wrong_usage(tmp_path: Path, classes: Path) -> None:
    assert run_assay("validate", "pets", "-f", scores_file(tmp_path), "--recipe", classes).status == 2


def test_the_layout_is_sent_and_read_offline(service: ScriptedServer, tmp_path: Path, classes: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("id,label\nt1,cat\nt1,dog\nt2,\nt3,dog\n")
    service.on(SUBMISSIONS, ScriptedAnswer(201, DONE))
    service.on("GET /api/v1/challenges/pets", ScriptedAnswer(200, CHALLENGE))
    assert run_assay("submit", "pets", "-f", mine, "--layout", "long", "--url", service.url).status == 0
    (sent,) = service.sent("POST")
    assert (sent.query["filename"], sent.query["layout"]) == (["mine.csv"], ["long"])
    ids = ids_file(tmp_path, "json")
    command = ("validate", "-f", mine, "--ids", ids, "--classes", classes, "--task", "multilabel", "--json")
    assert run_assay(*command).value()["total"] == {"duplicate_id": 1}
    assert run_assay(*command, "--layout", "long").value()["valid"]


def test_gold_and_predictions_have_layouts_of_their_own(tmp_path: Path) -> None:
    gold, mine = tmp_path / "gold.tsv", tmp_path / "mine.csv"
    gold.write_text("id\tlabel\na\tx\na\ty\nb\ty\n")
    mine.write_text("id,label\na,x|y\nb,x\n")
    ran = run_assay("score", "-g", gold, "-p", mine, "--gold-layout", "long", "-m", "subset_accuracy", "--json")
    assert (ran.status, ran.value()["metrics"]) == (0, {"subset_accuracy": 0.5})


def test_scores_are_scored_offline_and_labels_follow_from_them(tmp_path: Path) -> None:
    gold, mine = tmp_path / "gold.csv", tmp_path / "mine.parquet"
    gold.write_text("id,label\na,x\nb,y\n")
    pq.write_table(pa.table({"id": ["b", "a"], "x": [0.75, 0.5], "y": [0.25, 0.5]}), mine)
    ran = run_assay("score", "-g", gold, "-p", mine, "-m", "accuracy", "-m", "brier_multiclass_sum", "--json")
    assert ran.value()["metrics"] == {"accuracy": 0.5, "brier_multiclass_sum": 0.8125}
    assert "hard labels follow from the scores: argmax" in ran.value()["notes"]


TABLE = pa.table({"id": IDS})


PIPED = {
    "stdin.json.gz": gzip.compress(b"{}", mtime=0),
    "stdin.json.zst": zstd.compress(b"{}"),
    "stdin.npz": npz(ids=IDS),
    "stdin.parquet": columnar("parquet", TABLE),
    "stdin.arrow": columnar("arrow", TABLE),
    "stdin.json": b"[]",
}


def test_what_comes_through_a_pipe_is_told_by_its_first_bytes(service: ScriptedServer) -> None:
    """One of them through a real pipe."""
    service.on(SUBMISSIONS, ScriptedAnswer(201, DONE))
    service.on("GET /api/v1/challenges/pets", ScriptedAnswer(200, CHALLENGE))
    words = ["submit", "pets", "-f", "-", "--url", service.url]
    for content in PIPED.values():
        assert run_assay(*words, stdin=content).status == 0
    command = [sys.executable, "-m", "app.cli", *words]
    subprocess.run(command, input=PIPED["stdin.npz"], capture_output=True, timeout=MAX_WAIT_SECONDS, check=True)
    sent = [(sent.query["filename"][0], sent.body) for sent in service.sent("POST")]
    assert sent == [*PIPED.items(), ("stdin.npz", PIPED["stdin.npz"])]


def test_a_template_is_asked_for_with_its_values_and_written_as_it_is(service: ScriptedServer, tmp_path: Path) -> None:
    service.on("GET /api/v1/challenges/pets", ScriptedAnswer(200, CHALLENGE))
    service.on("GET /api/v1/challenges/pets/phases/main/template", ScriptedAnswer(200, {"ids": IDS}))
    target = tmp_path / "mine.npz"
    words: list[Any] = ["template", "pets", "--format", "npz", "--values", "scores", "-o", target, "--url", service.url]
    assert run_assay(*words).status == 0
    assert service.requests[-1].query == {"format": ["npz"], "values": ["scores"]}
    assert json.loads(target.read_bytes()) == {"ids": IDS}
    assert run_assay("template", "pets", "--format", "xlsx", "--url", service.url).status == 2


def test_without_the_optional_library_its_formats_are_refused_with_advice() -> None:
    script = """
import sys
sys.modules["pyarrow"] = None
from app.errors import BadRequest, UnsupportedMedia
from app.formats import detect_file_kind
from app.formats.templates.build_template import build_template
from app.scoring.declaration.task import TaskSpec
import app.pipeline
assert detect_file_kind("a.npz", None, None).format == "npz"
for name in ("a.parquet", "a.arrow"):
    try:
        detect_file_kind(name, None, None)
    except UnsupportedMedia as refused:
        assert "assay[arrow]" in refused.advice and "parquet" not in refused.advice
    else:
        raise SystemExit(name)
try:
    build_template(["a"], TaskSpec("multiclass", ("x",)), "parquet")
except BadRequest:
    raise SystemExit(0)
raise SystemExit("template")
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_report_is_written_in_utf_8_wherever_it_goes(tmp_path: Path, classes: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"t1": "x" * 200}))
    command = [sys.executable, "-m", "app.cli", "validate", "-f", str(mine), "--ids", str(ids_file(tmp_path, "json"))]
    ran = subprocess.run(
        [*command, "--classes", str(classes), "--json"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=MAX_WAIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 1
    assert "\u2026" in json.loads(ran.stdout)["problems"][0]["got"]
