"""What a bare `assay score` shows: the metrics that most people ask for, and all by family on request."""

import json
from pathlib import Path

import pytest

from app.scoring.catalogue.common_metrics import COMMON_METRIC_KEYS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.task import TaskKind
from app.scoring.metrics import FAMILY_BY_KEY
from tests.cli.run_command import run_assay


def test_a_bare_score_shows_the_common_metrics_first_and_all_by_family_on_request(tmp_path: Path) -> None:
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps({"t1": "cat", "t2": "cat", "t3": "dog", "t4": "emu"}))
    words = ("score", "--gold", gold, "--predictions", gold)
    bare, every = run_assay(*words), run_assay(*words, "--all")
    keys = [line.split()[0] for line in bare.out.splitlines()[3:-1]]
    assert keys[:2] == ["accuracy", "balanced_accuracy"]
    assert keys.index("f1_of_averages_macro") == keys.index("f1_macro") + 1
    assert len(keys) <= 12
    whole = run_assay(*words, "--json").value()["metrics"]
    assert f"{len(whole) - len(keys)} more metrics apply: --all" in bare.out
    lines = every.out.splitlines()
    listed = [line.split()[0] for line in lines if line.split() and line.split()[0] in whole]
    assert listed[: len(keys)] == keys
    assert sorted(listed) == sorted(whole)
    titles = [line for line in lines if line in {"Common metrics", "One class against the rest", "The whole task"}]
    assert titles == ["Common metrics", "One class against the rest", "The whole task"]
    assert run_assay(*words, "--all", "--metric", "f1_macro").status == 2


@pytest.mark.parametrize("task", COMMON_METRIC_KEYS)
def test_the_common_metrics_are_scalar_metrics_of_their_task(task: TaskKind) -> None:
    for key in COMMON_METRIC_KEYS[task]:
        assert key in FAMILY_BY_KEY
        assert CATALOGUE[key].scalar
        assert task in CATALOGUE[key].tasks
