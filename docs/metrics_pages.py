"""Generates docs/metrics: an index of all metrics and a page per family, from the declarations of the metrics."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markdown_parts import code, metric_link, safe, sentence, table

from app.scoring.catalogue import worked_examples
from app.scoring.catalogue.description import describe_metric, task_hints
from app.scoring.catalogue.settings_description import describe_accepted_values, describe_bounds
from app.scoring.declaration.metric import CATALOGUE, Example, Metric
from app.scoring.declaration.metric_parser import METRIC_KEY_ALIASES
from app.scoring.declaration.requirements import NEED_MEANINGS
from app.scoring.metrics import FAMILIES, MetricFamily

_LETTERS = {"binary": "B", "multiclass": "C", "multilabel": "L"}
_PROPERTIES = {
    "symmetric": "swapping gold and predictions does not change the value",
    "prevalence_sensitive": "replicating the instances of one class may change the value",
    "count_based": "a function of integer counts",
    "ordinal": "the order in which the classes are declared may change the value",
}
_BY_CLASS = ("macro", "weighted", "weighted_by_predicted", "lfb_train", "lfb_test")
_UNKNOWN = (
    "`unknown_label=count_as_fp`: a label outside the vocabulary is a false positive of no class; it lowers the recall "
    "of the gold class and the precision of no class"
)
_BOTH_RATIOS = (
    "the whole value is -1 if one of the two ratios is 0/0; under `unknown_label=count_as_fp` a label outside the "
    "vocabulary is a false positive, which may make that ratio defined and the value higher"
)
_BESIDE = ("positive_label", "train_frequencies", "hierarchy", "cost_matrix", "class_weights")
_INTRODUCTION = """# Metrics

Every metric of the catalogue, by family. A metric string names a metric: its key, then parameters and options, such as
`f1_macro`, `f_beta_macro:beta=0.5` or `f1_macro:label_set=gold`. [Conventions](../conventions.md) explains the options
and the presets of named tools. `assay metrics KEY` shows the same on a terminal, `GET /api/v1/metrics/{key}` as JSON;
both also accept a whole metric string and show the equation with its parameters and options.

{aliases}
Metrics that are tables or curves have the range "data"; [the report](../reports.md) of a submission contains most of
them.

