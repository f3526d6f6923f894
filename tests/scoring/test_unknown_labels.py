"""A label outside the vocabulary under count_as_fp: never better than no label, and a wrong one like any other."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.options import OPTIONS as OPTIONS_OF
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluate import Result, evaluate
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, value
from tests.scoring.strategies import calls, hierarchies

SOME = settings(max_examples=8, deadline=None)
OPTIONS = {"unknown_label": "count_as_fp", "missing": "empty_prediction"}
CLASSES = ("a", "b", "c")
WHOLE = (
    "accuracy", "error_rate", "hamming_loss", "hamming_score", "balanced_accuracy", "weighted_accuracy",
    "gmean_recall",
)  # fmt: skip
SETS = ("subset_accuracy", "zero_one_loss", "hamming_loss", "hamming_score")
POOLED = tuple(key for key, metric in CATALOGUE.items() if key.endswith("_micro") and metric.needs == ("labels",))
SAMPLES = tuple(key for key in CATALOGUE if key.endswith("_samples") and CATALOGUE[key].needs == ("labels",))


def values(of: EvaluationInput, options: Mapping[str, str]) -> dict[str, float]:
    """The values by key that there are of metrics with a best side."""
    wanted = [
        call for call in calls(of, {**OPTIONS, **options}) if call.metric.scalar and call.metric.direction != "none"
    ]
    found: dict[str, Result] = evaluate(of, wanted)
    return {call.metric.key: number for call in wanted if (number := found[call.text].value) is not None}


def better(key: str, one: float, other: float) -> bool:
    """Whether one value is better than another, by more than the rounding of a sum of logarithms."""
    ahead = one - other if CATALOGUE[key].direction == "higher" else other - one
    return ahead > 1e-12 * max(1.0, abs(one))


def facts(data: st.DataObject, n: int) -> dict[str, Any]:
    """What stands beside gold."""
    names = st.lists(st.sampled_from("xy"), min_size=n, max_size=n)
    return {
        "folds": data.draw(names),
        "groups": data.draw(names),
        "hierarchy": data.draw(hierarchies(CLASSES)),
        "train_frequencies": {"a": 3, "b": 2, "c": 1},
        "cost_matrix": {one: {other: float(one != other) for other in CLASSES} for one in CLASSES},
    }


EMPTIES = [(both, one) for both in OPTIONS_OF["both_empty"].values for one in OPTIONS_OF["one_empty"].values]


@pytest.mark.parametrize(
    ("empty_label", "empties"), [("as_class", ("1", "0")), *(("not_a_label", empties) for empties in EMPTIES)]
)
@given(data=st.data())
@settings(max_examples=3, deadline=None)  # each computes every metric of label sets twice
def test_in_a_set_it_is_never_better_than_no_label(
    empty_label: str, empties: tuple[str, str], data: st.DataObject
) -> None:
    rows = st.lists(st.sampled_from(CLASSES), unique=True, max_size=3)
    gold = data.draw(st.lists(rows, min_size=1, max_size=5))
    without = [data.draw(rows) for _ in gold]
    more = [data.draw(st.sampled_from([0, 0, 1, 2])) for _ in gold]
    places = [data.draw(st.integers(0, 3)) for _ in gold]
    unknown = [
        row[:at] + [f"beyond {one}" for one in range(extra)] + row[at:]
        for row, extra, at in zip(without, more, places, strict=True)
    ]
    beside = facts(data, len(gold))
    options = {"empty_label": empty_label, **dict(zip(("both_empty", "one_empty"), empties, strict=True))}
    there, here = (values(case("multilabel", CLASSES, gold, rows, **beside), options) for rows in (without, unknown))
    ahead = {key for key in there.keys() & here.keys() if better(key, here[key], there[key])}
    assert not {key for key in ahead if not differs(key, empty_label)}


@for_each("empties", EMPTIES)
def test_in_an_empty_set_it_is_never_better_than_no_label(empties: tuple[str, str]) -> None:
    gold, options = [["a"], ["b"], []], dict(zip(("both_empty", "one_empty"), empties, strict=True))
    beside: dict[str, Any] = {"hierarchy": {"r": [], "a": ["r"], "b": ["r"], "c": ["a"]}}
    there, here, both = (
        values(case("multilabel", CLASSES, gold, [["a"], ["c"], last], **beside), options)
        for last in ([], ["beyond"], ["beyond", "a"])
    )
    assert not {key for key in there if key in here and better(key, here[key], there[key]) and not differs(key, "")}
    if empties == ("0", "skip"):
        for key in ("jaccard_samples", "f1_of_averages_samples", "hierarchical_f1", "lca_f1", "mgia", "f1_samples"):
            assert here[key] == there[key], key
            assert both[key] > here[key], key  # which a label of the vocabulary does, as the option says


@for_each("pooled", ["false", "true"])
def test_the_alpha_score_gains_nothing_by_it_in_an_empty_set(pooled: str) -> None:
    text, options = f"alpha_score:alpha=1,beta=1,gamma=0.1,pooled={pooled}", {**OPTIONS, "both_empty": "0"}
    gold = [["a"], ["b"], []]
    there, here = (case("multilabel", CLASSES, gold, [["a"], [], last]) for last in ([], ["beyond"]))
    assert value(there, text, one_empty="skip", **options) == value(here, text, one_empty="skip", **options)


def differs(key: str, empty_label: str) -> bool:
    """Whether an unknown label may be better than none: where another label is no longer charged to its class.

    One among the k best takes the place of a wrong one; in an empty set, that of the class of empty sets. Where a set
    is empty or full, markedness or informedness is 0/0, which counts as the worst value.
    """
    by_class = any(f"_{name}" in key for name in ("macro", "weighted", "lfb"))
    return key.startswith(("markedness", "informedness")) or (
        by_class and (key.endswith("_top_k") or empty_label == "as_class")
    )


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@given(data=st.data())
@SOME
def test_as_the_one_label_it_is_never_better_than_none(task: TaskKind, data: st.DataObject) -> None:
    classes = CLASSES[:2] if task == "binary" else CLASSES
    gold = data.draw(st.lists(st.sampled_from(classes), min_size=1, max_size=7))
    known = [data.draw(st.sampled_from([*classes, "beyond"])) for _ in gold]
    missing = [None if label == "beyond" else label for label in known]
    beside = facts(data, len(gold))
    there, here = (values(case(task, classes, gold, rows, **beside), {}) for rows in (missing, known))
    ahead = {key for key in there.keys() & here.keys() if better(key, here[key], there[key])}
    assert not {key for key in ahead if "markedness" not in key}  # 0/0 where nothing is predicted: its worst value


@given(data=st.data())
@SOME
def test_measures_of_the_whole_task_count_it_as_any_other_error(data: st.DataObject) -> None:
    gold = data.draw(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=7))
    wrong = [data.draw(st.sampled_from([label, *CLASSES])) for label in gold]
    unknown = [
        data.draw(st.sampled_from([answer, "beyond"])) if answer != label else answer
        for answer, label in zip(wrong, gold, strict=True)
    ]
    there, here = (values(case("multiclass", CLASSES, gold, rows), {}) for rows in (wrong, unknown))
    for key in {*WHOLE, *POOLED} & there.keys():
        assert here[key] == there[key], key


@given(data=st.data())
@SOME
def test_in_a_set_it_is_a_wrong_label_like_any_other(data: st.DataObject) -> None:
    rows = st.lists(st.sampled_from("ab"), unique=True, max_size=2)
    gold = data.draw(st.lists(rows, min_size=1, max_size=5))
    answers = [data.draw(rows) for _ in gold]
    more = [data.draw(st.booleans()) for _ in gold]
    wrong, unknown = (
        [answer + [label] * extra for answer, extra in zip(answers, more, strict=True)] for label in ("c", "beyond")
    )
    there, here = (values(case("multilabel", CLASSES, gold, rows), {}) for rows in (wrong, unknown))
    assert len(SAMPLES) > 20
    for key in {*SETS, *POOLED, *SAMPLES} & there.keys():
        assert here[key] == there[key], key


def test_nonsense_is_no_better_than_a_wrong_answer() -> None:
    wrong, nonsense, nothing = (
        case("multiclass", ["a", "b"], ["a", "a", "b"], answers)
        for answers in (["a", "b", "a"], ["a", "zz", "zz"], ["a", None, None])
    )
    for key, number in (("hamming_loss", 2 / 3), ("hamming_score", 1 / 3), ("accuracy_ovr_micro", 1 / 3)):
        assert value(wrong, key) == value(nonsense, key, **OPTIONS) == number
    # shares 1/2 and 1/6 of the classes a and b: chance is (1/4 + 5/36) / (2 - 1)
    agreed, chance = Fraction(1, 3), Fraction(14, 36)
    for of in (nonsense, nothing):
        assert value(of, "gwet_ac1", **OPTIONS) == float((agreed - chance) / (1 - chance))


def test_more_nonsense_than_there_are_labels() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a", "x", "y", "z"], ["b"]])
    assert [value(of, key, **OPTIONS) for key in ("hamming_loss", "hamming_score", "levenshtein")] == [0.5, 0.5, 0.5]
