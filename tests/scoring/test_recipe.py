"""Recipes: completed with defaults, or refused with every fault at once."""

from typing import Any

import pytest

from app.errors import InvalidRecipe
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.declaration.task import TaskKind
from tests.each_case import for_each


def test_only_f_beta_has_names_of_its_own_for_a_beta() -> None:
    metrics = [f"alpha_score:alpha=1,beta={beta},gamma=1" for beta in ("0.5", "1", "2e-1")]
    recipe = parse_recipe({"primary": metrics[0], "metrics": metrics}, "multilabel")
    assert [call.params["beta"] for call in recipe.metrics] == ["0.5", "1", "0.2"]


def texts(recipe: ScoringRecipe) -> list[str]:
    return [call.text for call in recipe.metrics]


def faults(body: dict[str, Any], **more: Any) -> dict[str, str]:
    with pytest.raises(InvalidRecipe) as refused:
        parse_recipe(body, "multiclass", **more)
    return {fault["pointer"]: fault["detail"] for fault in refused.value.extra["errors"]}


def test_the_least_recipe_has_defaults() -> None:
    recipe = parse_recipe({"primary": "f1_macro"}, "multiclass")
    assert (recipe.primary, texts(recipe)) == ("f1_macro", ["f1_macro"])
    assert (recipe.selection, recipe.digits, recipe.decision) == ("best", 6, None)


def test_the_primary_comes_first_unless_listed_and_tie_breakers_are_added() -> None:
    body = {"primary": "f1_macro", "metrics": ["accuracy"], "tie_breakers": ["mcc", "accuracy"]}
    assert texts(parse_recipe(body, "multiclass")) == ["f1_macro", "accuracy", "mcc"]
    body = {"primary": "f1_macro", "metrics": ["accuracy", "f1_macro"]}
    assert texts(parse_recipe(body, "multiclass")) == ["accuracy", "f1_macro"]


def test_the_whole_recipe_is_understood() -> None:
    recipe = parse_recipe(
        {
            "primary": {"key": "f1_macro", "options": {"exclude_labels": ["none"]}, "name": "official"},
            "metrics": ["f1_macro", {"key": "f_beta_macro", "params": {"beta": 2}}],
            "tie_breakers": ["accuracy"],
            "options": {"zero_division": 0},
            "selection": "latest",
            "decision": "argmax",
            "disclosure": {"digits": "full"},
        },
        "multiclass",
        classes=["favor", "against", "none"],
    )
    assert texts(recipe) == ["f1_macro:exclude_labels=none", "f1_macro", "f_beta_macro:beta=2", "accuracy"]
    assert recipe.metrics[0].title == "official"
    assert all(call.options["zero_division"] == "0" for call in recipe.metrics)
    assert recipe.options == {"zero_division": "0"}
    assert (recipe.selection, recipe.digits, recipe.decision) == ("latest", None, {"rule": "argmax"})
    assert recipe.call("accuracy") is recipe.metrics[3]


def test_every_fault_is_told_at_once_with_its_pointer() -> None:
    found = faults(
        {
            "primary": "f1_makro",
            "metrics": ["accuracy", "acuracy", 7, "accuracy:zero_division=0", "f1_samples"],
            "tie_breakers": "mcc",
            "options": {"zero_devision": 0, "label_set": "all", "a/b": 1},
            "selection": "worst",
            "decision": 3,
            "disclosure": {"digits": 18, "digit": 1},
            "metric": [],
        }
    )
    assert set(found) == {
        "/primary", "/metrics/1", "/metrics/2", "/metrics/3", "/metrics/4", "/tie_breakers",
        "/options/zero_devision", "/options/label_set", "/options/a~1b", "/selection", "/decision",
        "/disclosure/digits", "/disclosure/digit", "/metric",
    }  # fmt: skip
    assert "already listed" in found["/metrics/3"]
    assert "did you mean zero_division" in found["/options/zero_devision"]
    assert "did you mean metrics" in found["/metric"]


@for_each("digits", [0, 18, 2.5, True, "six", None])
def test_digits_are_1_to_17_or_full(digits: Any) -> None:
    assert set(faults({"primary": "f1_macro", "disclosure": {"digits": digits}})) == {"/disclosure/digits"}


def test_other_shapes_are_faults_too() -> None:
    assert set(faults({})) == {"/primary"}
    assert set(faults({"primary": None, "metrics": "mcc", "options": [], "disclosure": 6})) == {
        "/primary",
        "/metrics",
        "/options",
        "/disclosure",
    }
    assert set(faults({"primary": "f1_macro", "tie_breakers": ["f1_macro"]})) == {"/tie_breakers"}
    assert set(faults({"primary": "f1_macro", "options": {"exclude_labels": ["x"]}}, classes=["a"])) == {
        "/options/exclude_labels"
    }


def test_a_binary_task_needs_its_positive_label() -> None:
    with pytest.raises(InvalidRecipe) as refused:
        parse_recipe({"primary": "f1"}, "binary")
    assert "positive_label" in refused.value.extra["errors"][0]["detail"]
    assert parse_recipe({"primary": "f1"}, "binary", positive_label="yes").primary == "f1"


@for_each(
    "task, recipe, pointer",
    [
        ("multiclass", {"primary": "f1_macro", "tie_breakers": ["f_beta_macro:beta=1"]}, "/tie_breakers/0"),
        ("multiclass", {"primary": "f_beta_macro:beta=1", "metrics": ["f1_macro", "accuracy"]}, "/metrics/0"),
        ("multiclass", {"primary": "f_beta_macro:beta=1", "metrics": ["f_beta_macro:beta=1", "f1_macro"]}, "/metrics/1"),
        ("multiclass", {"primary": "accuracy", "metrics": ["f2_micro"], "tie_breakers": ["f_beta_micro:beta=2"]}, "/tie_breakers/0"),
        ("binary", {"primary": "f1", "metrics": ["f1", "f1:label=yes"]}, "/metrics/1"),
        ("multiclass", {"primary": "f1_macro", "metrics": ["f1_macro:exclude_labels=none"]}, "/metrics/0"),
    ],
)  # fmt: skip
def test_one_metric_has_one_name_in_a_recipe(task: TaskKind, recipe: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRecipe) as refused:
        parse_recipe(recipe, task, positive_label="yes" if task == "binary" else None, classes=["yes", "no"])
    assert [fault["pointer"] for fault in refused.value.extra["errors"]] == [pointer]
    assert "is the same metric as" in refused.value.extra["errors"][0]["detail"]
    kept = parse_recipe(
        recipe, task, positive_label="yes" if task == "binary" else None, classes=["yes", "no"], stored=True
    )
    assert kept.primary == recipe["primary"]  # what was accepted once goes on being read


@for_each("digits", [1, 17])
def test_the_bounds_of_digits_are_allowed(digits: int) -> None:
    assert parse_recipe({"primary": "f1_macro", "disclosure": {"digits": digits}}, "multiclass").digits == digits
