"""Metric strings: one canonical form, and errors that suggest the probable intention."""

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from app.errors import InvalidMetric
from app.scoring.declaration.metric import CATALOGUE, Param
from app.scoring.declaration.metric_parser import METRIC_KEY_ALIASES, find_metric, parse_metric
from app.scoring.declaration.metric_syntax import canonical_number
from app.scoring.declaration.options import OPTIONS, join_labels, split_labels
from tests.each_case import for_each
from tests.scoring.strategies import METRIC_TASK_PAIRS


@for_each(
    "metric, canonical",
    [
        ("f1_macro", "f1_macro"),
        ("f_beta_macro:beta=0.50", "f_beta_macro:beta=0.5"),
        ("f_beta_macro:beta=2.0", "f_beta_macro:beta=2"),
        ("f_beta_macro:beta=1e1", "f_beta_macro:beta=10"),
        ("f_beta_macro:beta=0.00001", "f_beta_macro:beta=1e-5"),
        ("f_beta:zero_division=0,label=x,beta=3", "f_beta:beta=3,label=x,zero_division=0"),
        ("f1_macro:zero_division=skip,label_set=gold", "f1_macro:label_set=gold,zero_division=skip"),
        ("f1_macro:zero_division=worst", "f1_macro"),
        ("accuracy:zero_division=0", "accuracy"),
        ("f1_micro:label_set=gold", "f1_micro"),
        ("f1_macro:exclude_labels=b|a|b", "f1_macro:exclude_labels=a|b"),
        ("f1_macro:exclude_labels=", "f1_macro"),
        ("f1_macro:exclude_labels=a%7Cb|%2c", "f1_macro:exclude_labels=%2C|a%7Cb"),
        ("f1:label=a%2Cb%3D%3A%25%7c", "f1:label=a%2Cb%3D%3A%25%7C"),
        ("f1:label=%C3%BCbel", "f1:label=übel"),
        ("f1:label=u\N{COMBINING DIAERESIS}", "f1:label=ü"),
        ("threat_score", "jaccard"),
        ("threat_score:label=x", "jaccard:label=x"),
        ({"key": "threat_score_samples"}, "jaccard_samples"),
        (" f1_macro : zero_division=0", "f1_macro:zero_division=0"),
        ({"key": "f_beta_macro", "params": {"beta": 0.5}}, "f_beta_macro:beta=0.5"),
        ({"key": "f1_macro", "options": {"exclude_labels": ["none", "a|b"]}}, "f1_macro:exclude_labels=a%7Cb|none"),
        ({"key": "f1_macro", "options": {"zero_division": 0}}, "f1_macro:zero_division=0"),
        ({"key": "f1", "params": {"label": "50%"}, "name": "half"}, "f1:label=50%25"),
    ],
)
def test_the_canonical_form(metric: Any, canonical: str) -> None:
    call = parse_metric(metric)
    assert call.text == canonical
    assert parse_metric(call.text).text == canonical


@for_each("alias", METRIC_KEY_ALIASES)
def test_every_average_of_a_measure_is_found_by_its_other_name(alias: str) -> None:
    meant = [
        key for key in CATALOGUE if key == METRIC_KEY_ALIASES[alias] or key.startswith(f"{METRIC_KEY_ALIASES[alias]}_")
    ]
    assert len(meant) > 5
    for key in meant:
        other = alias + key.removeprefix(METRIC_KEY_ALIASES[alias])
        assert find_metric(other).key == key
        if not key.endswith("_top_k"):  # which need a k
            assert (parse_metric(other).text, parse_metric(other).requested) == (key, other)
        assert other not in CATALOGUE


def test_what_only_begins_like_another_name_is_no_metric() -> None:
    for wrong in ("threat_scores", "threat_score_nonsense", "threat"):
        with pytest.raises(InvalidMetric):
            find_metric(wrong)


def test_options_of_the_recipe_are_left_out_and_hold() -> None:
    shared = {"zero_division": "0", "exclude_labels": ["none"]}
    plain = parse_metric("f1_macro", options=shared)
    assert plain.text == "f1_macro"
    assert plain.options["zero_division"] == "0"
    assert plain.options["exclude_labels"] == "none"
    assert parse_metric("f1_macro:zero_division=0", options=shared).text == "f1_macro"
    back = parse_metric("f1_macro:zero_division=worst,exclude_labels=", options=shared)
    assert back.text == "f1_macro:exclude_labels=,zero_division=worst"
    assert back.options["exclude_labels"] == ""
    assert parse_metric(back.text, options=shared).text == back.text


