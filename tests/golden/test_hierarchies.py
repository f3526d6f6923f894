"""Hierarchical values of the golden vector and of real challenges, as exact fractions and as HEMKit printed them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.each_case import for_each
from tests.golden.reference_data import (
    ORACLE,
    TOLERANCE,
    challenge_keys,
    expected_by_system,
    hierarchical_input,
    load_vector,
    metric_string,
)
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, evaluate_metric, results, value

pytestmark = needs_shared
HEMKIT = {"count_root": "true", "links": "hemkit", "redundant": "remove", "one_empty": "skip"}


def golden() -> tuple[EvaluationInput, dict[str, Any]]:
    data = load_vector("hierarchy_small")
    parents: dict[str, list[str]] = {}
    for parent, child in data["hierarchy_edges_parent_child"]:
        parents.setdefault(child, []).append(parent)
    classes = sorted({name for edge in data["hierarchy_edges_parent_child"] for name in edge}, key=int)
    gold, predicted = ([row[side] for row in data["instances"]] for side in ("gold", "predicted"))
    return case("multilabel", classes, gold, predicted, hierarchy=parents), data


def test_the_golden_vector_is_reproduced_exactly() -> None:
    of, data = golden()
    assert len(data["expected"]) == 11
    for key, expected in data["expected"].items():
        text = metric_string(key)
        assert text is not None
        found = value(of, text, **ORACLE)
        assert found is not None
        assert abs(found - expected) <= TOLERANCE, key
        exact = float(Fraction(data["expected_fraction"][key]))
        assert abs(found - exact) <= 2 * math.ulp(exact), key


def test_what_hemkit_printed_for_the_golden_vector() -> None:
    of, data = golden()
    (oracle,) = data["oracles"].values()
    keys = [f"{family}_{part}" for family in ("hierarchical", "lca") for part in ("precision", "recall", "f1")]
    found = results(of, keys, {"preset": "hemkit"})
    assert [round(found[key].value or 0, 6) for key in keys] == oracle["output"]


def test_each_instance_of_the_golden_vector() -> None:
    of, data = golden()
    names = {"hP": "hierarchical_precision", "hR": "hierarchical_recall", "hF": "hierarchical_f1"}
    names |= {f"{name}_with_virtual_root": f"{text}:count_root=true" for name, text in names.items()}
    names |= {"lcaP": "lca_precision", "lcaR": "lca_recall", "lcaF": "lca_f1"}
    for row, values in enumerate(data["expected_per_instance"].values()):
        one = of.take(np.array([row]))
        assert {name: value(one, names[name]) for name in values} == pytest.approx(values, abs=TOLERANCE)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in values.items():
        yield from flat(item, f"{prefix}{key}.") if isinstance(item, dict) else [(prefix + key, item)]


def expected(name: str) -> Iterator[tuple[str, str, Mapping[str, str], float, float]]:
    """System, metric string, options, value, tolerance."""
    rules = challenge_keys()["hierarchical"]
    for system, values in expected_by_system(name).items():
        found = values.get("hierarchical") or values["gold"]["hierarchical"]
        root = {"exclude_root": "true"} if "root_excluded" in found else {}
        for key, number in flat(found):
            if isinstance(number, float) and " " not in rules.get(key, " "):  # HEMKit's come below
                yield system, rules[key], {**ORACLE, **root}, number, rules["tolerance"]
        for part, measure in (("P", "precision"), ("R", "recall"), ("F", "f1")):
            if "hemkit" in found:
                hemkit = found["hemkit"]
                yield system, f"lca_{measure}", HEMKIT, hemkit[f"lca_{part}"], rules["tolerance_hemkit"]
                yield system, f"hierarchical_{measure}", HEMKIT, hemkit[f"h{part}"], rules["tolerance_hemkit"]
                counted = found["mean_over_non_empty_instances_root_counted"]
                yield system, f"hierarchical_{measure}", HEMKIT, counted[f"h{part}"], rules["tolerance"]


@for_each("name, compared", [("germeval2019-blurbs-b", 28), ("imagenet-real", 5)])
def test_real_challenges_have_the_values_of_their_oracles(name: str, compared: int) -> None:
    wanted = list(expected(name))
    assert len(wanted) == compared
    for system, text, options, number, tolerance in wanted:
        found = evaluate_metric(hierarchical_input(name, system), text, **options)
        assert found.value == pytest.approx(number, abs=tolerance, rel=0), (system, text, found.reason)


def test_the_root_of_imagenet_is_found_and_told() -> None:
    text = "hierarchical_f1:exclude_root=true"
    (note,) = evaluate_metric(hierarchical_input("imagenet-real", "cleanlab-cv"), text).notes
    assert note == "left out because they are ancestors of every class: n00001930"


@for_each("system, expected", [("submission-2019-06-15", 0.650789), ("submission-2019-06-17", 0.647551)])
def test_the_smallest_graphs_of_the_blurbs_whatever_the_order_of_the_classes(system: str, expected: float) -> None:
    of, options = hierarchical_input("germeval2019-blurbs-b", system), {**HEMKIT, "links": "minimal"}
    found = value(of, "lca_f1", **options)
    assert found == pytest.approx(expected, abs=5e-7, rel=0)
    last = len(of.spec.classes) - 1
    turned = replace(
        of,
        spec=replace(of.spec, classes=of.spec.classes[::-1]),
        gold=Labels(last - of.gold.codes, of.gold.offsets),
        predicted=Labels(last - of.predicted.codes, of.predicted.offsets),
    )
    assert value(turned, "lca_f1", **options) == found
