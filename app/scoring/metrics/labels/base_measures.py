"""The base measures of one 2×2 table, and the metrics that the averages derive from them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from app.scoring.declaration.metric import (
    UNKNOWN_CELLS,
    Compute,
    ComputeDraws,
    Direction,
    Example,
    Metric,
    MetricCall,
    Param,
    Properties,
    ReportedCounts,
    Result,
    register,
)
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.draw_context import DrawContext, Floats
from app.scoring.metrics.example_data import average_example, values_per_average
from app.scoring.metrics.labels.average_draws import AverageDraws
from app.scoring.metrics.labels.averages import AVERAGES, LFB_TRAIN, MICRO, SAMPLES, SINGLE_CLASS, Average
from app.scoring.metrics.labels.ratio_forms import (
    ALL_COUNTS,
    FN,
    FP,
    IN_GOLD,
    NOT_IN_GOLD,
    PREDICTED,
    TN,
    TP,
    CountForm,
    RatioMeasure,
    linear,
    plus,
)
from app.scoring.metrics.shared_declarations import LABEL_PARAM, SINGLE_LABEL_TASKS, UNIT_RANGE, worked_example
from app.scoring.numeric.exact import to_fraction
from app.scoring.tally import EvaluationContext

BETA_PARAM = Param(
    "beta",
    "number",
    "how many times as important recall is as precision",
    bounds=(0, 1_000_000),
    required_for=TASK_KINDS,
)


@dataclass(frozen=True, slots=True)
class BaseMeasure:
    """A measure of one 2×2 table: the ratio of two exact integer functions of TP, FP, FN, TN.

    - `equation` contains TP, FP, FN, TN, to which the averages add an index.
    - `own_class`: the value depends only on the instances of its own class.
    - `sensitive`: replicating the instances of one of the two classes moves the value.
    - `can_be_undefined`: the value can be 0/0.
    - `takes_beta`: numerator and denominator follow from the parameter β.
    - `examples`: the exact value per average suffix, on `example_data` where that has an entry for the suffix.
    - `average_names`: names that the measure has under one average.
    - `averages`: the averages that are registered, for the tasks that both support.

    RatioMeasure describes the other fields.
    """

    key: str
    name: str
    names: tuple[str, ...]
    equation: str
    numerator: CountForm
    denominator: CountForm
    source: str
    examples: Mapping[str, str]
    direction: Direction = "higher"
    set_like: bool = False
    is_accuracy_when_pooled: bool = False
    symmetric: bool = False
    own_class: bool = False
    sensitive: bool = True
    can_be_undefined: bool = True
    takes_beta: bool = False
    average_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: bool = False
    range: tuple[float, float] = UNIT_RANGE
    replaceable: bool = True
    averages: tuple[Average, ...] = AVERAGES
    tasks: tuple[TaskKind, ...] = TASK_KINDS
    hints: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    example_data: Mapping[str, Example] = field(default_factory=dict)

    def ratio(self, call: MetricCall | None = None) -> RatioMeasure:
        """The ratio to compute; where β is a parameter, its value is taken from the call."""
        numerator, denominator = self.numerator, self.denominator
        if self.takes_beta:
            assert call is not None, "β is a parameter"
            numerator, denominator = f_beta_forms(to_fraction(call.params["beta"]))
        return RatioMeasure(
            self.name,
            numerator,
            denominator,
            self.direction,
            set_like=self.set_like,
            is_accuracy_when_pooled=self.is_accuracy_when_pooled,
            root=self.root,
            lowest=self.range[0],
            replaceable=self.replaceable,
        )


def f_beta_forms(beta: Fraction) -> tuple[CountForm, CountForm]:
    """F_beta from counts, scaled to integers: (1+β²)TP / ((1+β²)TP + FP + β²FN) (V eq 4, with its swap of FP and FN undone)."""
    p, q = beta.numerator**2, beta.denominator**2
    return linear(p + q, 0, 0, 0), linear(p + q, q, p, 0)


def _f_measure(key: str, beta: str, equation: str, names: tuple[str, ...], examples: Mapping[str, str]) -> BaseMeasure:
    numerator, denominator = f_beta_forms(Fraction(beta))
    return BaseMeasure(
        key,
        f"F{beta}",
        names,
        equation,
        numerator,
        denominator,
        "Wenzel eq 9-10; Van Asch 2013 eq 3-4 (eq 4 swaps FP and FN); Zhang & Zhou 2014 sec 2.2.2",
        examples,
        set_like=True,
        is_accuracy_when_pooled=True,
        symmetric=beta == "1",
    )


RECALL = BaseMeasure(
    "recall",
    "recall",
    ("sensitivity", "true positive rate", "TPR", "hit rate"),
    r"\frac{TP}{TP+FN}",
    TP,
    IN_GOLD,
    "Wenzel eq 1; Van Asch 2013 eq 2, 5",
    values_per_average("3/4", "5/9", "5/9", "5/9", "16/27", "13/24", "3/4"),
    average_names={"": ("per-class accuracy",), "macro": ("CR",), "micro": ("OR",), "samples": ("EBR",)},
    set_like=True,
    is_accuracy_when_pooled=True,
    own_class=True,
    sensitive=False,
)
PRECISION = BaseMeasure(
    "precision",
    "precision",
    ("positive predictive value", "PPV"),
    r"\frac{TP}{TP+FP}",
    TP,
    PREDICTED,
    "Wenzel eq 5; Van Asch 2013 eq 1",
    values_per_average("3/5", "31/45", "5/9", "88/135", "5/9", "41/60", "7/8"),
    average_names={"macro": ("CP",), "micro": ("OP",), "samples": ("EBP",)},
    set_like=True,
    is_accuracy_when_pooled=True,
)
BASE_MEASURES = (
    RECALL,
    PRECISION,
    _f_measure(
        "f1",
        "1",
        r"\frac{2\,TP}{2\,TP+FP+FN}",
        ("F-score", "F-measure", "F1-score", "Dice coefficient"),
        values_per_average("2/3", "73/126", "5/9", "215/378", "205/378", "97/168", "3/4"),
    ),
    _f_measure(
        "f0_5",
        "0.5",
        r"\frac{1.25\,TP}{1.25\,TP+FP+0.25\,FN}",
        ("F0.5-score",),
        values_per_average("5/8", "1045/1656", "5/9", "755/1242", "2695/4968", "695/1104", "29/36"),
    ),
    _f_measure(
        "f2",
        "2",
        r"\frac{5\,TP}{5\,TP+FP+4\,FN}",
        ("F2-score",),
        values_per_average("5/7", "4855/8721", "5/9", "14480/26163", "14755/26163", "6385/11628", "53/72"),
    ),
    BaseMeasure(
        "f_beta",
        "F-beta",
        ("F-score with β", "complement of van Rijsbergen's effectiveness"),
        r"\frac{(1+\beta^{2})\,TP}{(1+\beta^{2})\,TP+FP+\beta^{2}\,FN}",
        TP,
        PREDICTED,
        "Wenzel eq 10; Van Asch 2013 eq 3-4 (eq 4 swaps FP and FN); Zhang & Zhou 2014 sec 2.2.2",
        values_per_average("5/8", "1045/1656", "5/9", "755/1242", "2695/4968", "695/1104", "29/36"),
        set_like=True,
        is_accuracy_when_pooled=True,
        takes_beta=True,
    ),
    BaseMeasure(
        "jaccard",
        "Jaccard index",
        ("IoU", "intersection over union", "critical success index", "threat score"),
        r"\frac{TP}{TP+FP+FN}",
        TP,
        linear(1, 1, 1, 0),
        "Wenzel eq 26; Sefidian, macro and micro accuracy code",
        values_per_average("1/2", "37/90", "5/13", "2/5", "101/270", "49/120", "5/8"),
        average_names={"samples": ("example-based accuracy", "BioASQ Acc.", "Jaccard similarity")},
        set_like=True,
        symmetric=True,
    ),
    BaseMeasure(
        "specificity",
        "specificity",
        ("true negative rate", "TNR", "selectivity", "inverse recall"),
        r"\frac{TN}{TN+FP}",
        TN,
        NOT_IN_GOLD,
        "Wenzel eq 2; Döring",
        values_per_average("2/3", "23/30", "7/9", "67/90", "59/90", "31/40", "7/8"),
        sensitive=False,
    ),
    BaseMeasure(
        "accuracy_ovr",
        "one-vs-rest accuracy",
        ("binary accuracy", "label-wise accuracy"),
        r"\frac{TP+TN}{TP+TN+FP+FN}",
        plus(TP, TN),
        ALL_COUNTS,
        "Wenzel eq 7, 17; Van Asch 2013 eq 7",
        values_per_average("7/10", "19/27", "19/27", "55/81", "17/27", "25/36", "3/4"),
        symmetric=True,
        can_be_undefined=False,
    ),
    BaseMeasure(
        "error_rate_ovr",
        "one-vs-rest error rate",
        ("binary error rate", "misclassification rate"),
        r"\frac{FP+FN}{TP+TN+FP+FN}",
        plus(FP, FN),
        ALL_COUNTS,
        "Wenzel eq 8",
        values_per_average("3/10", "8/27", "8/27", "26/81", "10/27", "11/36", "1/4"),
        direction="lower",
        symmetric=True,
        can_be_undefined=False,
    ),
)


def averaged_equation(base: BaseMeasure, average: Average) -> str:
    """The LaTeX equation of a base measure under an average: the counts get the index of the average."""
    if average is MICRO:
        index = r"\\sum_{j} \\mathrm{\1}_{j}"
    else:
        index = rf"\\mathrm{{\1}}_{{{average.index}}}" if average.index else r"\\mathrm{\1}"
    return average.equation.replace("{B}", re.sub(r"\b(TP|FP|FN|TN)\b", index, base.equation))


def averaged_metric(base: BaseMeasure, average: Average) -> Metric:
    """The metric for this base measure under this average."""
    drop = set() if base.can_be_undefined and base.replaceable else {"zero_division"}
    drop |= set() if {"multilabel"} & set(average.tasks) & set(base.tasks) else {UNKNOWN_CELLS}
    if average is SAMPLES:
        drop |= {"zero_division"} if base.set_like else {"both_empty", "one_empty"}
    return Metric(
        key=f"{base.key}_{average.suffix}" if average.suffix else base.key,
        name=f"{average.name} {base.name}".strip(),
        names=_names(base, average),
        equation=averaged_equation(base, average),
        tasks=tuple(task for task in average.tasks if task in base.tasks),
        needs=average.needs,
        direction=base.direction,
        granularity=average.granularity,
        range=base.range,
        params=((BETA_PARAM,) if base.takes_beta else ()) + ((_label_param(base),) if average is SINGLE_CLASS else ()),
        options=tuple(option for option in average.options if option not in drop),
        properties=Properties(
            symmetric=_is_symmetric(base, average),
            prevalence_sensitive=_is_prevalence_sensitive(base, average),
        ),
        source="; ".join(part for part in (base.source, average.source) if part),
        example=_example(base, average),
        compute=_compute(base, average.compute),
        compute_draws=_compute_draws(base, average.compute_draws),
        merges_cells=average is not SAMPLES,
        hints=dict.fromkeys(SINGLE_LABEL_TASKS, average.hint) if average.hint else base.hints,
        floor=3 if base.range == UNIT_RANGE and average is not LFB_TRAIN else 0,
        peers=base.peers,
        counted=ReportedCounts((base.key,), average.weights),
        instance_mean=average is SAMPLES and base.set_like and base.range == UNIT_RANGE,
    )


def _label_param(base: BaseMeasure) -> Param:
    return replace(LABEL_PARAM, required_for=tuple(task for task in LABEL_PARAM.required_for if task in base.tasks))


def _example(base: BaseMeasure, average: Average) -> Example:
    params = {"beta": "0.5"} if base.takes_beta else {}
    if average.suffix in base.example_data:
        return worked_example(base.example_data[average.suffix], base.examples[average.suffix], params)
    return average_example(average.suffix, base.examples, params)


def _names(base: BaseMeasure, average: Average) -> tuple[str, ...]:
    """Names specific to this metric, then other names of the average, then other names of the measure."""
    own = base.average_names.get(average.suffix, ())
    averages = tuple(f"{name} {base.name}" for name in average.names)
    return tuple(dict.fromkeys((*own, *averages, *(f"{average.name} {name}".strip() for name in base.names))))


def _is_symmetric(base: BaseMeasure, average: Average) -> bool:
    # with one label per instance there are as many false positives as false negatives over all classes
    return (base.symmetric and average.symmetric) or (average is MICRO and "multilabel" not in base.tasks)


def _is_prevalence_sensitive(base: BaseMeasure, average: Average) -> bool:
    if average is SINGLE_CLASS:
        return base.sensitive
    return average.is_prevalence_sensitive or not base.own_class


def _compute(base: BaseMeasure, compute: Callable[[EvaluationContext, MetricCall, RatioMeasure], Result]) -> Compute:
    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        return compute(ws, call, base.ratio(call))

    return value


def _compute_draws(base: BaseMeasure, compute: AverageDraws) -> ComputeDraws:
    def values(draws: DrawContext, call: MetricCall) -> Floats:
        return compute(draws, call, base.ratio(call))

    return values


def register_averages(bases: tuple[BaseMeasure, ...]) -> None:
    """Register each measure under each of its averages with which it has a task in common."""
    for base in bases:
        for average in base.averages:
            if set(average.tasks) & set(base.tasks):
                register(averaged_metric(base, average))


register_averages(BASE_MEASURES)
