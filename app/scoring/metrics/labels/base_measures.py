"""The base measures on one 2×2 table, each declared once, and every metric that the averages make of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from app.scoring.declaration.metric import (
    Compute,
    Direction,
    Example,
    Metric,
    MetricCall,
    Param,
    Properties,
    Result,
    register,
)
from app.scoring.declaration.task import TASKS, Task
from app.scoring.metrics.example_data import example, per_average, worked
from app.scoring.metrics.labels.averages import AVERAGES, BARE, LFB_TRAIN, MICRO, SAMPLES, Average
from app.scoring.metrics.labels.ratio_forms import (
    ALL,
    FN,
    FP,
    IN_GOLD,
    NOT_IN_GOLD,
    PREDICTED,
    TN,
    TP,
    Form,
    Ratio,
    linear,
    plus,
)
from app.scoring.numeric.exact import fraction
from app.scoring.tally import Workspace

BETA = Param(
    "beta",
    "number",
    "how many times as important recall is as precision",
    bounds=(0, 1_000_000),
    required_for=("binary", "multiclass", "multilabel"),
)
LABEL = Param("label", "label", "the class meant", required_for=("multiclass", "multilabel"))


@dataclass(frozen=True, slots=True)
class Base:
    """A measure of one 2×2 table: two exact integer functions of TP, FP, FN, TN, one divided by the other.

    `equation` writes TP, FP, FN, TN, which the averages index; `own_class`: it depends on the instances of its own
    class alone; `sensitive`: replicating one of the two classes moves it; `can_be_undefined`: it can be 0/0;
    `takes_beta`: the functions follow from the parameter β; `examples`: the exact value per average, under data of
    their own where `example_data` has some; `called`: names of its own that the measure has under an average;
    `averages`: those that it has, on those of its `tasks` that they are for. See Ratio for the rest.
    """

    key: str
    name: str
    names: tuple[str, ...]
    equation: str
    numerator: Form
    denominator: Form
    source: str
    examples: Mapping[str, str]
    direction: Direction = "higher"
    set_like: bool = False
    agree: bool = False
    symmetric: bool = False
    own_class: bool = False
    sensitive: bool = True
    can_be_undefined: bool = True
    takes_beta: bool = False
    called: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: bool = False
    range: tuple[float, float] = (0.0, 1.0)
    replaceable: bool = True
    averages: tuple[Average, ...] = AVERAGES
    tasks: tuple[Task, ...] = TASKS
    hints: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    example_data: Mapping[str, Example] = field(default_factory=dict)

    def ratio(self, call: MetricCall | None = None) -> Ratio:
        """The measure with its functions; β comes from the call where it is a parameter."""
        numerator, denominator = self.numerator, self.denominator
        if self.takes_beta:
            assert call is not None, "β is a parameter"
            numerator, denominator = f_forms(fraction(call.params["beta"]))
        return Ratio(
            self.name,
            numerator,
            denominator,
            self.direction,
            set_like=self.set_like,
            agree=self.agree,
            root=self.root,
            lowest=self.range[0],
            replaceable=self.replaceable,
        )


def f_forms(beta: Fraction) -> tuple[Form, Form]:
    """F_beta by counts, scaled to integers: (1+β²)TP / ((1+β²)TP + FP + β²FN) (V eq 4 with FP and FN unswapped)."""
    p, q = beta.numerator**2, beta.denominator**2
    return linear(p + q, 0, 0, 0), linear(p + q, q, p, 0)


def _f(key: str, beta: str, equation: str, names: tuple[str, ...], examples: Mapping[str, str]) -> Base:
    numerator, denominator = f_forms(Fraction(beta))
    return Base(
        key,
        f"F{beta}",
        names,
        equation,
        numerator,
        denominator,
        "Wenzel eq 9-10; Van Asch 2013 eq 3-4 (eq 4 swaps FP and FN); Zhang & Zhou 2014 sec 2.2.2",
        examples,
        set_like=True,
        agree=True,
        symmetric=beta == "1",
    )


RECALL = Base(
    "recall",
    "recall",
    ("sensitivity", "true positive rate", "TPR", "hit rate"),
    r"\frac{TP}{TP+FN}",
    TP,
    IN_GOLD,
    "Wenzel eq 1; Van Asch 2013 eq 2, 5",
    per_average("3/4", "5/9", "5/9", "5/9", "16/27", "13/24", "3/4"),
    called={"": ("per-class accuracy",), "macro": ("CR",), "micro": ("OR",), "samples": ("EBR",)},
    set_like=True,
    agree=True,
    own_class=True,
    sensitive=False,
)
PRECISION = Base(
    "precision",
    "precision",
    ("positive predictive value", "PPV"),
    r"\frac{TP}{TP+FP}",
    TP,
    PREDICTED,
    "Wenzel eq 5; Van Asch 2013 eq 1",
    per_average("3/5", "31/45", "5/9", "88/135", "5/9", "41/60", "7/8"),
    called={"macro": ("CP",), "micro": ("OP",), "samples": ("EBP",)},
    set_like=True,
    agree=True,
)
BASES = (
    RECALL,
    PRECISION,
    _f(
        "f1",
        "1",
        r"\frac{2\,TP}{2\,TP+FP+FN}",
        ("F-score", "F-measure", "F1-score", "Dice coefficient"),
        per_average("2/3", "73/126", "5/9", "215/378", "205/378", "97/168", "3/4"),
    ),
    _f(
        "f0_5",
        "0.5",
        r"\frac{1.25\,TP}{1.25\,TP+FP+0.25\,FN}",
        ("F0.5-score",),
        per_average("5/8", "1045/1656", "5/9", "755/1242", "2695/4968", "695/1104", "29/36"),
    ),
    _f(
        "f2",
        "2",
        r"\frac{5\,TP}{5\,TP+FP+4\,FN}",
        ("F2-score",),
        per_average("5/7", "4855/8721", "5/9", "14480/26163", "14755/26163", "6385/11628", "53/72"),
    ),
    Base(
        "f_beta",
        "F-beta",
        ("F-score with β", "complement of van Rijsbergen's effectiveness"),
        r"\frac{(1+\beta^{2})\,TP}{(1+\beta^{2})\,TP+FP+\beta^{2}\,FN}",
        TP,
        PREDICTED,
        "Wenzel eq 10; Van Asch 2013 eq 3-4 (eq 4 swaps FP and FN); Zhang & Zhou 2014 sec 2.2.2",
        per_average("5/8", "1045/1656", "5/9", "755/1242", "2695/4968", "695/1104", "29/36"),
        set_like=True,
        agree=True,
        takes_beta=True,
    ),
    Base(
        "jaccard",
        "Jaccard index",
        ("IoU", "intersection over union", "critical success index", "threat score"),
        r"\frac{TP}{TP+FP+FN}",
        TP,
        linear(1, 1, 1, 0),
        "Wenzel eq 26; Sefidian, macro and micro accuracy code",
        per_average("1/2", "37/90", "5/13", "2/5", "101/270", "49/120", "5/8"),
        called={"samples": ("example-based accuracy", "BioASQ Acc.", "Jaccard similarity")},
        set_like=True,
        symmetric=True,
    ),
    Base(
        "specificity",
        "specificity",
        ("true negative rate", "TNR", "selectivity", "inverse recall"),
        r"\frac{TN}{TN+FP}",
        TN,
        NOT_IN_GOLD,
        "Wenzel eq 2; Döring",
        per_average("2/3", "23/30", "7/9", "67/90", "59/90", "31/40", "7/8"),
        sensitive=False,
    ),
    Base(
        "accuracy_ovr",
        "one-vs-rest accuracy",
        ("binary accuracy", "label-wise accuracy"),
        r"\frac{TP+TN}{TP+TN+FP+FN}",
        plus(TP, TN),
        ALL,
        "Wenzel eq 7, 17; Van Asch 2013 eq 7",
        per_average("7/10", "19/27", "19/27", "55/81", "17/27", "25/36", "3/4"),
        symmetric=True,
        can_be_undefined=False,
    ),
    Base(
        "error_rate_ovr",
        "one-vs-rest error rate",
        ("binary error rate", "misclassification rate"),
        r"\frac{FP+FN}{TP+TN+FP+FN}",
        plus(FP, FN),
        ALL,
        "Wenzel eq 8",
        per_average("3/10", "8/27", "8/27", "26/81", "10/27", "11/36", "1/4"),
        direction="lower",
        symmetric=True,
        can_be_undefined=False,
    ),
)


def written(base: Base, average: Average) -> str:
    """The equation of a base measure under an average, in LaTeX: the counts get the average's index."""
    if average is MICRO:
        index = r"\\sum_{j} \\mathrm{\1}_{j}"
    else:
        index = rf"\\mathrm{{\1}}_{{{average.index}}}" if average.index else r"\\mathrm{\1}"
    return average.equation.replace("{B}", re.sub(r"\b(TP|FP|FN|TN)\b", index, base.equation))


