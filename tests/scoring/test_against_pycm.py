"""The same tables through PyCM, where it defines the same: "None" there is 0/0 or x/0, and null here under skip."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycm import ConfusionMatrix

from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case, results, value

SOME = settings(max_examples=60, deadline=None)
CLASSES = ("a", "b", "c", "d")
BY_CLASS = {
    "recall": "TPR",
    "precision": "PPV",
    "specificity": "TNR",
    "npv": "NPV",
    "fdr": "FDR",
    "for": "FOR",
    "fpr": "FPR",
    "fnr": "FNR",
    "accuracy_ovr": "ACC",
    "error_rate_ovr": "ERR",
    "jaccard": "J",
    "prevalence": "PRE",
    "balanced_accuracy_ovr": "AUC",
    "informedness": "BM",
    "markedness": "MK",
    "fowlkes_mallows": "G",
    "lr_plus": "PLR",
    "lr_minus": "NLR",
    "dor": "DOR",
}
OVERALL = {
    "cohen_kappa": "Kappa",
    "scott_pi": "Scott PI",
    "gwet_ac1": "Gwet AC1",
    "no_information_rate": "NIR",
    "npv_macro": "NPV Macro",
    "fpr_macro": "FPR Macro",
    "fnr_macro": "FNR Macro",
    "npv_micro": "NPV Micro",
    "fpr_micro": "FPR Micro",
    "fnr_micro": "FNR Micro",
    "accuracy_ovr_macro": "ACC Macro",
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, dict[str, int]]:
    m = draw(st.integers(2, 4))
    cell = st.integers(0, 6)
    rows = draw(
        st.lists(st.lists(cell, min_size=m, max_size=m), min_size=m, max_size=m).filter(lambda t: any(map(any, t)))
    )
    return {gold: dict(zip(CLASSES, row, strict=False)) for gold, row in zip(CLASSES, rows, strict=False)}


def as_case(table: dict[str, dict[str, int]]) -> EvaluationInput:
    pairs = [(gold, name) for gold, row in table.items() for name, count in row.items() for _ in range(count)]
    return case("multiclass", list(table), *zip(*pairs, strict=True))


def same(found: float | None, theirs: Any, what: str) -> None:
    if theirs in ("None", None):
        assert found is None, what
    else:
        assert found == pytest.approx(theirs, abs=1e-12, rel=1e-12), what


@given(table=tables())
@SOME
def test_measures_of_each_class(table: dict[str, dict[str, int]]) -> None:
    matrix, of = ConfusionMatrix(matrix=table), as_case(table)
    for name in table:
        for key, theirs in BY_CLASS.items():
            text = f"{key}:label={name}"
            expected = getattr(matrix, theirs)[name]
            found = value(of, text, zero_division="skip")
            if key == "dor" and expected == "None" and matrix.TN[name] == 0:
                continue  # PLR / NLR, and NLR would divide by 0 there
            same(found, expected, text)


@given(table=tables())
@SOME
def test_overall_measures(table: dict[str, dict[str, int]]) -> None:
    matrix, of = ConfusionMatrix(matrix=table), as_case(table)
    found = results(of, list(OVERALL), {"zero_division": "error"})
    for key, theirs in OVERALL.items():
        same(found[key].value, matrix.overall_stat[theirs], key)


@given(table=tables())
@SOME
def test_weighted_kappa(table: dict[str, dict[str, int]]) -> None:
    matrix, of = ConfusionMatrix(matrix=table), as_case(table)
    names = list(table)
    for weights, power in (("linear", 1), ("quadratic", 2)):
        far = {a: {b: abs(i - j) ** power for j, b in enumerate(names)} for i, a in enumerate(names)}
        text = f"cohen_kappa:weights={weights}"
        same(value(of, text), matrix.weighted_kappa(weight=far), text)


@given(table=tables())
@SOME
def test_the_p_value_of_the_accuracy(table: dict[str, dict[str, int]]) -> None:
    found = value(as_case(table), "accuracy_p_value")
    theirs = ConfusionMatrix(matrix=table).overall_stat["P-Value"]
    assert found is not None
    assert math.isclose(found, theirs, rel_tol=1e-11, abs_tol=1e-13)
