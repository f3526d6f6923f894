"""A metric lists exactly the options that concern it: they change some value, and other options change none."""

import random
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE, PROBABILITIES, Metric, MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.options import OPTIONS
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.evaluate import Result, evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from tests.each_case import for_each
from tests.scoring.case_builder import case, labels
from tests.scoring.strategies import CONVENTIONS, OPTION_VALUES, SETTINGS, calls, cases, metric_object, parsed_call

OF_READING = {"missing", "unknown_label", "duplicates"}
"""Options that mainly decide which files are valid; they need not change a value of every metric."""


NEVER = {
    # what could be 0/0 weighs nothing, or sums to something; of hierarchies only the pooled sums could be
    "zero_division": ("*_weighted*", "*_lfb_test*", "*_micro*", "*_macro_top_k", "hierarchical_*"),
    # of label sets as a whole, of exclusive classes, and of k labels that are always left
    "empty_label": (
        "balanced_accuracy_ovr_*", "subset_accuracy*", "zero_one_loss", "empty_predictions", "instance_status*",
        "*_micro_top_k", "f1_cv_mean", "f1_cv_pooled", "chi_squared", "cramers_v",
    ),
    "both_empty": ("*_top_k",),
    "pad": ("*_at_k",),  # the cases have at least k classes
    "redundant": ("lca_*",),  # moves little more than sets of a parent with its child; test_lca does that
    "links": (
        "lca_*",
    ),  # HEMKit misses links where an ancestor is a label of the other set; test_lca_minimal does that
    "count_root": ("mgia",),
    # the variance is that of the area under the turned curve; so many labels seldom make a whole set
    "score_direction": ("delong_variance", "subset_accuracy_top_k"),
}  # fmt: skip
"""Options that a family declares and that cannot change the values of these metrics."""


def option_names(metric: Metric) -> set[str]:
    """The names of its options and settings."""
    return {*metric.options, *(param.name for param in metric.params)}


@pytest.mark.parametrize("task", TASK_KINDS)
@given(data=st.data(), options=OPTION_VALUES)
@settings(max_examples=20, deadline=None)  # each parses and computes every metric twice
def test_an_option_that_a_metric_does_not_list_moves_nothing(
    task: TaskKind, data: st.DataObject, options: dict[str, str]
) -> None:
    of = with_odd_predictions(data.draw(cases(task)), data.draw(st.randoms(use_true_random=False)))
    wanted = calls(of, options)
    mine = [restrict_options(call, options, of) for call in wanted]
    found, expected = evaluate(of, wanted), evaluate(of, mine)
    for call, other in zip(wanted, mine, strict=True):
        one, two = found[call.text], expected[other.text]
        assert (one.value, one.reason, one.data) == (two.value, two.reason, two.data), call.metric.key


def restrict_options(call: MetricCall, options: Mapping[str, str], of: EvaluationInput) -> MetricCall:
    """The same call under those of the options alone that its metric lists."""
    listed = {name: value for name, value in options.items() if name in option_names(call.metric)}
    return parsed_call(call.metric, of, listed)


def with_odd_predictions(of: EvaluationInput, chance: random.Random) -> EvaluationInput:
    """The case with predictions outside the vocabulary, repeated, and empty."""
    several = of.spec.task == "multilabel"
    names: list[Any] = [*of.spec.classes, "beyond"]
    rows: list[Any] = [
        chance.choices(names, k=chance.randint(0, 3)) if several else chance.choice([*names, None])
        for _ in range(of.gold.n)
    ]
    return replace(of, predicted=labels(rows, of.spec.classes, multilabel=several))


@for_each("key", CATALOGUE)
def test_every_value_of_every_option_can_be_given(key: str) -> None:
    metric = CATALOGUE[key]
    of = sample_inputs(metric.tasks[0])[0]
    base, wanted = metric_object(metric, of), list[MetricCall]()
    for name in option_names(metric):
        for value in {**CONVENTIONS, **SETTINGS}.get(name, ()):
            if (name, value) == ("score_direction", "lower") and PROBABILITIES in metric.needs:
                continue
            known = [param for param in metric.params if param.name == name and param.values]
            if known and value not in known[0].values:
                continue
            call = parse_metric({**base, "options": {name: value}}, task=of.spec.task)
            assert parse_metric(call.text, task=of.spec.task).text == call.text
            wanted.append(call)
    for text, found in evaluate(of, wanted).items():
        assert (found.reason is None) == (found.value is not None or found.data is not None), text