def metric_of(base: Base, average: Average) -> Metric:
    """The metric that this average makes of this base measure."""
    drop = set() if base.can_be_undefined and base.replaceable else {"zero_division"}
    if average is SAMPLES:
        drop |= {"zero_division"} if base.set_like else {"both_empty", "one_empty"}
    return Metric(
        key=f"{base.key}_{average.suffix}" if average.suffix else base.key,
        name=f"{average.name} {base.name}".strip(),
        names=_names(base, average),
        equation=written(base, average),
        tasks=tuple(task for task in average.tasks if task in base.tasks),
        needs=average.needs,
        direction=base.direction,
        granularity=average.granularity,
        range=base.range,
        params=((BETA,) if base.takes_beta else ()) + ((_label(base),) if average is BARE else ()),
        options=tuple(option for option in average.options if option not in drop),
        properties=Properties(
            symmetric=_symmetric(base, average),
            prevalence_sensitive=_sensitive(base, average),
        ),
        source="; ".join(part for part in (base.source, average.source) if part),
        example=_example(base, average),
        compute=_compute(base, average.compute),
        hints=dict.fromkeys(("binary", "multiclass"), average.hint) if average.hint else base.hints,
        floor=3 if base.range == (0.0, 1.0) and average is not LFB_TRAIN else 0,
        peers=base.peers,
    )