@for_each(
    "metric, task, hint",
    [
        ("f1_makro", None, "f1_macro"),
        ("macro_f1", None, "f1_macro"),
        ("sensitivity", None, "recall"),
        ("sensitivity_macro", None, "recall_macro"),
        ("f1_macro:zero_devision=0", None, "zero_division"),
        ("f1_macro:zero_division=wurst", None, "worst"),
        ("f1_macro:beta=2", None, "f_beta_macro has"),
        ("f1_macro:zero_division", None, "name=value"),
        ("f1_macro:", None, "has no parameter"),
        ("f1_macro:zero_division=0,zero_division=1", None, "twice"),
        ("f1:label=a=b", None, "%XX"),
        ("f1:label=50%", None, "%XX"),
        ("f1:label=%FF", None, "UTF-8"),
        ("f1:label=", None, "must name a label"),
        ("f_beta_macro", None, "needs beta"),
        ("f_beta_macro:beta=two", None, "must be a number"),
        ("f_beta_macro:beta=-1", None, "from 0 to"),
        ("f_beta_macro:beta=nan", None, "must be a number"),
        ("f_beta_macro:beta=inf", None, "must be a number"),
        ("f_beta_macro:beta=1e-400", None, "too close to 0"),
        ("f_beta_macro:beta=1e400", None, "from 0 to"),
        ("f_beta_macro:beta=0.123456789012345678901", None, "digits"),
        ("accuracy", "multilabel", "subset_accuracy"),
        ("accuracy", "multilabel", "hamming_loss"),
        ("accuracy", "multilabel", "jaccard_samples"),
        ("f1_samples", "multiclass", "_micro"),
        ("subset_accuracy", "binary", "accuracy"),
        ("f1", "multiclass", "label="),
        ("f1", "multilabel", "f1_macro"),
        ({"params": {}}, None, "key"),
        ({"key": "f1_macro", "parms": {}}, None, "parms"),
        ({"key": "f1_macro", "options": {"zero_division": None}}, None, "string, a number"),
        ({"key": "f1_macro", "options": []}, None, None),
        ({"key": "f1_macro", "name": 3}, None, "name"),
    ],
)
def test_faults_are_refused_with_a_hint(metric: Any, task: Any, hint: str | None) -> None:
    if hint is None:
        assert parse_metric(metric).text == "f1_macro"
        return
    with pytest.raises(InvalidMetric) as refused:
        parse_metric(metric, task=task)
    assert hint in refused.value.detail


def test_a_number_without_bounds_is_neither_too_large_nor_too_near_to_0() -> None:
    assert canonical_number("x", "-1e17", None) == "-100000000000000000"
    with pytest.raises(InvalidMetric, match="too large"):
        canonical_number("x", "-1e18", None)
    with pytest.raises(InvalidMetric, match="too close to 0"):
        canonical_number("x", "-1e-18", None)


def test_labels_must_be_classes_where_these_are_known() -> None:
    classes = ["irony", "non_irony"]
    assert parse_metric("f1:label=irony", classes=classes).params == {"label": "irony"}
    for text in ("f1:label=ironi", "f1_macro:exclude_labels=ironi"):
        with pytest.raises(InvalidMetric, match="did you mean irony"):
            parse_metric(text, classes=classes)
    with pytest.raises(InvalidMetric, match="no class"):
        parse_metric("f1_macro:exclude_labels=irony|non_irony", classes=classes)


@given(st.lists(st.text(min_size=1, max_size=5), max_size=4))
def test_lists_of_labels_survive_the_string(labels: list[str]) -> None:
    assert split_labels(join_labels(labels)) == tuple(sorted(set(labels)))


def values_of(param: Param) -> st.SearchStrategy[Any]:
    """What may stand for a parameter."""
    low, high = (int(max(-100, min(100, end))) for end in param.bounds or (0, 100))
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "label": st.text(min_size=1, max_size=4),
        "choice": st.sampled_from(param.values or ("",)),
        "whole": st.integers(low, high),
        "number": st.decimals(low, high, places=4),
    }
    return kinds[param.kind]


@given(data=st.data(), pair=st.sampled_from(METRIC_TASK_PAIRS))
def test_canonical_strings_are_fixed_points(data: st.DataObject, pair: tuple[str, Any]) -> None:
    key, task = pair
    options = {name: data.draw(st.sampled_from(OPTIONS[name].values or ["x|y", ""])) for name in CATALOGUE[key].options}
    options.pop("score_direction", None)  # measures of probabilities take one of its values only
    metric = {
        "key": key,
        "params": {param.name: data.draw(values_of(param)) for param in CATALOGUE[key].params},
        "options": options,
    }
    try:
        call = parse_metric(metric, task=task)
    except InvalidMetric:
        assert CATALOGUE[key].check is not None  # its numbers are each within their bounds, and do not go together
        reject()
    again = parse_metric(call.text, task=task)
    assert (again.text, again.params, again.options) == (call.text, call.params, call.options)
