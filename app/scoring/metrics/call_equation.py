"""A metric call in words and symbols: its equation, and the conventions that it uses."""

import math
import re
from fractions import Fraction

from app.scoring.declaration.metric import UNKNOWN_CELLS, Metric, MetricCall
from app.scoring.declaration.options import OPTIONS, split_labels
from app.scoring.metrics.equation_symbols import GREEK, symbols
from app.scoring.numeric.exact import to_fraction

_PARAM = re.compile(r"([_^]?)\\param\{(\w+)\}")
_NUMBER = re.compile(r"(-?[0-9.]+)(?:e(-?[0-9]+))?")
_UNINDEXED_COUNT = re.compile(r"(\\mathrm\{(?:TP|FP|FN|TN)\})(?!_)")
_WEIGHTED_SUM = re.compile(r"\\sum_\{([jk])\}(?= ?[a-z]_)")
_ALL_LABELS_OPTIONS = {
    "label_set": "declared",
    "absent_gold": "include",
    "exclude_labels": "",
    UNKNOWN_CELLS: "reject",
}
_EMPTY_CLASS_MEANINGS = {
    "number of declared labels": "number of labels: the declared ones and 'no label' for the empty set",
    "gold label set of instance i": "gold label set of instance i; 'no label' alone if it is empty",
    "predicted label set of instance i": "predicted label set of instance i; 'no label' alone if it is empty",
}
"""Meanings that change where the empty set is a class of its own."""
_SKIP_OPTIONS = ("both_empty", "one_empty", "degenerate_instance", UNKNOWN_CELLS)
_COUNT = re.compile(r"\\mathrm\{(TP|FP|FN|TN)\}")


def symbols_of_metric(metric: Metric) -> dict[str, str]:
    """The meaning of each symbol of the general equation."""
    return symbols(general_equation(metric), _declared_symbols(metric))


def symbols_of_call(call: MetricCall) -> dict[str, str]:
    """The meaning of each symbol of the equation of a call."""
    meanings = symbols(equation_of(call), _declared_symbols(call.metric))
    if "empty_label" not in call.metric.options or call.options["empty_label"] != "as_class":
        return meanings
    return {sign: _EMPTY_CLASS_MEANINGS.get(meaning, meaning) for sign, meaning in meanings.items()}


def _declared_symbols(metric: Metric) -> dict[str, str]:
    """The symbols that only this metric explains; a parameter has the meaning of its declaration."""
    return {GREEK.get(param.name, param.name): param.meaning for param in metric.params} | dict(metric.symbols)


def general_equation(metric: Metric) -> str:
    """The equation as declared, with the names of its parameters."""
    return _PARAM.sub(lambda match: _with_mark(match.group(1), _param_name_latex(match.group(2))), metric.equation)


def _param_name_latex(name: str) -> str:
    """The LaTeX of a parameter name: a letter, a letter with an index, or a word (k, α, n_train, bins)."""
    if name in GREEK:
        return rf"\{name}"
    first, _, rest = name.partition("_")
    letter = first if len(first) == 1 else rf"\mathrm{{{first}}}"
    return letter + (rf"_{{\mathrm{{{rest.replace('_', ' ')}}}}}" if rest else "")


def _with_mark(mark: str, latex: str) -> str:
    """The LaTeX that replaces a parameter, in braces where it is an index or exponent."""
    return f"{mark}{{{latex}}}" if mark else latex


def equation_of(call: MetricCall) -> str:
    """The equation with its parameters filled in; sums run over L instead of 1 … m where not all labels enter."""
    latex = call.metric.equation_of_call(call) if call.metric.equation_of_call else call.metric.equation
    latex = _PARAM.sub(lambda match: _with_mark(match.group(1), _param_value_latex(call, match.group(2))), latex)
    if "beta" in call.params:
        latex = _fill_in_beta(latex, to_fraction(call.params["beta"]))
    latex = _narrow_sums(latex, call)
    if "label" in call.params:
        latex = _UNINDEXED_COUNT.sub(r"\1_{L}", latex)
    latex = _state_known_cells(latex, call)
    replacement = None if call.metric.states_zero_division else zero_division_replacement(call)
    if replacement is not None:
        latex += rf",\quad \tfrac{{0}}{{0}}:={replacement}"
    return latex


