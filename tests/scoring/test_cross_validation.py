"""Cross-validation: F of each fold recomputed with fractions and scikit-learn, and means, pools and tables of folds."""

import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Grouping
from app.scoring.metrics.folds.fold_values import standard_deviations
from app.scoring.numeric.correct_rounding import to_real
from tests.scoring.case_builder import case, evaluate_metric, results, value
from tests.scoring.strategies import cases

MANY = settings(max_examples=80, deadline=None)
NAMES = ("one", "two", "three", "four")
MEANS = ("f1_cv_mean_macro", "f1_cv_mean_micro")


def with_folds(of: EvaluationInput, codes: list[int], weights: list[int] | None = None) -> EvaluationInput:
    folds = Grouping(NAMES, np.array(codes, dtype=np.int32))
    heavy = None if weights is None else np.array(weights, dtype=np.int64)
    return EvaluationInput(of.spec, of.gold, of.predicted, None, heavy, folds)


@st.composite
def cases_with_folds(draw: st.DrawFn, task: TaskKind) -> EvaluationInput:
    of = draw(cases(task))
    return with_folds(of, draw(st.lists(st.integers(0, 3), min_size=of.gold.n, max_size=of.gold.n)))


def fold_inputs(of: EvaluationInput) -> list[EvaluationInput]:
    """The folds that have instances, each as a case of its own."""
    assert of.folds is not None
    rows = [np.flatnonzero(of.folds.codes == code) for code in range(len(NAMES))]
    taken = [of.take(at) for at in rows if len(at)]
    return [EvaluationInput(each.spec, each.gold, each.predicted, None, each.weights) for each in taken]


def f1_of_first(of: EvaluationInput) -> Fraction | None:
    """F1 of the positive label, None without gold positives."""
    assert of.spec.positive_label is not None
    yes = of.spec.classes.index(of.spec.positive_label)
    gold, predicted = of.gold.codes == yes, of.predicted.codes == yes
    if not gold.any():
        return None
    return Fraction(2 * int((gold & predicted).sum()), int(gold.sum() + predicted.sum()))


@given(of=cases_with_folds("binary"))
@MANY
def test_the_mean_is_over_the_folds_that_have_positives_or_over_all(of: EvaluationInput) -> None:
    exact = [f1_of_first(part) for part in fold_inputs(of)]
    kept = [each for each in exact if each is not None]
    skipping, zero = value(of, "f1_cv_mean"), value(of, "f1_cv_mean:undefined=zero")
    assert (skipping is None) == (not kept)
    if skipping is not None:
        assert skipping == float(sum(kept, Fraction(0)) / len(kept))
    assert zero == float(sum(kept, Fraction(0)) / len(exact))
    label = of.spec.positive_label
    per_fold = [
        f1_score(part.gold.codes == 0, part.predicted.codes == 0, zero_division=0)
        if label == of.spec.classes[0]
        else f1_score(part.gold.codes == 1, part.predicted.codes == 1, zero_division=0)
        for part in fold_inputs(of)
    ]
    assert zero == pytest.approx(float(np.mean(per_fold)), abs=1e-14)  # as cross_val_score


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data(), rule=st.sampled_from(["worst", "1", "skip"]), labels=st.sampled_from(["declared", "gold"]))
@MANY
def test_means_of_averages_are_those_of_the_folds_alone(
    task: TaskKind, data: st.DataObject, rule: str, labels: str
) -> None:
    of = data.draw(cases_with_folds(task))
    for key in MEANS:
        base, options = key.replace("_cv_mean", ""), {"zero_division": rule, "label_set": labels}
        inner = [value(part, base, **options) if len(part.gold.as_sets().codes) else None for part in fold_inputs(of)]
        defined = [each for each in inner if each is not None]
        found = results(of, [key, f"{key}:undefined=zero"], options)
        assert found[key].value == (pytest.approx(float(np.mean(defined)), abs=1e-14) if defined else None)
        expected = sum(defined) / len(inner)
        assert found[f"{key}:undefined=zero"].value == pytest.approx(expected, abs=1e-14)


@given(of=cases_with_folds("multiclass"))
@MANY
def test_pooled_over_folds_is_over_all_instances(of: EvaluationInput) -> None:
    label = of.spec.classes[-1].replace("|", "%7C")
    assert value(of, f"f1_cv_pooled:label={label}") == value(of, f"f1:label={label}")