@cache
def sample_inputs(task: TaskKind) -> list[EvaluationInput]:
    """Cases in which much happens: ties, absent classes, empty sets, labels outside the vocabulary."""
    chance = random.Random(f"pool of {task}")
    found = [build_input(task, chance, turn) for turn in range(6)]
    last, m = found[3], len(found[3].spec.classes)
    empty: Any = [] if task == "multilabel" else None
    name: Any = ["c0"] if task == "multilabel" else "c0"
    for gold, predicted in ((empty, empty), (name, empty), (empty, name), (name, name), (["c0", "c1"], empty)):
        if gold is None or (task != "multilabel" and isinstance(gold, list)):
            continue  # single-label gold is never empty, nor a set
        rows = [
            labels([row] * last.gold.n, last.spec.classes, multilabel=task == "multilabel") for row in (gold, predicted)
        ]
        found.append(replace(last, gold=rows[0], predicted=rows[1]))
    other: Any = [["c1"]] if task == "multilabel" else ["c1"]
    wrong = labels(other * last.gold.n, last.spec.classes, multilabel=task == "multilabel")
    assert m > 1
    found.append(replace(found[-1], predicted=wrong))
    if task == "multilabel":
        unknown: Any = [["c0"] if "c0" not in row else [] for row in ([["c0"], []] * last.gold.n)[: last.gold.n]]
        cells = labels(unknown, last.spec.classes, multilabel=True)
        found.append(replace(last, unknown=Labels(cells.codes, cells.offsets).without(last.gold, m)))
    return found


def build_input(task: TaskKind, chance: random.Random, turn: int) -> EvaluationInput:
    m = 2 if task == "binary" else 4
    classes, n = [f"c{at}" for at in range(m)], 3 + 2 * turn
    used = classes[: m - turn % 2]

    def row() -> Any:
        if task != "multilabel":
            return chance.choice(used)
        return chance.sample(used, chance.randint(0, len(used)))

    gold = [row() for _ in range(n)]
    scores = [[chance.choice([0.0, 0.25, 0.5, 1.0]) + 1e-9 * (turn % 3 == 0) * at for at in range(m)] for _ in range(n)]
    total = [[value / (sum(values) or 1) if sum(values) else 1 / m for value in values] for values in scores]
    of = case(
        task,
        classes,
        gold,
        gold,
        total,
        folds=[str(chance.randint(1, 3)) for _ in range(n)],
        groups=[chance.choice("xy") for _ in range(n)],
        hierarchy={
            "c0": ["up"],
            "c1": ["up", "side"][: 1 + turn % 2],
            **{key: ["side"] for key in classes[2:]},
            "up": ["root"],
        },
        cost_matrix={a: {b: chance.randint(0, 3) for b in classes} for a in classes},
        train_frequencies={name: chance.randint(0, 5) + (name == "c0") for name in classes},
    )
    rows = [row() if chance.random() < 0.6 else right for right in gold]
    plain = replace(of, predicted=labels(rows, classes, multilabel=task == "multilabel"))
    return with_odd_predictions(plain, chance) if turn % 3 == 2 else plain


@cache
def due_options(key: str) -> set[str]:
    """The options and settings of a metric of which one value has to give something else than another."""
    metric = CATALOGUE[key]
    due = {name for name in metric.options if name in OPTIONS} - OF_READING
    due |= {param.name for param in metric.params if param.default is not None and param.kind == "choice"}
    due -= {name for name, patterns in NEVER.items() if any(fnmatchcase(key, pattern) for pattern in patterns)}
    return due - {"score_direction"} if PROBABILITIES in metric.needs else due  # lower scores refuse such a metric


@cache
def effective_options(task: TaskKind) -> set[tuple[str, str]]:
    """Keys and options of which one value gives something else than another, on one of the cases."""
    effective = set()
    values = {**CONVENTIONS, **SETTINGS, "exclude_labels": ("", "c0")}
    for of in sample_inputs(task):
        for name, known in values.items():
            metrics = [
                metric
                for metric in CATALOGUE.values()
                if task in metric.tasks and name in due_options(metric.key) and (metric.key, name) not in effective
            ]
            results = [results_of(of, metrics, name, value) for value in known]
            for metric in metrics:
                if len({result_text(each[metric.key]) for each in results if metric.key in each}) > 1:
                    effective.add((metric.key, name))
    return effective


def results_of(of: EvaluationInput, metrics: list[Metric], name: str, value: str) -> dict[str, Result]:
    wanted = [
        parsed_call(metric, of, {name: value})
        for metric in metrics
        if not ((name, value) == ("score_direction", "lower") and PROBABILITIES in metric.needs)
    ]
    by_text = evaluate(of, wanted)
    return {call.metric.key: by_text[call.text] for call in wanted}


def result_text(result: Result) -> str:
    return f"{result.value} {result.reason} {result.notes} {result.data}"


@for_each("key", CATALOGUE)
def test_every_option_that_a_metric_lists_can_move_it(key: str) -> None:
    metric = CATALOGUE[key]
    effective = {
        name for task in metric.tasks for effective_key, name in effective_options(task) if effective_key == key
    }
    assert not due_options(key) - effective
