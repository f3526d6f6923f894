"""Measures of hard labels applied to the k best-scored labels of each instance."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from app.scoring.declaration.decision_rules import ConfiguredDecisionRule, decide_labels
from app.scoring.declaration.metric import (
    CATALOGUE,
    RANKING,
    UNKNOWN_CELLS,
    Compute,
    ComputeDraws,
    Metric,
    MetricCall,
    Param,
    Properties,
    Result,
    register,
)
from app.scoring.evaluation_input import Labels
from app.scoring.label_ranking import occupied_positions
from app.scoring.metrics.example_data import MULTILABEL_EXAMPLE
from app.scoring.metrics.rankings.ranking_inputs import submitted_order_note
from app.scoring.metrics.shared_declarations import MULTILABEL_TASKS, SINGLE_LABEL_TASKS
from app.scoring.tally import EvaluationContext

MAX_K = 1_000_000
K_PARAM = Param(
    "k",
    "whole",
    "how many of the best-scored labels count as predicted",
    bounds=(1, MAX_K),
    required_for=MULTILABEL_TASKS,
)
_TOP_K_EXAMPLE = replace(
    MULTILABEL_EXAMPLE,
    gold=(("art", "law"), ("law",), ("art", "war"), ("law", "war")),
    predicted=(("art",), ("law",), ("art",), ("war",)),
    scores=((0.9, 0.4, 0.1), (0.2, 0.8, 0.3), (0.7, 0.6, 0.2), (0.4, 0.1, 0.5)),
)
_EXAMPLE_AVERAGES = ("macro", "micro", "weighted", "samples")
_EXAMPLE_VALUES = {
    "recall": ("13/18", "5/7", "5/7", "3/4"),
    "precision": ("11/18", "5/8", "13/21", "5/8"),
    "f1": ("59/90", "2/3", "23/35", "2/3"),
    "f0_5": ("79/126", "25/39", "31/49", "23/36"),
    "f2": ("137/198", "25/36", "53/77", "17/24"),
    "f_beta": ("79/126", "25/39", "31/49", "23/36"),
    "jaccard": ("1/2", "1/2", "1/2", "13/24"),
}
_OTHER_EXAMPLE_VALUES = {
    "f1_of_averages_macro": "143/216",
    "f1_of_averages_weighted": "65/98",
    "f1_of_averages_samples": "15/22",
    "hamming_loss": "5/12",
    "subset_accuracy": "1/4",
}
"""The measures that have a top-k form, with their values on the example for k = 2."""


def top_k_workspace(ws: EvaluationContext, call: MetricCall) -> EvaluationContext:
    """The case with the k best labels of each instance as its predictions, cached so that metrics share its counts.

    With scores, ties go to the label declared first; without scores, the first k labels of each list count (Wenzel sec 4,
    top-3 of SS-GRL). An instance without scores gets no label.
    """
    k, options = int(call.params["k"]), call.options
    if ws.case.scores is None:
        key = ("first k", k, options["unknown_label"], options["duplicates"])
        return ws.shared(key, lambda: EvaluationContext(replace(ws.case, predicted=_first_k_labels(ws, k, options))))
    scores, direction = ws.case.scores, options["score_direction"]
    rule = ConfiguredDecisionRule("top_k", k=k, lower=direction == "lower")
    return ws.shared(
        ("top k", k, direction),
        lambda: EvaluationContext(replace(ws.case, predicted=decide_labels(rule, ws.spec, scores, 0))),
    )


def _first_k_labels(ws: EvaluationContext, k: int, options: Mapping[str, str]) -> Labels:
    """The first k labels of each list, with the same positions as in the ranking measures."""
    lists = ws.case.predicted.as_sets()
    assert lists.offsets is not None
    rows = np.repeat(np.arange(lists.n), np.diff(lists.offsets))
    occupied = occupied_positions(lists, rows, len(ws.spec.classes), options)
    before = np.concatenate([[0], np.cumsum(occupied)])
    selected = occupied & (before[:-1] - before[lists.offsets[rows]] < k)
    sizes = np.bincount(rows[selected], minlength=lists.n)
    return Labels(lists.codes[selected], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _compute(base: Metric) -> Compute:
    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        result = base.compute(top_k_workspace(ws, call), call)
        return replace(result, notes=(*result.notes, *submitted_order_note(ws)))

    return value


def _compute_draws(base: Metric) -> ComputeDraws | None:
    form = base.compute_draws
    return form and (lambda draws, call: form(draws.with_rows(top_k_workspace(draws.rows, call)), call))


def _top_k_equation(base: Metric) -> tuple[str, str]:
    """The equation with the definition of the predicted sets, and the symbol of these sets."""
    has_predicted_set = any(use in base.equation for use in ("[P_{i}", "|P_{i}"))
    sign, name = (r"P_{i}", "P_i") if has_predicted_set else (r"\hat{Y}_{i}", "Ŷ_i")
    return rf"{base.equation},\quad {sign}=\{{y:\mathrm{{rank}}_{{i}}(y)\leq \param{{k}}\}}", name


def top_k_metric(base: Metric, value: str) -> Metric:
    """The top-k form of a measure of hard labels."""
    equation, name = _top_k_equation(base)
    return replace(
        base,
        key=f"{base.key}_top_k",
        name=f"{base.name} of the k best labels",
        names=(f"top-k {base.name}",),
        equation=equation,
        tasks=MULTILABEL_TASKS,
        needs=(RANKING,),
        params=(*base.params, K_PARAM),
        options=(*(name for name in base.options if name != UNKNOWN_CELLS), "score_direction"),
        properties=Properties(symmetric=False, prevalence_sensitive=True, ordinal=True),
        source=f"{base.source}; Wenzel sec 4 (top-3 evaluation of SS-GRL)",
        example=replace(_TOP_K_EXAMPLE, value=value, params={**base.example.params, "k": "2"}),
        compute=_compute(base),
        compute_draws=_compute_draws(base),
        hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance, use top_k_accuracy"),
        symbols={
            **base.symbols,
            "k": "how many of the best-scored labels count as predicted",
            name: "predicted label set of instance i: its k best-scored labels",
            "rank_i(y)": "position of label y by falling score; of labels with equal scores the one declared first comes first",
        },
    )


for _base, _values in _EXAMPLE_VALUES.items():
    for _average, _value in zip(_EXAMPLE_AVERAGES, _values, strict=True):
        register(top_k_metric(CATALOGUE[f"{_base}_{_average}"], _value))
for _key, _value in _OTHER_EXAMPLE_VALUES.items():
    register(top_k_metric(CATALOGUE[_key], _value))
