"""The work of scoring a file does not depend on a gold label: the same functions are called as often under two golds."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from app.formats import detect_file_kind
from app.gold import load_gold
from app.pipeline import SourceFile, score_predictions
from app.scoring.declaration.metric_parser import parse_metric
from tests.api.test_gold_secrecy import FILES, PUBLIC, PUBLIC_IDS


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """The calls of functions while the block lasts, built-in ones included."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            calls[str(argument).partition(" at 0x")[0]] += 1

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("file", FILES)
def test_scoring_a_file_makes_the_same_calls_whatever_the_labels_are(file: str, tmp_path: Path) -> None:
    """Of every function, in reading and in scoring; both golds give the same counts."""
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(dict(zip(PUBLIC_IDS, file, strict=False))))
    predictions = SourceFile(path, detect_file_kind(path.name, None, None))
    metrics = [parse_metric(text, options={}, task="multiclass") for text in ("accuracy", "f1_macro", "mcc")]
    made = []
    for labels in (*PUBLIC, *PUBLIC):  # the first round computes what is kept
        path = tmp_path / f"{labels}.json"
        path.write_text(json.dumps(dict(zip(PUBLIC_IDS, labels, strict=True))))
        gold, _ = load_gold(SourceFile(path, predictions.kind), task="multiclass")
        assert gold is not None
        with counted_calls() as calls:
            outcome = score_predictions(gold, predictions, metrics)
        made.append(({name: result.value for name, result in outcome.scores["all"].items()}, calls))
    assert made[2] == made[3]
    assert sum(made[2][1].values()) > 100