def _label(base: Base) -> Param:
    return replace(LABEL, required_for=tuple(task for task in LABEL.required_for if task in base.tasks))


def _example(base: Base, average: Average) -> Example:
    params = {"beta": "0.5"} if base.takes_beta else {}
    if average.suffix in base.example_data:
        return worked(base.example_data[average.suffix], base.examples[average.suffix], params)
    return example(average.suffix, base.examples, params)


def _names(base: Base, average: Average) -> tuple[str, ...]:
    """Its own names, then those of the average with the measure's, then the average with the measure's other names."""
    own = base.called.get(average.suffix, ())
    averages = tuple(f"{name} {base.name}" for name in average.names)
    return tuple(dict.fromkeys((*own, *averages, *(f"{average.name} {name}".strip() for name in base.names))))


def _symmetric(base: Base, average: Average) -> bool:
    # with one label per instance there are as many false positives as false negatives over all classes
    return (base.symmetric and average.symmetric) or (average is MICRO and "multilabel" not in base.tasks)


def _sensitive(base: Base, average: Average) -> bool:
    if average is BARE:
        return base.sensitive
    return average.moves or not base.own_class


def _compute(base: Base, compute: Callable[[Workspace, MetricCall, Ratio], Result]) -> Compute:
    def value(ws: Workspace, call: MetricCall) -> Result:
        return compute(ws, call, base.ratio(call))

    return value


def register_all(bases: tuple[Base, ...]) -> None:
    """Enter what the averages make of these measures into the catalogue, where they have a task in common."""
    for base in bases:
        for average in base.averages:
            if set(average.tasks) & set(base.tasks):
                register(metric_of(base, average))


register_all(BASES)