Tasks: B binary, C multi-class, L multi-label. A metric may have these requirements:
"""


def index() -> str:
    """The page of all keys."""
    synonyms = "; ".join(f"`{alias}` for `{meant}`" for alias, meant in METRIC_KEY_ALIASES.items())
    aliases = f"A key may begin with another name of its measure, for every average: {synonyms}."
    lines = [
        _INTRODUCTION.replace("{aliases}", aliases),
        *table(["requirement", "meaning"], ([code(need), safe(text)] for need, text in NEED_MEANINGS.items())),
    ]
    for family in FAMILIES:
        lines += [f"## [{family.title}]({family.name}.md)", "", safe(family.meaning), ""]
        lines += table(["key", "name", "better", "range", "tasks", "needs"], map(_row, family.keys))
    return "\n".join(lines)


def _row(key: str) -> list[str]:
    metric = CATALOGUE[key]
    tasks = "".join(_LETTERS[task] for task in metric.tasks)
    return [metric_link(key), safe(metric.name), _better(metric), _range(metric), tasks, ", ".join(metric.needs)]


def _better(metric: Metric) -> str:
    return "" if metric.direction == "none" else metric.direction


def _range(metric: Metric) -> str:
    if not metric.scalar:
        return "data"
    return describe_bounds(describe_metric(metric)["range"])


# ---- one page per family -------------------------------------------------------------------------


def page(family: MetricFamily) -> str:
    """The page of a family."""
    data = _numbered(family)
    lines = [f"# {family.title}", "", f"{safe(family.meaning)} Back to [all metrics](README.md).", ""]
    lines += [f"- {line}" for line in _contents(family.keys)] + [""]
    for key in family.keys:
        lines += _section(CATALOGUE[key], data)
    lines += ["## Data of the examples", ""]
    shown = set[str]()
    for key in family.keys:
        name = data[key]
        if name not in shown:
            lines += _data(name, CATALOGUE[key])
        shown.add(name)
    return "\n".join(lines)


def _contents(keys: Sequence[str]) -> Iterator[str]:
    """A line per measure: its key, then the suffixes of the metrics derived from it."""
    roots = {key: _root(key, keys) for key in keys}
    for root in dict.fromkeys(roots.values()):
        made = [key for key in keys if roots[key] == root and key != root]
        endings = ", ".join(f"[{code(key.removeprefix(root))}](#{key})" for key in made)
        yield f"[{code(root)}](#{root})" + (f": {endings}" if endings else "")


def _root(key: str, keys: Sequence[str]) -> str:
    """The shortest key to which this one adds a suffix."""
    return next((other for other in sorted(keys, key=len) if key.startswith(f"{other}_")), key)


def _section(metric: Metric, data: Mapping[str, str]) -> list[str]:
    entry = describe_metric(metric)
    lines = [f"## `{metric.key}`", "", _names(metric), "", "```math", entry["equation"]["latex"], "```", ""]
    lines += table(["", ""], _facts(metric, entry, data))
    if not metric.scalar:
        lines += ["```json", worked_examples.format_example_value(metric), "```", ""]
    if metric.params:
        lines += [line for param in entry["params"] for line in _param(param)] + [""]
    return lines


def _names(metric: Metric) -> str:
    also = f" Also called {safe(', '.join(metric.names))}." if metric.names else ""
    return sentence(metric.name) + also


def _facts(metric: Metric, entry: Mapping[str, Any], data: Mapping[str, str]) -> Iterator[list[str]]:
    better = f"{metric.direction} is better" if metric.direction != "none" else "no direction"
    holds = [text for name, text in _PROPERTIES.items() if entry["properties"][name]]
    if not metric.supports_weights:
        holds.append("null if instances have weights")
    if entry["significant_digits"]:
        holds.append(f"rounded to {entry['significant_digits']} significant digits")
    if metric.acceptable:
        holds.append("gold may give several right answers for an instance")
    facts = {
        "where": "; ".join(f"{code(sign)} {safe(text)}" for sign, text in entry["symbols"].items()),
        "value": f"{better}; {_range(metric)}",
        "tasks": ", ".join(metric.tasks),
        "other tasks": "<br>".join(f"{tasks}: {safe(hint)}" for hint, tasks in task_hints(metric).items()),
        "needs": ", ".join(metric.needs),
        "conventions": ", ".join(map(_option, entry["options"])),
        "presets": ", ".join(_preset(one) for one in entry["presets"]),
        "properties": "; ".join(holds),
        "[granularity](../disclosure.md)": f"the value {metric.granularity.meaning}",
        "[interval](../uncertainty.md)": metric.interval.sentence if metric.scalar else "",
        "unknown labels": _UNKNOWN if _charges_classes(metric) else "",
        "0/0": _BOTH_RATIOS if metric.key.startswith(("informedness", "markedness")) else "",
        "other tools": "<br>".join(f"{safe(tool)}: {safe(text)}" for tool, text in metric.peers.items()),
        "source": safe(metric.source),
        "example": _example(metric, entry["example"], data[metric.key]),
    }
    return ([name, text] for name, text in facts.items() if text)


def _charges_classes(metric: Metric) -> bool:
    """Whether the value uses the false positives of classes, to which labels outside the vocabulary do not contribute."""
    base = metric.key.removesuffix("_top_k")
    averaged = base.endswith(tuple(f"_{suffix}" for suffix in _BY_CLASS))
    return "unknown_label" in metric.options and (averaged or any(param.name == "label" for param in metric.params))


def _option(option: Mapping[str, Any]) -> str:
    said = f"={option['default']}" if option["default"] else ""
    return f"[`{option['name']}{said}`](../conventions.md#{option['name']})"


def _preset(preset: Mapping[str, Any]) -> str:
    said = ", ".join(f"{name}={value}" for name, value in preset["options"].items())
    return f"[{preset['name']}](../conventions.md#{preset['name']}) (`{said}`)"


def _param(param: Mapping[str, Any]) -> Iterator[str]:
    yield f"- {code(param['name'])}: {safe(param['meaning'].rstrip('.'))} ({safe(describe_accepted_values(param))})"
    for value in param["values"]:
        name = f"**{code(value['value'])}**" if value["value"] == param["default"] else code(value["value"])
        yield f"  - {name}: {safe(value['meaning'])}" if value["meaning"] else f"  - {name}"


# ---- worked examples -----------------------------------------------------------------------------


def _example(metric: Metric, example: Mapping[str, Any], data: str) -> str:
    """The value, a link to its data, and the values that it is derived from."""
    params = ", ".join(f"`{name}={value}`" for name, value in metric.example.params.items())
    value = safe(worked_examples.format_example_value(metric)) if metric.scalar else "the data below,"
    text = f"{value} on [{data}](#{data.replace(' ', '-')})" + (f" with {params}" if params else "")
    classes = [f"{safe(row['class'])} ({_brief(row, 'class')})" for row in example.get("of_classes", [])]
    instances = [f"{at} ({_brief(row)})" for at, row in enumerate(example.get("of_instances", []), 1)]
    parts = [f"classes: {', '.join(classes)}"] * bool(classes) + [f"instances: {', '.join(instances)}"] * bool(
        instances
    )
    return "; ".join([text, *parts])


def _brief(row: Mapping[str, Any], *but: str) -> str:
    said = {name: value for name, value in row.items() if name not in but}
    return ", ".join(_number(value) if name == "value" else f"{name} {_number(value)}" for name, value in said.items())


def _number(value: Any) -> str:
    return "undefined" if value is None else f"{value:.6g}"


def _numbered(family: MetricFamily) -> dict[str, str]:
    """The name of each metric's data; equal data share a name."""
    names: dict[str, str] = {}
    found = {}
    for key in family.keys:
        found[key] = names.setdefault(_identity(CATALOGUE[key]), f"data {len(names) + 1}")
    return found


def _identity(metric: Metric) -> str:
    return repr((worked_examples.example_data_rows(metric), _beside(metric.example)))


def _beside(example: Example) -> list[str]:
    """The data of an example besides its instances."""
    found = [f"classes: {', '.join(example.classes)}"]
    for name in _BESIDE:
        value = getattr(example, name)
        if value is not None:
            found.append(f"{name.replace('_', ' ')}: {_mapping(value)}")
    return found


def _mapping(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key}: {f'({_mapping(item)})' if isinstance(item, Mapping) else _mapping(item)}"
            for key, item in value.items()
        )
    return " and ".join(value) if isinstance(value, tuple) else str(value)


def _data(name: str, metric: Metric) -> list[str]:
    rows = worked_examples.example_data_rows(metric)
    beside = f"A {metric.example.task} task. {sentence('; '.join(_beside(metric.example)))}"
    cells = ([safe(value) for value in row.values()] for row in rows)
    return [f"### {name}", "", beside, "", *table(list(rows[0]), cells)]
