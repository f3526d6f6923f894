"""assay metrics: the list with its filters, one metric with the choices of a metric string, and the presets."""

import json
from pathlib import Path

import pytest

from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.metrics import FAMILIES
from tests.cli.run_command import run_assay


def keys(*words: str) -> list[str]:
    return [one["key"] for one in run_assay("metrics", *words, "--json").value()]


def test_the_list_is_grouped_by_family_with_every_key_once() -> None:
    lines = run_assay("metrics").out.splitlines()
    first = [line.split()[0] for line in lines if line.startswith("  ")]
    assert first == list(CATALOGUE)
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles[:-1] == [family.title for family in FAMILIES]
    assert titles[-1].startswith(f"{len(CATALOGUE)} metrics. assay metrics KEY explains one")


def test_the_list_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run_assay("metrics").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line[:2] == "  " and line[2] != " "] == list(CATALOGUE)


def test_filters_choose_and_all_must_hold() -> None:
    assert keys("--task", "multilabel") == [key for key, one in CATALOGUE.items() if "multilabel" in one.tasks]
    assert "log_loss" in keys("--needs", "scores")
    both = keys("--needs", "scores", "--needs", "probabilities")
    assert both == [key for key, one in CATALOGUE.items() if {"scores", "probabilities"} <= set(one.needs)]
    assert keys("--search", "gorodkin") == ["mcc"]
    assert keys("--search", "MACRO kappa") == []
    assert keys("--search", "brier", "--task", "binary") == [
        key for key in keys("--search", "brier") if key in keys("--task", "binary")
    ]
    assert keys() == list(CATALOGUE)
    shown = run_assay("metrics", "--search", "gorodkin").out
    assert "mcc" in shown
    assert "1 metric." in shown
    assert "f1_macro" not in shown


def test_a_metric_string_shows_the_equation_as_it_is_used() -> None:
    shown = run_assay("metrics", "f1_macro:label_set=gold").out
    for part in (
        "f1_macro:label_set=gold (macro F1)",
        "1/|L| ∑_{j∈L} 2 TP_j/(2 TP_j + FP_j + FN_j), 0/0 := 0",
        r"\frac{1}{|L|}\sum_{j\in L}",
        "the labels that enter the average",
        "▸ gold",
        "declared (default)",
        "73/126 = 0.579365",
    ):
        assert part in shown
    one = run_assay("metrics", "f_beta_macro:beta=.50,zero_division=skip", "--json").value()
    assert (one["key"], one["metric"]) == ("f_beta_macro:beta=0.5,zero_division=skip", "f_beta_macro")
    assert [param["value"] for param in one["params"]] == ["0.5"]
    assert next(option["value"] for option in one["options"] if option["name"] == "zero_division") == "skip"
    assert any(sentence.startswith("zero_division=skip: ") for sentence in one["conventions"])


def test_a_key_that_needs_a_parameter_is_shown_without_one() -> None:
    shown = run_assay("metrics", "f_beta_macro").out
    assert "(1 + β²) TP_j" in shown
    assert "beta=…  how many times as important recall is as precision (a number from 0 to 1,000,000; required" in shown


def test_what_is_wrong_in_a_metric_string_is_named() -> None:
    assert "'beta' must be a number, not 'x'" in run_assay("metrics", "f_beta_macro:beta=x").err
    assert "did you mean gold" in run_assay("metrics", "f1_macro:label_set=gould").err
    assert "did you mean f1_macro" in run_assay("metrics", "macro_f1:label_set=gold").err
    assert run_assay("metrics", "f1_macro:label_set=gould").status == 1


def test_a_metric_is_shown_under_a_preset() -> None:
    shown = run_assay("metrics", "f1_macro", "--preset", "bioasq").out
    assert "1/|L| ∑_{j∈L}" in shown
    assert ":=" not in shown.partition("LaTeX")[0]
    one = run_assay("metrics", "f1_macro:label_set=predicted", "--preset", "bioasq", "--json").value()
    values = {option["name"]: option["value"] for option in one["options"]}
    assert (values["label_set"], values["zero_division"]) == ("predicted", "skip")


def test_the_presets_are_listed_with_all_that_they_set() -> None:
    every = run_assay("metrics", "--presets", "--json").value()
    assert [one["name"] for one in every] == list(PRESETS)
    shown = run_assay("metrics", "--presets").out
    for preset in PRESETS.values():
        for name, value in preset.options.items():
            assert f"{name}={value}" in shown
        assert preset.remark.split(",")[0] in shown
    alone = run_assay("metrics", "--preset", "bioasq").out
    assert "recall_macro" in alone
    assert "label_set=gold" in alone
    assert "hemkit" not in alone
    assert run_assay("metrics", "--preset", "bioasq", "--json").value() == every[list(PRESETS).index("bioasq")]
    unknown = run_assay("metrics", "--preset", "bioask")
    assert (unknown.status, unknown.out) == (1, "")
    assert "bioasq" in unknown.err


def test_a_metric_of_any_family_is_shown() -> None:
    wrong = []
    for key in (key for family in FAMILIES for key in dict.fromkeys((family.keys[0], family.keys[-1]))):
        ran = run_assay("metrics", key)
        if ran.status or not ran.out.startswith(f"{key} ({CATALOGUE[key].name})") or "Example" not in ran.out:
            wrong.append((key, ran))
    assert wrong == []


@pytest.mark.parametrize(
    "words",
    [
        ["f1_macro", "--task", "binary"],
        ["--preset", "bioasq", "--search", "f1"],
        ["--presets", "f1_macro"],
        ["--needs", "everything"],
        ["--task", "regression"],
    ],
    ids=" ".join,
)
def test_what_does_not_go_together_is_wrong_usage(words: list[str]) -> None:
    assert run_assay("metrics", *words).status == 2


def test_a_metric_is_the_same_alone_as_in_the_list() -> None:
    one = run_assay("metrics", "f1_macro", "--json").value()
    assert one in run_assay("metrics", "--json").value()
    shown = run_assay("metrics", "f1_macro").out
    for part in (one["equation"]["latex"], one["source"], *(option["name"] for option in one["options"])):
        assert part in shown


def test_an_unknown_metric_is_refused_with_a_suggestion() -> None:
    ran = run_assay("metrics", "f1_makro")
    assert (ran.status, ran.out) == (1, "")
    assert "f1_macro" in ran.err
    assert run_assay("metrics", "f1_makro", "--json").value()["code"] == "invalid_metric"


def test_the_worked_example_of_the_catalogue_comes_out_of_assay_score(tmp_path: Path) -> None:
    example = run_assay("metrics", "f1_macro", "--json").value()["example"]
    ids = [str(number) for number in range(len(example["gold"]))]
    files = {"gold": dict(zip(ids, example["gold"], strict=True))}
    files |= {"mine": dict(zip(ids, example["predicted"], strict=True)), "classes": example["classes"]}
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    words = ("--predictions", tmp_path / "mine.json", "--classes", tmp_path / "classes.json", "--metric", "f1_macro")
    found = run_assay("score", "--gold", tmp_path / "gold.json", *words, "--json").value()["metrics"]["f1_macro"]
    above, below = map(int, example["value"].split("/"))
    assert found == above / below
