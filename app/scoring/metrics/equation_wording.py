"""How a call of a metric is put into words and symbols: its equation with the conventions that it uses."""

import math
import re
from fractions import Fraction

from app.scoring.declaration.metric import Metric, MetricCall
from app.scoring.declaration.options import OPTIONS, split_labels
from app.scoring.metrics.equation_symbols import GREEK, symbols
from app.scoring.numeric.exact import to_fraction

_PARAM = re.compile(r"([_^]?)\\param\{(\w+)\}")
_NUMBER = re.compile(r"(-?[0-9.]+)(?:e(-?[0-9]+))?")
_UNINDEXED_COUNT = re.compile(r"(\\mathrm\{(?:TP|FP|FN|TN)\})(?!_)")
_WEIGHTED_SUM = re.compile(r"\\sum_\{([jk])\}(?= ?[a-z]_)")
_ALL_LABELS_OPTIONS = {"label_set": "declared", "absent_gold": "include", "exclude_labels": ""}
_EMPTY_CLASS_MEANINGS = {
    "number of declared labels": "number of labels: the declared ones and, of label sets, 'no label' for the empty one",
    "gold label set of instance i": "gold label set of instance i; that of 'no label' alone where it is empty",
    "predicted label set of instance i": "predicted label set of instance i; that of 'no label' alone where it is empty",
}
"""What changes in the meaning of letters where the empty set is a class of its own."""
_SKIP_OPTIONS = ("both_empty", "one_empty", "degenerate_instance")


def symbols_of_metric(metric: Metric) -> dict[str, str]:
    """What the letters of the general equation mean."""
    return symbols(general_equation(metric), _declared_symbols(metric))


def symbols_of_call(call: MetricCall) -> dict[str, str]:
    """What the letters of the equation of a call mean."""
    found = symbols(equation_of(call), _declared_symbols(call.metric))
    if "empty_label" not in call.metric.options or call.options["empty_label"] != "as_class":
        return found
    return {sign: _EMPTY_CLASS_MEANINGS.get(meaning, meaning) for sign, meaning in found.items()}


def _declared_symbols(metric: Metric) -> dict[str, str]:
    """The letters that a metric explains; a parameter is what its declaration says."""
    return {GREEK.get(param.name, param.name): param.meaning for param in metric.params} | dict(metric.symbols)


def general_equation(metric: Metric) -> str:
    """The equation as declared, with the names of its parameters."""
    return _PARAM.sub(lambda found: _with_mark(found.group(1), _param_name_latex(found.group(2))), metric.equation)


def _param_name_latex(name: str) -> str:
    """The name of a parameter as a letter with an index, or as a word: k, α, n with the index train, bins."""
    if name in GREEK:
        return rf"\{name}"
    first, _, rest = name.partition("_")
    letter = first if len(first) == 1 else rf"\mathrm{{{first}}}"
    return letter + (rf"_{{\mathrm{{{rest.replace('_', ' ')}}}}}" if rest else "")


def _with_mark(mark: str, written: str) -> str:
    """What replaces a parameter; as an index or exponent it stays together."""
    return f"{mark}{{{written}}}" if mark else written


def equation_of(call: MetricCall) -> str:
    """The equation with its parameters filled in, and the label set L in place of 1 … m where it is not all labels."""
    latex = call.metric.equation_of_call(call) if call.metric.equation_of_call else call.metric.equation
    latex = _PARAM.sub(lambda found: _with_mark(found.group(1), _param_value_latex(call, found.group(2))), latex)
    if "beta" in call.params:
        latex = _fill_in_beta(latex, to_fraction(call.params["beta"]))
    latex = _narrow_sums(latex, call)
    if "label" in call.params:
        latex = _UNINDEXED_COUNT.sub(r"\1_{L}", latex)
    replacement = None if call.metric.states_zero_division else zero_division_replacement(call)
    if replacement is not None:
        latex += rf",\quad \tfrac{{0}}{{0}}:={replacement}"
    return latex


