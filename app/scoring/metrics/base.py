"""The base measures on one 2×2 table, each declared once, and every metric that the averages make of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from app.scoring.exact import fraction
from app.scoring.metric import Compute, Direction, Metric, MetricCall, Param, Properties, Result, register
from app.scoring.metrics.averages import AVERAGES, BARE, MICRO, SAMPLES, Average, Coefficients, Ratio
from app.scoring.metrics.examples import example
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
    """A measure of one 2×2 table: a ratio of two sums of coefficients × (TP, FP, FN, TN).

    `equation` writes TP, FP, FN, TN, which the averages index; `own_class`: it depends on the instances of its own
    class alone; `sensitive`: replicating one of the two classes moves it; `can_be_undefined`: it can be 0/0;
    `takes_beta`: the coefficients follow from the parameter β; `examples`: the exact value per average;
    `called`: names of its own that the measure has under an average.
    """

    key: str
    name: str
    names: tuple[str, ...]
    equation: str
    numerator: Coefficients
    denominator: Coefficients
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

    def ratio(self, call: MetricCall) -> Ratio:
        """The measure with its coefficients; β comes from the call where it is a parameter."""
        numerator, denominator = self.numerator, self.denominator
        if self.takes_beta:
            numerator, denominator = f_coefficients(fraction(call.params["beta"]))
        return Ratio(self.name, numerator, denominator, self.direction, self.set_like, self.agree)


def f_coefficients(beta: Fraction) -> tuple[Coefficients, Coefficients]:
    """F_beta by counts, scaled to integers: (1+β²)TP / ((1+β²)TP + FP + β²FN) (V eq 4 with FP and FN unswapped)."""
    p, q = beta.numerator**2, beta.denominator**2
    return (p + q, 0, 0, 0), (p + q, q, p, 0)


def _f(key: str, beta: str, equation: str, names: tuple[str, ...], examples: Mapping[str, str]) -> Base:
    numerator, denominator = f_coefficients(Fraction(beta))
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
    (1, 0, 0, 0),
    (1, 0, 1, 0),
    "Wenzel eq 1; Van Asch 2013 eq 2, 5",
    {"": "3/4", "macro": "5/9", "micro": "5/9", "weighted": "5/9", "lfb_train": "13/24", "samples": "3/4"},
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
    (1, 0, 0, 0),
    (1, 1, 0, 0),
    "Wenzel eq 5; Van Asch 2013 eq 1",
    {"": "3/5", "macro": "31/45", "micro": "5/9", "weighted": "88/135", "lfb_train": "41/60", "samples": "7/8"},
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
        {"": "2/3", "macro": "73/126", "micro": "5/9", "weighted": "215/378", "lfb_train": "97/168", "samples": "3/4"},
    ),
    _f(
        "f0_5",
        "0.5",
        r"\frac{1.25\,TP}{1.25\,TP+FP+0.25\,FN}",
        ("F0.5-score",),
        {
            "": "5/8",
            "macro": "1045/1656",
            "micro": "5/9",
            "weighted": "755/1242",
            "lfb_train": "695/1104",
            "samples": "29/36",
        },
    ),
    _f(
        "f2",
        "2",
        r"\frac{5\,TP}{5\,TP+FP+4\,FN}",
        ("F2-score",),
        {
            "": "5/7",
            "macro": "4855/8721",
            "micro": "5/9",
            "weighted": "14480/26163",
            "lfb_train": "6385/11628",
            "samples": "53/72",
        },
    ),
    Base(
        "f_beta",
        "F-beta",
        ("F-score with β", "complement of van Rijsbergen's effectiveness"),
        r"\frac{(1+\beta^{2})\,TP}{(1+\beta^{2})\,TP+FP+\beta^{2}\,FN}",
        (0, 0, 0, 0),
        (0, 0, 0, 0),
        "Wenzel eq 10; Van Asch 2013 eq 3-4 (eq 4 swaps FP and FN); Zhang & Zhou 2014 sec 2.2.2",
        {
            "": "5/8",
            "macro": "1045/1656",
            "micro": "5/9",
            "weighted": "755/1242",
            "lfb_train": "695/1104",
            "samples": "29/36",
        },
        set_like=True,
        agree=True,
        takes_beta=True,
    ),
    Base(
        "jaccard",
        "Jaccard index",
        ("IoU", "intersection over union", "critical success index", "threat score"),
        r"\frac{TP}{TP+FP+FN}",
        (1, 0, 0, 0),
        (1, 1, 1, 0),
        "Wenzel eq 26; Sefidian, macro and micro accuracy code",
        {"": "1/2", "macro": "37/90", "micro": "5/13", "weighted": "2/5", "lfb_train": "49/120", "samples": "5/8"},
        called={"samples": ("example-based accuracy", "BioASQ Acc.", "Jaccard similarity")},
        set_like=True,
        symmetric=True,
    ),
    Base(
        "specificity",
        "specificity",
        ("true negative rate", "TNR", "selectivity", "inverse recall"),
        r"\frac{TN}{TN+FP}",
        (0, 0, 0, 1),
        (0, 1, 0, 1),
        "Wenzel eq 2; Döring",
        {"": "2/3", "macro": "23/30", "micro": "7/9", "weighted": "67/90", "lfb_train": "31/40", "samples": "7/8"},
        sensitive=False,
    ),
    Base(
        "accuracy_ovr",
        "one-vs-rest accuracy",
        ("binary accuracy", "label-wise accuracy"),
        r"\frac{TP+TN}{TP+TN+FP+FN}",
        (1, 0, 0, 1),
        (1, 1, 1, 1),
        "Wenzel eq 7, 17; Van Asch 2013 eq 7",
        {"": "7/10", "macro": "19/27", "micro": "19/27", "weighted": "55/81", "lfb_train": "25/36", "samples": "3/4"},
        symmetric=True,
        can_be_undefined=False,
    ),
    Base(
        "error_rate_ovr",
        "one-vs-rest error rate",
        ("binary error rate", "misclassification rate"),
        r"\frac{FP+FN}{TP+TN+FP+FN}",
        (0, 1, 1, 0),
        (1, 1, 1, 1),
        "Wenzel eq 8",
        {"": "3/10", "macro": "8/27", "micro": "8/27", "weighted": "26/81", "lfb_train": "11/36", "samples": "1/4"},
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
    own = average.options
    drop = set() if base.can_be_undefined else {"zero_division"}
    if average is SAMPLES:
        drop |= {"zero_division"} if base.set_like else {"both_empty", "one_empty"}
    return Metric(
        key=f"{base.key}_{average.suffix}" if average.suffix else base.key,
        name=f"{average.name} {base.name}".strip(),
        names=_names(base, average),
        equation=written(base, average),
        tasks=average.tasks,
        needs=average.needs,
        direction=base.direction,
        range=(0.0, 1.0),
        params=((BETA,) if base.takes_beta else ()) + ((LABEL,) if average is BARE else ()),
        options=tuple(option for option in own if option not in drop),
        properties=Properties(
            symmetric=base.symmetric and average.symmetric,
            prevalence_sensitive=_sensitive(base, average),
        ),
        source="; ".join(part for part in (base.source, average.source) if part),
        example=example(average.suffix, base.examples, {"beta": "0.5"} if base.takes_beta else {}),
        compute=_compute(base, average.compute),
        hints=dict.fromkeys(("binary", "multiclass"), average.hint) if average.hint else {},
    )


def _names(base: Base, average: Average) -> tuple[str, ...]:
    """Its own names, then those of the average with the measure's, then the average with the measure's other names."""
    own = base.called.get(average.suffix, ())
    averages = tuple(f"{name} {base.name}" for name in average.names)
    return tuple(dict.fromkeys((*own, *averages, *(f"{average.name} {name}".strip() for name in base.names))))


def _sensitive(base: Base, average: Average) -> bool:
    if average is BARE:
        return base.sensitive
    return average.moves or not base.own_class


def _compute(base: Base, compute: Callable[[Workspace, MetricCall, Ratio], Result]) -> Compute:
    def value(ws: Workspace, call: MetricCall) -> Result:
        return compute(ws, call, base.ratio(call))

    return value


for _base in BASES:
    for _average in AVERAGES:
        register(metric_of(_base, _average))
