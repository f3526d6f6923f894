"""Scores, probabilities and hierarchies of real challenges, read from their files: every value that keys.json maps."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.formats.content.format_detection import FileKind
from app.formats.reading_rules import ReadingRules
from app.pipeline import SourceFile, load_gold, predicted_case
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.hierarchy.hierarchy import Hierarchy
from tests.golden.test_challenge_labels import folder, loaded, read, rules
from tests.golden.test_score_files import APART
from tests.reference_material import needs_shared
from tests.scoring.case_builder import results

pytestmark = needs_shared
ORACLE = {"zero_division": "0", "both_empty": "0"}
SOFT = {"cifar10-label-errors": 40, "litcovid": 7}
TREES = {"germeval2019-blurbs-b": 26, "imagenet-real": 5}


def scored(name: str, system: str, version: str) -> EvaluationInput:
    """The case of two files as they are, ids that this gold lacks void."""
    task: TaskKind = "multilabel" if name == "litcovid" else "multiclass"
    path = folder(name) / "predictions" / f"{system}.json.gz"
    gold_file = SourceFile(folder(name) / f"{version}.jsonl.gz", FileKind("jsonl", "gzip"))
    gold, problems = load_gold(gold_file, task=task, classes=read(folder(name) / "classes.json"))
    assert gold is not None, problems.to_dict()
    gold.void = frozenset(row["id"] for row in read(path)) - frozenset(gold.ids)
    return predicted_case(gold, SourceFile(path, FileKind("json", "gzip")), ReadingRules(scores="due"))


def soft_blocks(name: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for system, values in read(folder(name) / "expected.json")["systems"].items():
        if "soft" in values:
            yield system, "gold", values["soft"]
        for version in ("gold", "gold_corrected"):
            if "soft" in values.get(version, {}):
                yield system, version, values[version]["soft"]


@pytest.mark.parametrize("name", SOFT)
def test_values_of_scores_are_those_of_the_oracle(name: str) -> None:
    soft, compared = rules()["soft"], 0
    for system, version, expected in soft_blocks(name):
        of = scored(name, system, version)
        wanted = {text: expected[key] for key, text in soft["renamed"].items() if key in expected}
        wanted |= {f"auc:label={name}": value for name, value in expected.get("roc_auc_per_class", {}).items()}
        found = results(of, list(wanted), ORACLE)
        for text, number in wanted.items():
            tolerance = APART.get(text, soft["tolerance"])
            assert found[text].value == pytest.approx(number, abs=tolerance, rel=0), (system, version, text)
        compared += len(wanted)
    assert compared >= SOFT[name]


def tree_values(name: str, block: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Metric strings, the values expected for them, and the tolerance."""
    keys = rules()["hierarchical"]
    exact, coarse = keys["tolerance"], keys["tolerance_hemkit"]
    root = ",exclude_root=true" if "root_excluded" in block else ""
    measures = (("hP", "precision"), ("hR", "recall"), ("hF", "f1"))
    for short, measure in measures:
        for section, setting in (
            ("micro", "pooled=true"),
            ("mean_over_instances", "pooled=false"),
            ("mean_over_non_empty_instances_root_counted", "count_root=true,one_empty=skip"),
        ):
            if short in block.get(section, {}):
                yield f"hierarchical_{measure}:{setting}{root}", block[section][short], exact
        if "hemkit" in block:
            yield f"hierarchical_{measure}:count_root=true,one_empty=skip", block["hemkit"][short], coarse
            lca = f"lca_{measure}:count_root=true,links=hemkit,redundant=remove,one_empty=skip"
            yield lca, block["hemkit"][f"lca_{short[1]}"], coarse


@pytest.mark.parametrize("name", TREES)
def test_values_in_hierarchies_are_those_of_the_oracle(name: str) -> None:
    compared = 0
    parents = GOLD_METADATA_KINDS["hierarchy"].parse(read(folder(name) / "hierarchy.json"))
    for system, values in read(folder(name) / "expected.json")["systems"].items():
        of = loaded(name, system, "gold")
        of = replace(of, spec=replace(of.spec, hierarchy=Hierarchy.from_parents(parents)))
        wanted = list(tree_values(name, values.get("hierarchical") or values["gold"]["hierarchical"]))
        found = results(of, [text for text, _, _ in wanted], ORACLE)
        for text, number, tolerance in wanted:
            assert found[text].value == pytest.approx(number, abs=tolerance, rel=0), (system, text)
        compared += len(wanted)
    assert compared >= TREES[name]


def test_the_preset_of_hemkit_gives_its_values() -> None:
    name = "germeval2019-blurbs-b"
    parents = GOLD_METADATA_KINDS["hierarchy"].parse(read(folder(name) / "hierarchy.json"))
    for system, values in read(folder(name) / "expected.json")["systems"].items():
        expected = values["hierarchical"]["hemkit"]
        of = loaded(name, system, "gold")
        of = replace(of, spec=replace(of.spec, hierarchy=Hierarchy.from_parents(parents)))
        for short, key in (("hF", "hierarchical_f1"), ("lca_F", "lca_f1"), ("lca_P", "lca_precision")):
            found = results(of, [key], {"preset": "hemkit"})[key]
            assert found.value == pytest.approx(expected[short], abs=1e-5, rel=0), (system, key)


def test_acceptable_answers_of_imagenet() -> None:
    name = "imagenet-real"
    [(system, values)] = read(folder(name) / "expected.json")["systems"].items()
    real = values["gold_real"]
    gold_file = SourceFile(folder(name) / "gold_real.jsonl.gz", FileKind("jsonl", "gzip"))
    gold, problems = load_gold(gold_file, task="multiclass", classes=read(folder(name) / "classes.json"))
    assert gold is not None, problems.to_dict()
    assert len(gold.ids) == real["n"]
    predictions = SourceFile(folder(name) / "predictions" / f"{system}.json.gz", FileKind("json", "gzip"))
    found = results(predicted_case(gold, predictions, ReadingRules()), ["accuracy", "f1_macro"])
    assert found["accuracy"].value == pytest.approx(real["real_accuracy"], abs=1e-11, rel=0)
    assert found["f1_macro"].value is None


@pytest.mark.parametrize("name", ["germeval2019-blurbs-a", "germeval2019-blurbs-b"])
def test_published_scores_of_the_blurbs(name: str) -> None:
    for system, values in read(folder(name) / "expected.json")["systems"].items():
        if "published_micro_f1" in values:
            of = loaded(name, system, "gold")
            found = results(of, [rules()["official"][name]], ORACLE)[rules()["official"][name]]
            assert found.value == pytest.approx(values["published_micro_f1"], abs=1e-11, rel=0)
