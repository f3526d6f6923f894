"""Hierarchical values of the golden vector and of real challenges, as exact fractions and as HEMKit printed them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.golden.test_challenges import folder, labels_of, lines, read
from tests.golden.test_golden import ORACLE, TOLERANCE, known, load
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, results

pytestmark = needs_shared
HEMKIT = {"count_root": "true", "links": "hemkit", "redundant": "remove", "one_empty": "skip"}


def golden() -> tuple[EvaluationInput, dict[str, Any]]:
    data = load("hierarchy_small")
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
        text = known(key)
        assert text is not None
        found = results(of, [text], ORACLE)[text].value
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
        assert {name: results(one, [names[name]])[names[name]].value for name in values} == pytest.approx(
            values, abs=TOLERANCE
        )


@cache
def challenge(name: str, system: str) -> EvaluationInput:
    """A challenge with its hierarchy."""
    gold = {row["id"]: labels_of(row) for row in lines(folder(name) / "gold.jsonl.gz")}
    predicted = {row["id"]: labels_of(row) for row in read(folder(name) / "predictions" / f"{system}.json.gz")}
    declared = read(folder(name) / "hierarchy.json")
    parents = declared.get("parents") or {child: [parent] for child, parent in declared["parent"].items()}
    task: TaskKind = "multilabel" if isinstance(next(iter(gold.values())), list) else "multiclass"
    classes = read(folder(name) / "classes.json")
    return case(task, classes, list(gold.values()), [predicted[key] for key in gold], hierarchy=parents)


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        yield from flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]


def expected(name: str) -> Iterator[tuple[str, str, Mapping[str, str], float, float]]:
    """System, metric string, options, value, tolerance."""
    rules = read(folder(name).parent / "keys.json")["hierarchical"]
    for system, values in read(folder(name) / "expected.json")["systems"].items():
        found = values.get("hierarchical") or values["gold"]["hierarchical"]
        root = {"exclude_root": "true"} if "root_excluded" in found else {}
        for key, value in flat(found):
            if isinstance(value, float) and " " not in rules.get(key, " "):  # HEMKit's come below
                yield system, rules[key], {**ORACLE, **root}, value, rules["tolerance"]
        for part, measure in (("P", "precision"), ("R", "recall"), ("F", "f1")):
            if "hemkit" in found:
                hemkit = found["hemkit"]
                yield system, f"lca_{measure}", HEMKIT, hemkit[f"lca_{part}"], rules["tolerance_hemkit"]
                yield system, f"hierarchical_{measure}", HEMKIT, hemkit[f"h{part}"], rules["tolerance_hemkit"]
                counted = found["mean_over_non_empty_instances_root_counted"]
                yield system, f"hierarchical_{measure}", HEMKIT, counted[f"h{part}"], rules["tolerance"]


@pytest.mark.parametrize(("name", "compared"), [("germeval2019-blurbs-b", 28), ("imagenet-real", 5)])
def test_real_challenges_have_the_values_of_their_oracles(name: str, compared: int) -> None:
    wanted = list(expected(name))
    assert len(wanted) == compared
    for system, text, options, value, tolerance in wanted:
        found = results(challenge(name, system), [text], options)[text]
        assert found.value == pytest.approx(value, abs=tolerance, rel=0), (system, text, found.reason)


def test_the_root_of_imagenet_is_found_and_told() -> None:
    text = "hierarchical_f1:exclude_root=true"
    (note,) = results(challenge("imagenet-real", "cleanlab-cv"), [text])[text].notes
    assert note == "left out because they are ancestors of every class: n00001930"


@pytest.mark.parametrize(
    ("system", "expected"), [("submission-2019-06-15", 0.650789), ("submission-2019-06-17", 0.647551)]
)
def test_the_smallest_graphs_of_the_blurbs_whatever_the_order_of_the_classes(system: str, expected: float) -> None:
    of, options = challenge("germeval2019-blurbs-b", system), {**HEMKIT, "links": "minimal"}
    found = results(of, ["lca_f1"], options)["lca_f1"].value
    assert found == pytest.approx(expected, abs=5e-7, rel=0)
    last = len(of.spec.classes) - 1
    turned = replace(
        of,
        spec=replace(of.spec, classes=of.spec.classes[::-1]),
        gold=Labels(last - of.gold.codes, of.gold.offsets),
        predicted=Labels(last - of.predicted.codes, of.predicted.offsets),
    )
    assert results(turned, ["lca_f1"], options)["lca_f1"].value == found