def _param_value_latex(call: MetricCall, name: str) -> str:
    """The LaTeX of a parameter value; a label is written as L, because its text is user input."""
    value = call.params.get(name)
    if value is None:
        return _param_name_latex(name)
    match = _NUMBER.fullmatch(value)
    if match is None:
        return rf"\text{{{value.replace('_', ' ')}}}" if re.fullmatch("[a-z_]+", value) and name != "label" else "L"
    digits, exponent = match.groups()
    power = rf"10^{{{exponent}}}"
    latex = digits if exponent is None else power if digits == "1" else rf"{digits}\cdot {power}"
    return f"({latex})" if latex.startswith("-") else latex


def _narrow_sums(latex: str, call: MetricCall) -> str:
    """The equation with its sums restricted to the labels L or the instances I, where an option may leave some out."""
    settings = {name: call.options[name] for name in call.metric.options} | dict(call.params)
    skips = settings.get("zero_division") == "skip"
    chosen = any(settings.get(name, usual) != usual for name, usual in _ALL_LABELS_OPTIONS.items())
    if chosen or skips:
        latex = latex.replace(r"\frac{1}{m}\sum_{j=1}^{m}", r"\frac{1}{|L|}\sum_{j\in L}")
        latex = _WEIGHTED_SUM.sub(r"\\sum_{\1\\in L}", latex)
    if chosen:
        latex = latex.replace(r"\sum_{j}", r"\sum_{j\in L}").replace(r"\sum_{k}", r"\sum_{k\in L}")
        latex = latex.replace(r"\{j:", r"\{j\in L:").replace(r"\{k:", r"\{k\in L:")
    if any(settings.get(name) == "skip" for name in _SKIP_OPTIONS) or (skips and "both_empty" not in settings):
        latex = latex.replace(r"\frac{1}{n}\sum_{i=1}^{n}", r"\frac{1}{|I|}\sum_{i\in I}")
    return latex


def _state_known_cells(latex: str, call: MetricCall) -> str:
    """The equation with the known cells Ω that it counts, where the call leaves out unknown ones."""
    if UNKNOWN_CELLS not in call.metric.options or call.options[UNKNOWN_CELLS] != "skip":
        return latex
    latex = latex.replace(r"\frac{1}{n\,m}", r"\frac{1}{|\Omega|}")
    counts = [name for name in ("TP", "FP", "FN", "TN") if name in _COUNT.findall(latex)]
    sets = [] if r"\bar{P}" in latex else [sign for sign in ("P_{i}", "Y_{i}") if sign in latex]
    if counts:
        names = ",".join(rf"\mathrm{{{name}}}" for name in counts)
        return rf"{latex},\quad {names}\text{{ count }}(i,j)\in\Omega"
    if sets:
        return rf"{latex},\quad {','.join(sets)}\subseteq\{{j: (i,j)\in\Omega\}}"
    return rf"{latex},\quad (i,j)\in\Omega"


def convention_sentences(call: MetricCall) -> list[str]:
    """One sentence per convention that concerns the metric, taken from the declaration of the option or parameter."""
    sentences = [f"label={call.params['label']}: the class to evaluate."] if "label" in call.params else []
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
    """The value of 0/0 in a ratio of the metric; None where it is left out or would be infinite."""
    per_instance = "both_empty" in call.metric.options and call.params.get("pooled") != "true"
    if per_instance:  # only two empty sets give 0/0 there
        return {"1": "1", "0": "0"}.get(call.options["both_empty"])
    if "zero_division" not in call.metric.options:
        return None
    rule = call.options["zero_division"]
    low, high = call.metric.range
    worst = {"higher": low, "lower": high}.get(call.metric.direction, math.inf)
    return {"worst": None if math.isinf(worst) else f"{worst:g}", "0": "0", "1": "1"}.get(rule)
