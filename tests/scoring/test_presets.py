"""Presets and settings: for all metrics, for some keys, and overridden by a metric string."""

import pytest

from app.errors import InvalidMetric
from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric, parse_shared_options, setting_declarations
from app.scoring.declaration.options import OPTIONS
from tests.each_case import for_each
from tests.scoring.case_builder import case, value


@for_each("name", PRESETS)
def test_every_option_of_a_preset_is_one_that_there_is(name: str) -> None:
    preset = PRESETS[name]
    for options in (preset.options, *(own for _, own in preset.by_key)):
        assert parse_shared_options(options) == dict(options)
        assert all(option in OPTIONS or setting_declarations(option) for option in options)
    for pattern, _ in preset.by_key:
        assert any(preset.for_key(key) != dict(preset.options) for key in CATALOGUE), pattern
    for key in CATALOGUE:
        metric = CATALOGUE[key]
        if not any(param.default is None and param.required_for for param in metric.params):
            parse_metric(key, options={"preset": name})


def test_a_preset_is_one_of_the_options_and_the_others_stand_over_it() -> None:
    under = parse_metric("f1_macro", options={"preset": "sklearn"})
    assert (under.options["label_set"], under.options["zero_division"], under.text) == (
        "gold_or_predicted",
        "0",
        "f1_macro",
    )
    mixed = parse_metric("f1_macro", options={"preset": "sklearn", "label_set": "gold"})
    assert (mixed.options["label_set"], mixed.options["zero_division"]) == ("gold", "0")
    own = parse_metric("f1_macro:label_set=declared", options={"preset": "sklearn"})
    assert own.text == "f1_macro:label_set=declared"


def test_a_preset_may_treat_metrics_differently() -> None:
    shared = {"preset": "bioasq"}
    sets = {
        key: parse_metric(key, options=shared).options["label_set"]
        for key in ("precision_macro", "recall_macro", "f1_macro")
    }
    assert sets == {"precision_macro": "predicted", "recall_macro": "gold", "f1_macro": "gold"}


def test_the_macro_f_of_bioasq_is_no_other_measure_with_f_and_macro() -> None:
    assert PRESETS["bioasq"].options.get("label_set") is None
    measures = {key for key in CATALOGUE if PRESETS["bioasq"].for_key(key).get("label_set") == "gold"}
    short = {f"{key}_macro" for key in ("f1", "f0_5", "f2", "f_beta")}
    assert "label_set" not in PRESETS["bioasq"].for_key("fdr_macro")
    assert measures == {"recall_macro", *short, *(f"{key}_top_k" for key in short)}


def test_a_preset_reproduces_its_tool() -> None:
    # BioASQ's scorer: the divisor of macro precision counts predicted labels, those of recall and F gold labels
    of = case("multilabel", ["a", "b", "c"], [["a"], ["a", "b"]], [["a", "c"], ["b"]])
    assert value(of, "precision_macro", preset="bioasq") == pytest.approx(2 / 3)
    assert value(of, "recall_macro", preset="bioasq") == pytest.approx(3 / 4)
    assert value(of, "f1_macro", preset="bioasq") == pytest.approx((2 / 3 + 1) / 2)


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidMetric, match="did you mean sklearn"):
        parse_metric("f1_macro", options={"preset": "scikitlearn"})


def test_an_unknown_option_is_refused_and_a_setting_of_others_ignored() -> None:
    with pytest.raises(InvalidMetric, match="no option 'zero_divison'"):
        parse_metric("f1_macro", options={"zero_divison": "0"})
    assert parse_metric("f1_macro", options={"ties": "last"}).text == "f1_macro"
    assert parse_metric("f1_macro:ties=last").text == "f1_macro"
    with pytest.raises(InvalidMetric, match="'ties' must be one of"):
        parse_metric("f1_macro", options={"ties": "sometimes"})
    with pytest.raises(InvalidMetric, match="has no parameter or option 'k'"):
        parse_metric("f1_macro:k=3")


def test_settings_stand_in_the_canonical_string_where_they_differ() -> None:
    assert parse_metric("auc:ties=half").text == "auc"
    assert parse_metric("auc:ties=full").text == "auc:ties=full"
    assert parse_metric("auc", options={"ties": "full"}).text == "auc"
    assert parse_metric("auc", options={"ties": "full"}).params["ties"] == "full"
    assert parse_metric("auc:ties=half", options={"ties": "full"}).text == "auc:ties=half"
    # a value that the metric does not know concerns others
    assert parse_metric("auc", options={"ties": "last"}).params["ties"] == "half"
    assert parse_metric("top_k_accuracy:k=2", options={"ties": "last"}).params["ties"] == "last"
    assert parse_metric("ece:bins=10").text == "ece:bins=10"
    with pytest.raises(InvalidMetric, match="whole number"):
        parse_metric("ece:bins=2.5")