def test_folds_without_a_value_are_told() -> None:
    of = case("binary", ["a", "b"], ["a", "b", "b"], ["a", "a", "b"], folds=["x", "y", "z"])
    skipping = evaluate_metric(of, "f1_cv_mean")
    assert (skipping.value, skipping.notes) == (1.0, ("folds without a value, left out (undefined=skip): y, z",))
    zero = evaluate_metric(of, "f1_cv_mean:undefined=zero")
    assert (zero.value, zero.notes) == (1 / 3, ("folds without a value, counted as 0 (undefined=zero): y, z",))
    shared = evaluate_metric(of, "f1_cv_mean", undefined="zero")
    assert shared.value == 1 / 3
    nobody = case("binary", ["a", "b"], ["b", "b"], ["a", "b"], folds=["x", "y"])
    assert evaluate_metric(nobody, "f1_cv_mean").reason == "no fold has a value: none has gold instances of a"
    assert value(nobody, "f1_cv_mean:undefined=zero") == 0.0


def test_an_error_in_one_fold_is_the_reason_of_the_mean() -> None:
    of = case("multiclass", ["a", "b"], ["a", "b", "b"], ["a", "b", "b"], folds=["x", "x", "y"])
    result = evaluate_metric(of, "f1_cv_mean_macro", zero_division="error")
    assert str(result.reason).startswith("in fold y F1 is 0/0 for a")
    table = evaluate_metric(of, "cv_table:label=a", zero_division="error").data
    assert table["f1_macro"]["undefined"] == ["y"]
    assert table["folds"][1]["precision"] is None


def test_without_folds_there_is_a_reason() -> None:
    of = case("binary", ["a", "b"], ["a"], ["a"])
    assert evaluate_metric(of, "f1_cv_mean").reason == "no folds of the instances were given"


@given(of=cases_with_folds("binary"), undefined=st.sampled_from(["skip", "zero"]))
@MANY
def test_the_table_holds_what_the_metrics_say(of: EvaluationInput, undefined: str) -> None:
    metrics = [f"{key}:undefined={undefined}" for key in ("f1_cv_mean", *MEANS, "cv_table")]
    of_label, of_macro, of_micro, table = results(of, metrics).values()
    data = table.data
    assert [row["n"] for row in data["folds"]] == [part.gold.n for part in fold_inputs(of)]
    for key, result in (("f1", of_label), ("f1_macro", of_macro), ("f1_micro", of_micro)):
        summary = data[key]
        rows = [row[key] for row in data["folds"] if row[key] is not None]
        assert summary["mean"] == result.value
        assert summary["folds"] == len(rows)
        deviation = summary["standard_deviation"]
        for name, peer, least in (("population", statistics.pstdev, 1), ("sample", statistics.stdev, 2)):
            expected = pytest.approx(peer(rows), rel=1e-11, abs=1e-16) if len(rows) >= least else None
            assert deviation[name] == expected
    assert data["f1"]["pooled"] == value(of, "f1")
    assert data["f1_macro"]["pooled"] == value(of, "f1_macro")


def test_a_table_of_several_classes_has_counts_where_a_label_is_named() -> None:
    of = case("multiclass", ["a", "b"], ["a", "b"], ["a", "a"], folds=["x", "y"])
    bare: Any = evaluate_metric(of, "cv_table").data
    assert bare["label"] is None
    assert set(bare["folds"][0]) == {"fold", "n", "f1_macro", "f1_micro"}
    named: Any = evaluate_metric(of, "cv_table:label=a").data
    assert named["folds"][1] | {"f1_macro": 0, "f1_micro": 0} == {
        "fold": "y",
        "n": 1,
        "tp": 0,
        "fp": 1,
        "fn": 0,
        "tn": 0,
        "precision": 0.0,
        "recall": None,
        "f1": None,
        "f1_macro": 0,
        "f1_micro": 0,
    }
    assert named["f1"]["undefined"] == ["y"]


def test_deviations_are_exact_before_they_are_rounded() -> None:
    near = [to_real(Fraction(0.1 + 2**-50 * step)) for step in (-1, 0, 1)]
    assert standard_deviations(near) == {"sample": 8.881784197e-16, "population": 7.25194642939e-16}
    assert standard_deviations([to_real(Fraction(1, 2))]) == {"sample": None, "population": 0.0}


def test_counts_of_folds_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    of = case("binary", ["a", "b"], ["a", "b"], ["a", "a"], folds=["x", "y"])
    calls = [parse_metric(text, task="binary") for text in ("f1_cv_mean", *MEANS, "cv_table")]
    taken: list[int] = []
    take = EvaluationInput.take

    def counted(self: EvaluationInput, rows: Any) -> EvaluationInput:
        taken.append(len(rows))
        return take(self, rows)

    monkeypatch.setattr(EvaluationInput, "take", counted)
    evaluate(of, calls)
    assert taken == [1, 1]
