"""Settings and presets tell all that they set and whom it concerns; families hold every metric once."""

import sys
from itertools import chain
from pathlib import Path

import pytest

from app.scoring import metrics
from app.scoring.catalogue.description import describe_metric, presets_of
from app.scoring.catalogue.settings_description import (
    all_settings,
    describe_accepted_values,
    describe_bounds,
    describe_preset,
)
from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.metrics import FAMILIES, FAMILY_BY_KEY
from tests.each_case import for_each


def test_every_metric_is_of_one_family_in_the_order_of_the_catalogue() -> None:
    assert list(chain.from_iterable(family.keys for family in FAMILIES)) == list(CATALOGUE)
    assert (FAMILY_BY_KEY["f1_macro"].name, FAMILY_BY_KEY["mcc"].name) == ("one_class", "agreement")
    assert len({family.title for family in FAMILIES}) == len(FAMILIES)
    for family in FAMILIES:
        assert family.meaning.endswith("."), family.name
        assert describe_metric(CATALOGUE[family.keys[0]])["family"] == family.title


def test_no_module_of_metrics_is_forgotten() -> None:
    assert metrics.__file__ is not None
    paths = Path(metrics.__file__).parent.glob("*.py")
    assert [path.stem for path in paths if f"{metrics.__name__}.{path.stem}" not in sys.modules] == ["__init__"]


def test_a_family_that_was_imported_too_early_is_refused() -> None:
    assert "app.scoring.metrics.labels.whole_task" in sys.modules
    with pytest.raises(ImportError, match=r"was imported by a family listed before it"):
        list(metrics._import_families())


def test_every_setting_is_listed_with_the_metrics_that_have_it() -> None:
    found = {(name, key) for name, declared in all_settings().items() for keys in declared.values() for key in keys}
    assert found == {
        (param.name, metric.key)
        for metric in CATALOGUE.values()
        for param in metric.params
        if param.default is not None
    }


@for_each("name", PRESETS)
def test_a_preset_tells_every_option_for_the_keys_that_it_concerns(name: str) -> None:
    shown = describe_preset(PRESETS[name])
    for metric in CATALOGUE.values():
        values = {one["name"]: one["value"] for one in shown["options"]}
        for some in shown["by_key"]:
            if metric.key in some["keys"]:
                values |= {one["name"]: one["value"] for one in some["options"]}
        known = {*metric.options, *(param.name for param in metric.params)}
        meant = {option: value for option, value in values.items() if option in known}
        assert {
            option: value for option, value in PRESETS[name].for_key(metric.key).items() if option in known
        } == meant
        own = [one["options"] for one in presets_of(metric) if one["name"] == name]
        assert own == ([meant] if meant else [])


def test_bounds_are_told_in_words() -> None:
    assert [describe_bounds(bounds) for bounds in ((0, 1), (0, None), (None, 1), (None, None), (-0.5, 1e6))] == [
        "0 to 1",
        "from 0",
        "up to 1",
        "any number",
        "-0.5 to 1,000,000",
    ]
    whole = {"kind": "whole", "bounds": [1, None], "default": "15", "required_for": []}
    assert describe_accepted_values(whole) == "a whole number from 1; default 15"
    label = {"kind": "label", "bounds": None, "default": None, "required_for": ["multiclass"]}
    assert describe_accepted_values(label | {"required_for": []}) == "a label; optional"
    assert describe_accepted_values(label) == "a label; required for multiclass"
