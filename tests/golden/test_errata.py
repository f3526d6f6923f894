"""The page of errata agrees with the golden vectors on the published figures."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.golden.reference_data import load_vector
from tests.reference_material import needs_shared, shared

DOCS = Path(__file__).resolve().parents[2] / "docs"
# figures that cannot be recomputed, and slips in words and equations
NO_NUMBER = {"caption", "cells", "remark", "recall[B], recall[C]", "eq. 17", "eq. 18", "eq. 25", "eq. 29", "eq. 31"}
NO_NUMBER |= {"mean AUC 'under the precision-recall curve'"}
SAME_VALUE = {("wenzel_fig8", "precision_weighted_by_predicted"): "precision_micro"}


@pytest.fixture(scope="module")
def page() -> Any:
    """The module that makes the page; it lies beside the pages."""
    sys.path.insert(0, str(DOCS))
    try:
        import errata_page  # noqa: PLC0415
    finally:
        sys.path.remove(str(DOCS))
    return errata_page


@needs_shared
def test_every_published_slip_is_on_the_page_with_its_correction(page: Any) -> None:
    figures = {(one.table, one.metric): one.exact() for one in page.FIGURES.values()}
    compared = 0
    for path in (shared() / "golden").glob("*.json"):
        for printed in load_vector(path.stem).get("published") or []:
            metric = printed["metric"]
            key = (path.stem, SAME_VALUE.get((path.stem, metric), metric))
            if printed["wrong"] and metric not in NO_NUMBER:
                assert key in figures, key
            if key in figures:
                assert figures[key] == Fraction(printed["exact_fraction"]), key
                compared += 1
    assert compared >= 20


@needs_shared
def test_the_cases_are_those_of_the_golden_vectors(page: Any) -> None:
    for name, of in page.TABLES.items():
        if not (shared() / "golden" / f"{name}.json").exists():
            continue
        data = load_vector(name)
        gold, predicted = of.gold.as_sets(), of.predicted.as_sets()
        found = sorted((sorted(names(of, gold, at)), sorted(names(of, predicted, at))) for at in range(gold.n))
        expected = sorted((as_list(row["gold"]), as_list(row["predicted"])) for row in data["instances"])
        assert found == expected, name
        assert list(of.spec.classes) == data["labels"]
        assert of.spec.train_frequencies == data.get("training_frequencies")


def names(of: Any, labels: Any, at: int) -> list[str]:
    return [of.spec.classes[code] for code in labels.codes[labels.offsets[at] : labels.offsets[at + 1]]]


def as_list(labels: Any) -> list[str]:
    return sorted([labels] if isinstance(labels, str) else labels)


@needs_shared
def test_moves_of_answers_cost_what_the_golden_vector_says(page: Any) -> None:
    data = load_vector("van_asch_costs")
    first = data["false_positive_moves"][0]
    figures = {name: one.exact() for name, one in page.FIGURES.items()}
    assert figures["v lfb one move"] - figures["v lfb"] == Fraction(first["fraction"])
    shift = data["micro_precision_shift"]
    assert float(figures["v micro mended"] - figures["v micro"]) == pytest.approx(
        shift["single_label_exact"], abs=1e-11
    )
    added = float(figures["v micro added"] - figures["v micro"])
    assert added == pytest.approx(shift["multi_label_exact_fn_to_tp_only"], abs=1e-11)
    for number in (first["eq17_literal_value"], shift["eq25_literal"]):
        assert f"{number:.6f}" in page.page()
    proportion = load_vector("crossval_small")["eq31_macro_f1"]["by_proportion_of_A"]["1/10"]
    assert figures["v proportion"] == Fraction(proportion["fraction"])


def test_the_alpha_evaluation_is_the_mean_over_instances(page: Any) -> None:
    assert page.alpha() == (Fraction(21, 32), Fraction(11, 16))
