"""How a call of a metric is put into words and symbols: its equation with the conventions that it uses."""

import re
from fractions import Fraction

from app.scoring.exact import fraction
from app.scoring.metric import Metric, MetricCall
from app.scoring.options import OPTIONS, split_labels

_PARAM = re.compile(r"\\param\{(\w+)\}")
_COUNTS = (("TP", "true positives"), ("FP", "false positives"), ("FN", "false negatives"), ("TN", "true negatives"))
_SYMBOLS = (
    *((sign, rf"\mathrm{{{sign}}}", meaning) for sign, meaning in _COUNTS),
    ("j", "_{j}", "runs over the classes, each against the rest"),
    ("k", "_{k}", "runs over the classes"),
    ("i", "_{i}", "runs over the instances"),
    ("L", r"\in L", "the labels that enter the average"),
    ("L", "_{L}", "the class meant"),
    ("m", r"{m}", "number of declared labels"),
    ("m", r"\,m}", "number of declared labels"),
    *(("n", written, "number of instances") for written in ("{n}", r"{n\,", "n^{2}")),
    ("n_j", "n_{j}", "instances of class j in gold"),
    ("n_k", "n_{k}", "instances of class k in gold"),
    ("p_j", "p_{j}", "predictions of class j"),
    ("c_j", "c_{j}", "training instances of class j"),
    ("w_k", "w_{k}", "weight of class k"),
    ("P_i", "[P_{i}", "predicted label set of instance i"),
    ("P_i", "|P_{i}", "predicted label set of instance i"),
    ("Y_i", "Y_{i}", "gold label set of instance i"),
    ("p_i", "(p_{i}", "probability of the positive label for instance i"),
    ("p_{i,k}", "p_{i,", "probability of a class for instance i"),
    ("y_i", "y_{i}", "gold class of instance i"),
    ("+", "=+", "the positive label"),
    ("P_j, R_j", "P_{j}", "precision and recall of class j"),
    ("P_i, R_i", r" P_{i},", "precision and recall of instance i"),
    ("β", r"\beta", "weight of recall against precision"),
)


def symbols(latex: str) -> dict[str, str]:
    """What the letters of an equation of the catalogue mean."""
    return {sign: meaning for sign, written, meaning in _SYMBOLS if written in latex}


def general(metric: Metric) -> str:
    """The equation as declared, with the names of its parameters."""
    return _PARAM.sub(lambda found: found.group(1), metric.equation)


def equation_of(call: MetricCall) -> str:
    """The equation with its parameters filled in, and the label set L in place of 1 … m where it is not all labels."""
    latex = call.metric.shown(call) if call.metric.shown else call.metric.equation
    latex = _PARAM.sub(lambda found: _safe(call.params.get(found.group(1), found.group(1))), latex)
    if "beta" in call.params:
        latex = _with_beta(latex, fraction(call.params["beta"]))
    if narrowed(call):
        latex = latex.replace(r"\frac{1}{m}\sum_{j=1}^{m}", r"\frac{1}{|L|}\sum_{j\in L}")
        latex = latex.replace(r"\sum_{j}", r"\sum_{j\in L}").replace(r"\sum_{k}", r"\sum_{k\in L}")
    if "label" in call.params:
        for count in ("TP", "FP", "FN", "TN"):
            latex = latex.replace(rf"\mathrm{{{count}}}", rf"\mathrm{{{count}}}_{{L}}")
    replacement = _replacement(call)
    if replacement is not None:
        latex += rf",\quad \tfrac{{0}}{{0}}:={replacement}"
    return latex


def _safe(value: str) -> str:
    """A parameter's value in an equation; labels are a user's words and stay out."""
    return value if re.fullmatch(r"[-+0-9.e]+|[a-z]+", value) else "L"


def narrowed(call: MetricCall) -> bool:
    """Whether the average runs over fewer labels than all declared ones."""
    chosen = {
        name: call.options[name]
        for name in ("label_set", "absent_gold", "exclude_labels")
        if name in call.metric.options
    }
    return any(value != OPTIONS[name].default for name, value in chosen.items())


def conventions(call: MetricCall) -> list[str]:
    """One sentence for each convention that concerns the metric, in the words of its declaration."""
    sentences = [f"label: L is the class {call.params['label']}."] if "label" in call.params else []
    for param in call.metric.params:
        value = call.params.get(param.name)
        if param.default is not None and value is not None:
            meanings = dict(zip(param.values, param.value_meanings, strict=False))
            sentences.append(f"{param.name}={value}: {meanings.get(value, param.meaning)}.")
    for name in call.metric.options:
        option, value = OPTIONS[name], call.options[name]
        if option.values:
            sentences.append(f"{name}={value}: {option.value_meanings[option.values.index(value)]}.")
        elif value:
            sentences.append(f"{name}: without {', '.join(split_labels(value))}.")
    return sentences


def _with_beta(latex: str, beta: Fraction) -> str:
    square = beta * beta
    return latex.replace(r"(1+\beta^{2})", _number(1 + square)).replace(r"\beta^{2}", _number(square))


def _number(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.6g}"
    return text if fraction(text) == value else rf"\tfrac{{{value.numerator}}}{{{value.denominator}}}"


def _replacement(call: MetricCall) -> str | None:
    if "zero_division" not in call.metric.options:
        return None
    rule = call.options["zero_division"]
    worst = "0" if call.metric.direction == "higher" else "1"
    return {"worst": worst, "0": "0", "1": "1"}.get(rule)
