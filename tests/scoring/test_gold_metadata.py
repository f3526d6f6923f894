"""What stands beside gold: read in canonical form, with every fault named and pointed to."""

import json
from typing import Any

import pytest

from app.errors import InvalidContent, InvalidRequest
from app.scoring.declaration.gold_metadata import (
    GOLD_METADATA_KINDS,
    MAX_FOLDS,
    build_grouping,
    build_task_spec,
    build_unknown_cells,
    check_metadata_labels,
)
from tests.each_case import for_each
from tests.scoring.case_builder import labels


def parse(name: str, value: Any) -> Any:
    return GOLD_METADATA_KINDS[name].parse(value)


@for_each(
    "name, value, canonical",
    [
        ("train-frequencies", {"cafe\u0301": 3, "b": 0}, {"caf\u00e9": 3, "b": 0}),
        ("class-weights", {"a": 0, "b": 0.1}, {"a": 0, "b": 0.1}),
        ("cost-matrix", {"a": {"b": -1.5}, "b": {}}, {"a": {"b": -1.5}, "b": {}}),
        ("hierarchy", {"parents": {"a": ["r"]}, "about": "ignored"}, {"a": ["r"]}),
        ("hierarchy", {"parent": {"a": "r", "b": "r"}}, {"a": ["r"], "b": ["r"]}),
        ("hierarchy", {"parent": {"a": "r", "r": None}}, {"a": ["r"], "r": []}),
        ("folds", {"t1": 1, "t2": "second"}, {"t1": "1", "t2": "second"}),
        ("groups", {"t1": "Ada"}, {"t1": "Ada"}),
        ("unknown-cells", {"t1": ["cafe\u0301", "a"]}, {"t1": ["caf\u00e9", "a"]}),
    ],
)
def test_an_accessory_is_kept_in_canonical_form(name: str, value: Any, canonical: Any) -> None:
    assert parse(name, value) == canonical
    shape = {"parents": canonical} if name == "hierarchy" else canonical
    assert parse(name, shape) == canonical


@for_each(
    "name, value, pointer",
    [
        ("train-frequencies", {"a": 1.0}, "/a"),
        ("train-frequencies", {"a": -1}, "/a"),
        ("train-frequencies", {"a/b": True}, "/a~1b"),
        ("class-weights", {"a": 1, "b": "2"}, "/b"),
        ("class-weights", {"a": 1e-13}, "/a"),
        ("cost-matrix", {"a": {"b": "x"}}, "/a/b"),
        ("cost-matrix", {"a": {"b": float("inf")}}, "/a/b"),
        ("cost-matrix", {"a": [1]}, "/a"),
        ("folds", {"t1": 1.5}, "/t1"),
        ("folds", {"t1": ""}, "/t1"),
        ("unknown-cells", {"t1": []}, "/t1"),
        ("unknown-cells", {"t1": "a"}, "/t1"),
        ("unknown-cells", {"t1": ["a", ""]}, "/t1"),
        ("unknown-cells", {"t1": ["a"], "t2": ["cafe\u0301", "caf\u00e9"]}, "/t2"),
    ],
)
def test_a_fault_is_pointed_to(name: str, value: Any, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(name, value)
    assert refused.value.extra["errors"][0]["pointer"] == pointer
    assert pointer in refused.value.detail


@for_each("name", GOLD_METADATA_KINDS)
@for_each("value", [{}, [], None, "x", 3])
def test_what_is_no_table_is_refused_with_an_example(name: str, value: Any) -> None:
    with pytest.raises(InvalidContent) as refused:
        parse(name, value)
    assert GOLD_METADATA_KINDS[name].shape in refused.value.advice


def test_class_weights_that_are_all_0_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="All class weights are 0"):
        parse("class-weights", {"a": 0, "b": 0.0})


def test_a_cycle_is_refused_with_its_path() -> None:
    with pytest.raises(InvalidContent, match="a -> b -> a"):
        parse("hierarchy", {"parents": {"a": ["b"], "b": ["a"]}})


def test_two_spellings_of_one_key_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="NFC"):
        parse("folds", {"cafe\u0301": "1", "caf\u00e9": "2"})


@for_each(
    "name, value",
    [
        ("train-frequencies", {"a": 1, "z": 2}),
        ("class-weights", {"z": 2}),
        ("cost-matrix", {"a": {"z": 1}}),
        ("unknown-cells", {"t1": ["z"]}),
    ],
)
def test_labels_outside_the_vocabulary_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match="'z'"):
        check_metadata_labels(GOLD_METADATA_KINDS[name], value, ["a", "b"])
    check_metadata_labels(GOLD_METADATA_KINDS[name], value, ["a", "z"])


