"""Gold with sets of acceptable answers: by definition, and with the reassessed labels of ImageNet."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.formats.content.format_detection import FileKind
from app.pipeline import SourceFile, load_gold, score_predictions
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from tests.golden.reference_data import challenge_folder, read_json
from tests.reference_material import needs_shared
from tests.scoring.case_builder import labels
from tests.scoring.strategies import metric_object

CLASSES = ("a", "b", "c", "d")
ACCURACY, ERROR_RATE = (parse_metric(key, task="multiclass") for key in ("accuracy", "error_rate"))


@given(data=st.data(), weighed=st.booleans())
@settings(max_examples=200, deadline=None)
def test_an_answer_is_right_if_it_is_one_of_the_acceptable_ones(data: st.DataObject, weighed: bool) -> None:
    n = data.draw(st.integers(1, 8))
    some = st.lists(st.sampled_from(CLASSES), min_size=1, unique=True)
    gold = data.draw(st.lists(some, min_size=n, max_size=n))
    chosen = data.draw(st.lists(st.sampled_from([*CLASSES, "beyond", None]), min_size=n, max_size=n))
    weights = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(any)) if weighed else [1] * n
    sides = labels(gold, CLASSES, multilabel=True), labels(chosen, CLASSES, multilabel=False)
    of = EvaluationInput(TaskSpec("multiclass", CLASSES), *sides, weights=np.array(weights) if weighed else None)
    found = evaluate(of, [ACCURACY, ERROR_RATE])
    triples = zip(gold, chosen, weights, strict=True)
    right = Fraction(sum(weight for answers, answer, weight in triples if answer in answers), sum(weights))
    assert found["accuracy"].value == float(right)
    assert found["error_rate"].value == float(1 - right)


def test_no_other_metric_has_a_value_on_them_and_each_says_why() -> None:
    sides = labels([["a", "b"], ["c"]], CLASSES, multilabel=True), labels(["a", "c"], CLASSES, multilabel=False)
    scores = np.full((2, len(CLASSES)), 1 / len(CLASSES))
    of = EvaluationInput(
        TaskSpec("multiclass", CLASSES, train_frequencies=dict.fromkeys(CLASSES, 1)), *sides, scores=scores
    )
    others = [metric for metric in CATALOGUE.values() if "multiclass" in metric.tasks and not metric.acceptable]
    assert len(others) > 20
    for metric in others:
        call = parse_metric(metric_object(metric, of), task="multiclass")
        result = evaluate(of, [call])[call.text]
        assert (result.value, result.reason) == (
            None,
            f"{metric.key} is not defined for gold with sets of acceptable answers",
        )


@pytest.mark.ci  # fifty thousand instances read six times; small gold of this kind is above
@needs_shared
def test_the_reassessed_labels_of_imagenet_give_the_expected_values() -> None:
    folder, jsonl = challenge_folder("imagenet-real"), FileKind("jsonl", "gzip")
    classes = read_json(folder / "classes.json")
    gold, problems = load_gold(SourceFile(folder / "gold_real.jsonl.gz", jsonl), task="multiclass", classes=classes)
    assert not problems
    assert gold is not None
    for system, values in read_json(folder / "expected.json")["systems"].items():
        expected = values["gold_real"]
        assert gold.labels.n == expected["n"]
        assert len(gold.void) == expected["n_void"]
        assert gold.labels.offsets is not None
        sizes = [end - start for start, end in pairwise(gold.labels.offsets.tolist())]
        assert np.mean(sizes) == pytest.approx(expected["label_cardinality"], abs=1e-12)
        file = SourceFile(folder / "predictions" / f"{system}.json.gz", FileKind("json", "gzip"))
        macro = parse_metric("f1_macro", task="multiclass")
        outcome = score_predictions(gold, file, [ACCURACY, ERROR_RATE, macro])
        assert not outcome.problems
        found = outcome.scores["all"]
        assert found["accuracy"].value == pytest.approx(expected["real_accuracy"], abs=1e-15)
        assert found["error_rate"].value == pytest.approx(1 - expected["real_accuracy"], abs=1e-15)
        assert found["f1_macro"].value is None
        original = score_predictions(gold, SourceFile(folder / "gold.jsonl.gz", jsonl), [ACCURACY]).scores["all"][
            "accuracy"
        ]
        assert original.value == pytest.approx(expected["original_label_real_accuracy"], abs=1e-15)
