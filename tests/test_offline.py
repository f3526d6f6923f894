"""Scoring two files without a server: plain files take the vectorized readers, with the outcome of the strict reader."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app import offline
from app.errors import AssayError
from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.formats.source_file import SourceFile
from app.offline import OfflineOutcome, score_offline
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import applicable_metrics, parse_metric
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import EvaluationInput
from tests.formats.reading import code_sets


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("offline")


def all_metrics(spec: TaskSpec, has: frozenset[str]) -> Sequence[MetricCall]:
    return applicable_metrics(spec.task, None, has)


def log_loss(spec: TaskSpec, _has: frozenset[str]) -> Sequence[MetricCall]:
    return [parse_metric("log_loss", task=spec.task)]


def scored_both_ways(folder: Path, gold: Any, predictions: Any, **more: Any) -> tuple[OfflineOutcome, bool]:
    """The outcome, which must not depend on the readers, and whether the vectorized readers read both files."""
    sources = []
    for name, content in (("gold", gold), ("predictions", predictions)):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        sources.append(SourceFile(path, FileKind("json")))
    how = {"task": "multiclass", "choose": all_metrics} | more
    choose = how.pop("choose")
    with patch.object(offline, "_score_plain_files", return_value=None):
        strict = _outcome(sources, choose, how)
    with patch.object(offline, "_score_strictly", side_effect=offline._score_strictly) as strictly:
        found = _outcome(sources, choose, how)
    if isinstance(strict, AssayError) or isinstance(found, AssayError):
        assert repr(strict) == repr(found)
        return OfflineOutcome(Problems(), Problems(), []), False
    assert found.notes == strict.notes
    assert found.gold_problems.to_dict() == strict.gold_problems.to_dict()
    assert found.problems.to_dict() == strict.problems.to_dict()
    assert [call.text for call in found.calls] == [call.text for call in strict.calls]
    assert json.dumps(_values(found)) == json.dumps(_values(strict))
    if found.case is not None and strict.case is not None:
        assert found.case.spec == strict.case.spec
        assert _rows(found.case) == _rows(strict.case)
    return found, not strictly.called


def _rows(case: EvaluationInput) -> Any:
    """The instances in any order, with all that belongs to each, and whether gold and predictions are sets."""
    sets = [labels.offsets is not None for labels in (case.gold, case.predicted)]
    parts: list[list[Any]] = [code_sets(case.gold), code_sets(case.predicted)]
    parts += [array.tolist() for array in (case.scores, case.weights) if array is not None]
    return sets, sorted(map(repr, zip(*parts, strict=True)))


def _outcome(sources: Sequence[SourceFile], choose: Any, how: Any) -> OfflineOutcome | AssayError:
    try:
        return score_offline(sources[0], sources[1], choose, **how)
    except AssayError as error:
        return error


def _values(outcome: OfflineOutcome) -> Any:
    return {
        split: {name: (result.value, result.reason, list(result.notes)) for name, result in results.items()}
        for split, results in outcome.scores.items()
    }


def test_plain_files_are_read_by_the_vectorized_readers(folder: Path) -> None:
    gold = [{"id": f"t{at}", "label": "xyz"[at % 3], "split": ("public", "private")[at % 2]} for at in range(30)]
    answers = [{"id": f"t{at}", "label": "xyz"[at % 2]} for at in reversed(range(30))]
    for classes in (None, ["z", "y", "x", "w"]):
        outcome, is_plain = scored_both_ways(folder, gold, answers, classes=classes)
        assert is_plain
        assert list(outcome.scores) == ["all", "public", "private"]


def test_labels_that_the_gold_lacks_extend_the_vocabulary_in_the_same_pass(folder: Path) -> None:
    gold, answers = {"a": "b", "b": "d", "c": "d"}, {"a": "a", "b": "d", "c": "c"}
    outcome, is_plain = scored_both_ways(folder, gold, answers)
    assert is_plain
    assert outcome.case is not None
    assert outcome.case.spec.classes == ("a", "b", "c", "d")
    sets = [{name: [label] for name, label in of.items()} for of in (gold, answers)]
    outcome, is_plain = scored_both_ways(folder, *sets, task="multilabel")
    assert is_plain
    assert outcome.case is not None
    assert outcome.case.spec.classes == ("a", "b", "c", "d")


def test_plain_scores_are_read_by_the_vectorized_readers(folder: Path) -> None:
    gold = {f"t{at}": "xy"[at % 2] for at in range(10)}
    for high in (0.75, 2.5):
        answers = [{"id": name, "scores": {"x": high, "y": 0.25}} for name in gold]
        outcome, is_plain = scored_both_ways(folder, gold, answers)
        assert is_plain
        assert outcome.scores
        # What are no probabilities is refused for metrics that need them.
        outcome, is_plain = scored_both_ways(folder, gold, answers, choose=log_loss)
        assert is_plain is (high < 1)
        assert bool(outcome.scores) is (high < 1)


LABELS = st.sampled_from(["x", "y", "z", "é", "e\u0301", "", " x", 1, None])
TASKS: dict[TaskKind, dict[str, Any]] = {
    "multiclass": {},
    "multilabel": {},
    "binary": {"positive_label": "x"},
}


@given(
    st.sampled_from(list(TASKS)),
    st.tuples(
        st.lists(LABELS, min_size=1, max_size=6),
        st.lists(LABELS | st.sampled_from([0.2, 0.5, 1.5]), min_size=1, max_size=6),
    ),
    st.sampled_from([None, ["x", "y"], ["y", "x", "z", "é"]]),
    st.sampled_from(["map", "scores", "score", "turned"]),
)
@settings(max_examples=250, deadline=None)
def test_the_outcome_of_any_two_files_does_not_depend_on_the_readers(
    folder: Path, task: TaskKind, labels: tuple[list[Any], list[Any]], classes: list[str] | None, form: str
) -> None:
    truth, answers = labels
    wrap = (lambda label: [label]) if task == "multilabel" else (lambda label: label)
    gold = {f"t{at}": wrap(label) for at, label in enumerate(truth)}
    predicted: Any = {f"t{at}": wrap(label) for at, label in enumerate(answers)}
    if form == "turned":
        predicted = dict(reversed(predicted.items()))
    elif form != "map":
        number = [label if isinstance(label, float) else 0.5 for label in answers]
        value = [{"x": score, "y": 1 - score} if form == "scores" else score for score in number]
        predicted = [{"id": f"t{at}", form: score} for at, score in enumerate(value)]
    scored_both_ways(folder, gold, predicted, task=task, classes=classes, **TASKS[task])


def test_void_ids_are_left_to_the_strict_reader(folder: Path) -> None:
    outcome, is_plain = scored_both_ways(folder, {"a": "x", "b": "y", "c": "y"}, {"a": "x", "b": "y"}, void=["c"])
    assert not is_plain
    assert outcome.case is not None
    assert np.array_equal(outcome.case.gold.codes, [0, 1])