def test_a_class_that_is_no_node_is_refused_with_the_way_to_mend_it() -> None:
    hierarchy = GOLD_METADATA_KINDS["hierarchy"]
    with pytest.raises(InvalidRequest, match="'other'") as refused:
        check_metadata_labels(hierarchy, {"abuse": ["offense"]}, ["abuse", "other"])
    assert "root" in refused.value.advice
    check_metadata_labels(hierarchy, {"abuse": ["offense"], "offense": [], "other": []}, ["abuse", "other"])


def test_there_are_at_most_so_many_folds_and_any_number_of_groups() -> None:
    names = {f"t{at}": at for at in range(MAX_FOLDS)}
    assert len(parse("folds", names | {"more": 0})) == MAX_FOLDS + 1
    assert len(parse("groups", names | {"more": -1})) == MAX_FOLDS + 1
    with pytest.raises(InvalidRequest, match="1001 different names; at most 1000") as refused:
        parse("folds", names | {"more": -1})
    assert "the name of its part" in str(refused.value.advice)


def follow_advice(form: str, given: dict[str, Any], advice: str) -> dict[str, Any]:
    """The hierarchy with the roots that the advice lists, added as it says."""
    roots = json.loads("{" + advice.partition("other nodes: ")[2].partition(" (null")[0] + "}")
    return {form: given | {name: None if form == "parent" else [] for name in roots}}


@for_each(
    "form, given",
    [("parents", {"abuse": ["offense"], "insult": ["offense"]}), ("parent", {"abuse": "offense", "insult": "offense"})],
)
@for_each("strange", ['other "x"', "übel, sehr"])
def test_the_remedy_for_a_missing_node_works_when_followed_literally(
    form: str, given: dict[str, Any], strange: str
) -> None:
    hierarchy, classes = GOLD_METADATA_KINDS["hierarchy"], ["abuse", "insult", strange]
    with pytest.raises(InvalidRequest) as refused:
        check_metadata_labels(hierarchy, hierarchy.parse({form: given}), classes)
    mended = hierarchy.parse(follow_advice(form, given, refused.value.advice))
    check_metadata_labels(hierarchy, mended, classes)
    assert set(mended) == {*given, "offense", strange}


def test_both_forms_of_a_hierarchy_at_once_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="both"):
        parse("hierarchy", {"parents": {"a": ["r"]}, "parent": {"a": "r"}})


def test_ids_of_folds_are_no_labels() -> None:
    check_metadata_labels(GOLD_METADATA_KINDS["folds"], {"t1": "1"}, ["a"])


def test_instances_are_divided_in_the_order_of_the_gold() -> None:
    found = build_grouping({"t3": "x", "t1": "y", "t2": "x", "beyond": "z"}, "folds", ["t1", "t2", "t3"])
    assert found is not None
    assert (found.names, found.codes.tolist()) == (("y", "x"), [0, 1, 1])
    assert build_grouping(None, "folds", ["t1"]) is None
    with pytest.raises(InvalidContent, match="lack 1 ids"):
        build_grouping({"t1": "1"}, "folds", ["t1", "t2"])


def test_a_task_holds_what_stands_beside_the_gold() -> None:
    spec = build_task_spec("multiclass", ("a", "b"), None, {"hierarchy": {"a": ["r"]}, "cost_matrix": {"a": {"b": 2}}})
    assert spec.hierarchy is not None
    assert spec.hierarchy.parents_of("a") == ("r",)
    assert (spec.cost_matrix, spec.train_frequencies) == ({"a": {"b": 2}}, None)


def test_unknown_cells_stand_in_the_order_of_the_ids_and_of_the_classes() -> None:
    spec = build_task_spec("multilabel", ("a", "b", "c"), None, {})
    gold = labels([["a"], [], ["b"]], spec.classes, multilabel=True)
    cells = {"t3": ["c", "a"], "void": ["b"], "t1": ["b"]}
    unknown = build_unknown_cells(cells, spec, ["t1", "t2", "t3"], gold, {"void"})
    assert unknown is not None
    assert unknown.offsets is not None
    assert (unknown.codes.tolist(), unknown.offsets.tolist()) == ([1, 0, 2], [0, 1, 1, 3])
    assert build_unknown_cells({"void": ["b"]}, spec, ["t1", "t2", "t3"], gold, {"void"}) is None
    for wrong, says in (
        ({"t9": ["a"]}, "t9"),
        ({"t1": ["z"]}, "'z'"),
        ({"t2": ["a"], "t1": ["b", "a"]}, "'a' of 't1'"),
    ):
        with pytest.raises(InvalidContent, match=says):
            build_unknown_cells(wrong, spec, ["t1", "t2", "t3"], gold, ())
    single = build_task_spec("multiclass", ("a", "b", "c"), None, {})
    with pytest.raises(InvalidContent, match="Only multi-label gold"):
        build_unknown_cells({"t1": ["b"]}, single, ["t1"], labels(["a"], single.classes, multilabel=False), ())