def _param_value_latex(call: MetricCall, name: str) -> str:
    """A parameter's value in an equation; labels are a user's words and stay out."""
    value = call.params.get(name)
    if value is None:
        return _param_name_latex(name)
    number = _NUMBER.fullmatch(value)
    if number is None:
        return rf"\text{{{value.replace('_', ' ')}}}" if re.fullmatch("[a-z_]+", value) and name != "label" else "L"
    digits, exponent = number.groups()
    power = rf"10^{{{exponent}}}"
    written = digits if exponent is None else power if digits == "1" else rf"{digits}\cdot {power}"
    return f"({written})" if written.startswith("-") else written


def _narrow_sums(latex: str, call: MetricCall) -> str:
    """The equation over the labels L or the instances I that enter the average, where those need not be all."""
    said = {name: call.options[name] for name in call.metric.options} | dict(call.params)
    skips = said.get("zero_division") == "skip"
    chosen = any(said.get(name, usual) != usual for name, usual in _ALL_LABELS_OPTIONS.items())
    if chosen or skips:
        latex = latex.replace(r"\frac{1}{m}\sum_{j=1}^{m}", r"\frac{1}{|L|}\sum_{j\in L}")
        latex = _WEIGHTED_SUM.sub(r"\\sum_{\1\\in L}", latex)
    if chosen:
        latex = latex.replace(r"\sum_{j}", r"\sum_{j\in L}").replace(r"\sum_{k}", r"\sum_{k\in L}")
        latex = latex.replace(r"\{j:", r"\{j\in L:").replace(r"\{k:", r"\{k\in L:")
    if any(said.get(name) == "skip" for name in _SKIP_OPTIONS) or (skips and "both_empty" not in said):
        latex = latex.replace(r"\frac{1}{n}\sum_{i=1}^{n}", r"\frac{1}{|I|}\sum_{i\in I}")
    return latex


def convention_sentences(call: MetricCall) -> list[str]:
    """One sentence for each convention that concerns the metric, in the words of its declaration."""
    sentences = [f"label={call.params['label']}: the class meant."] if "label" in call.params else []
    for param in call.metric.params:
        value = call.params.get(param.name)
        if param.default is not None and value is not None:
            meanings = dict(zip(param.values, param.value_meanings, strict=False))
            sentences.append(f"{param.name}={value}: {meanings.get(value, param.meaning).rstrip('.')}.")
    for name in call.metric.options:
        option, value = OPTIONS[name], call.options[name]
        if option.values:
            sentences.append(f"{name}={value}: {option.value_meanings[option.values.index(value)]}.")
        elif value:
            sentences.append(f"{name}: without {', '.join(split_labels(value))}.")
    return sentences


def _fill_in_beta(latex: str, beta: Fraction) -> str:
    square = beta * beta
    return latex.replace(r"(1+\beta^{2})", _fraction_latex(1 + square)).replace(r"\beta^{2}", _fraction_latex(square))


def _fraction_latex(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.6g}"
    return text if to_fraction(text) == value else rf"\tfrac{{{value.numerator}}}{{{value.denominator}}}"


def zero_division_replacement(call: MetricCall) -> str | None:
    """What 0/0 counts as in a ratio of the metric; None where it is left out, or its value would be infinite."""
    per_instance = "both_empty" in call.metric.options and call.params.get("pooled") != "true"
    if per_instance:  # nothing else is 0/0 there than two empty sets
        return {"1": "1", "0": "0"}.get(call.options["both_empty"])
    if "zero_division" not in call.metric.options:
        return None
    rule = call.options["zero_division"]
    low, high = call.metric.range
    worst = {"higher": low, "lower": high}.get(call.metric.direction, math.inf)
    return {"worst": None if math.isinf(worst) else f"{worst:g}", "0": "0", "1": "1"}.get(rule)
