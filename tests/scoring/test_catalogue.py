"""The catalogue is complete, and the description of a call matches its computation."""

import json
import re
import subprocess
import sys

import pytest

from app.scoring.catalogue.description import describe_call, describe_metric
from app.scoring.declaration.metric import CATALOGUE, register
from app.scoring.declaration.metric_parser import parse_metric
from tests.live_service import MAX_WAIT_SECONDS

BASES = (
    "recall precision f1 f0_5 f2 f_beta jaccard specificity accuracy_ovr error_rate_ovr npv fdr for fpr fnr "
    "prevalence detection_rate detection_prevalence informedness markedness fowlkes_mallows"
)
AVERAGES = ("", "_macro", "_micro", "_weighted", "_weighted_by_predicted", "_lfb_train", "_lfb_test", "_samples")
WHOLE = (
    "accuracy error_rate balanced_accuracy weighted_accuracy subset_accuracy zero_one_loss hamming_loss "
    "cohen_kappa mcc gmean_recall scott_pi gwet_ac1 expected_cost mean_absolute_class_distance "
    "mean_absolute_class_distance_macro lr_plus lr_minus dor no_information_rate accuracy_lower "
    "accuracy_upper accuracy_p_value mcnemar_confusion caret_overall caret_by_class"
)


def test_every_measure_has_every_average() -> None:
    expected = {base + average for base in BASES.split() for average in AVERAGES} | set(WHOLE.split())
    expected |= {
        f"{f}_of_averages{average}"
        for f in ("f1", "f0_5", "f2", "f_beta")
        for average in ("_macro", "_weighted", "_samples", "_lfb_train", "_lfb_test")
    }
    expected |= {f"balanced_accuracy_ovr{average}" for average in AVERAGES if average != "_samples"}
    assert "balanced_accuracy_ovr_samples" not in CATALOGUE
    assert set(CATALOGUE) >= expected


def test_a_description_is_json_with_the_declared_fields() -> None:
    shown = json.loads(json.dumps(describe_metric(CATALOGUE["f_beta_macro"])))
    assert shown["equation"]["latex"].startswith(r"\frac{1}{m}\sum_{j=1}^{m}")
    assert shown["tasks"] == ["binary", "multiclass", "multilabel"]
    assert shown["params"][0]["name"] == "beta"
    rule = next(option for option in shown["options"] if option["name"] == "zero_division")
    assert rule["default"] == "worst"
    assert [value["value"] for value in rule["values"]] == ["worst", "0", "1", "skip", "error"]


def latex(text: str) -> str:
    shown = describe_call(parse_metric(text))["equation"]["latex"]
    assert isinstance(shown, str)
    return shown


def test_a_call_shows_the_equation_that_it_uses() -> None:
    assert r"\frac{1}{m}" in latex("f1_macro")
    assert r"\frac{1}{|L|}\sum_{j\in L}" in latex("f1_macro:label_set=gold")
    assert r"\frac{1}{|L|}" in latex("f1_macro:absent_gold=skip")
    assert r"\sum_{j\in L}" in latex("f1_micro:exclude_labels=other")
    assert "1.25" in latex("f_beta_macro:beta=0.5")
    assert r"\beta" not in latex("f_beta_of_averages_macro:beta=0.3")
    assert r"\mathrm{TP}_{L}" in latex("f1:label=irony")
    assert latex("f1_macro").endswith(r"\tfrac{0}{0}:=0")
    assert latex("f1_macro:zero_division=1").endswith(r"\tfrac{0}{0}:=1")
    assert ":=" not in latex("f1_macro:zero_division=skip")


def test_the_letters_of_an_equation_are_explained() -> None:
    assert describe_metric(CATALOGUE["recall_weighted"])["symbols"]["n_j"] == "instances of class j in gold"
    assert describe_metric(CATALOGUE["hamming_loss"])["symbols"]["P_i"] == "predicted label set of instance i"
    assert "n" not in describe_metric(CATALOGUE["weighted_accuracy"])["symbols"]
    assert describe_call(parse_metric("f1:label=x"))["symbols"]["L"] == "the class to evaluate"
    assert all(describe_metric(metric)["symbols"] for metric in CATALOGUE.values())


def test_labels_stay_out_of_the_equation_but_in_the_words() -> None:
    # equations become markup without escaping, so nothing that a user wrote may enter them
    evil = "<script>"
    shown = describe_call(parse_metric({"key": "f1", "params": {"label": evil}}))
    assert evil not in shown["equation"]["latex"] + shown["equation"]["mathml"]
    assert any(evil in sentence for sentence in shown["conventions"])
    shown = describe_call(parse_metric({"key": "f1_macro", "options": {"exclude_labels": [evil]}}))
    assert evil not in shown["equation"]["mathml"]
    assert any(evil in sentence for sentence in shown["conventions"])


def test_a_call_says_in_words_what_each_choice_means() -> None:
    said = describe_call(parse_metric("cohen_kappa:weights=quadratic"))["conventions"]
    assert any(re.fullmatch(r"weights=quadratic: \w.*\.", sentence) for sentence in said)


def test_a_name_of_the_recipe_is_shown() -> None:
    shown = describe_call(parse_metric({"key": "f1_macro", "name": "official score"}))
    assert (shown["name"], shown["key"], shown["direction"]) == ("official score", "f1_macro", "higher")


def test_a_key_is_declared_once() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        register(CATALOGUE["f1_macro"])


def test_scoring_does_not_load_the_renderer_of_equations() -> None:
    script = (
        "import sys, app.scoring.evaluate, app.scoring.catalogue.description; sys.exit('latex2mathml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=MAX_WAIT_SECONDS).returncode == 0
