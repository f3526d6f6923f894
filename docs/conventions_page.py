"""Generates docs/conventions.md from the declarations of options, settings and presets."""

from collections.abc import Iterator, Sequence

from markdown_parts import code, linked, safe, table

from app.scoring.catalogue.settings_description import all_settings, describe_preset
from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.decision_rules import DECISION_RULES
from app.scoring.declaration.metric import CATALOGUE, Param
from app.scoring.declaration.options import OPTIONS, Option

_METRICS = "metrics/"
_INTRODUCTION = """# Conventions

Where tools disagree, a metric's value depends on a convention. Each convention is an option with a default. A recipe
sets it for all metrics (`options`), a metric string for one metric (`f1_macro:zero_division=0`), and `assay score` for
one run (`--option zero_division=0`). The board shows the options in force beside each equation. A metric ignores
options that do not concern it; an unknown option is refused.

This page lists the [options](#options), which concern many metrics, the [settings](#settings), which concern few, the
[presets](#presets), which reproduce a named tool, and the rules by which
[hard labels follow from scores](#hard-labels-from-scores). The default is bold. The metrics are in
[metrics](metrics/README.md).
"""
_SETTINGS = """## Settings

Settings are parameters of metrics that have a default. They may be set once for all metrics too; a metric that does not
support the value uses its own default.
"""
_PRESETS = """## Presets

A preset sets the conventions of a named tool, so that its published numbers can be reproduced:
`"options": {"preset": "sklearn"}` in a recipe, or `assay score --preset sklearn`. Options that are given explicitly
take precedence. `assay metrics f1_macro --preset sklearn` shows a metric under a preset.
"""
_DECISIONS = """## Hard labels from scores

If a file gives scores but no labels, hard-label metrics use the labels that follow by the recipe's `decision`: the name
of a rule, or an object such as `{"rule": "threshold", "threshold": 0.4}`. The default is `argmax` for exclusive
classes, and `threshold` for multi-label data and for the single score of a positive label. The notes of a submission
name the rule that was used.
"""


def page() -> str:
    """The whole page."""
    lines = [_INTRODUCTION, "## Options", ""]
    for option in OPTIONS.values():
        lines += _option(option)
    lines += [_SETTINGS, *_settings(), _PRESETS, *_presets(), _DECISIONS, *_decisions()]
    return "\n".join(lines)


def _option(option: Option) -> Iterator[str]:
    count = sum(option.name in metric.options for metric in CATALOGUE.values())
    yield from (f"### `{option.name}`", "", f"{safe(option.meaning)} It concerns {count} metrics.", "")
    if option.values:
        yield from _values(option.values, option.value_meanings, option.default)
    else:
        yield from ("A list of labels joined by `|`; by default empty.", "")


def _values(values: Sequence[str], meanings: Sequence[str], default: str) -> list[str]:
    named = [f"**{code(value)}**" if value == default else code(value) for value in values]
    return table(["value", "meaning"], zip(named, map(safe, meanings), strict=True))


def _settings() -> Iterator[str]:
    for name, declared in all_settings().items():
        yield from (f"### `{name}`", "")
        for param, keys in declared.items():
            yield from (f"{_meaning(param)} Parameter of {linked(keys, _METRICS)}.", "")
            if param.kind == "choice" and param.default is not None:
                meanings = param.value_meanings or [""] * len(param.values)
                yield from _values(param.values, meanings, param.default)


def _meaning(param: Param) -> str:
    """The meaning of a parameter as a sentence, with its default unless a table shows it."""
    text = safe(param.meaning.rstrip("."))
    usual = "" if param.kind == "choice" else f", by default **{code(param.default)}**"
    words = "".join(f", or {code(word)}" for word in param.values if word != param.default and param.kind != "choice")
    return f"{text[:1].upper()}{text[1:]}{usual}{words}."


def _presets() -> Iterator[str]:
    for preset in PRESETS.values():
        shown = describe_preset(preset)
        yield from (f"### `{preset.name}`", "", f"The tool: {safe(preset.tool)}.", "")
        rows = [["all", one] for one in shown["options"]]
        rows += [[linked(some["keys"], _METRICS), one] for some in shown["by_key"] for one in some["options"]]
        cells = ([keys, f"`{one['name']}={one['value']}`", safe(one["meaning"])] for keys, one in rows)
        yield from table(["metrics", "sets", "meaning"], cells)
        if preset.positive_first:
            yield from (
                "The positive label of a binary task is the class declared first, unless it is given.",
                "",
            )
        if preset.remark:
            yield from (f"Remark: {safe(preset.remark)}.", "")


def _decisions() -> list[str]:
    rows = ([code(name), ", ".join(rule.tasks), safe(rule.meaning)] for name, rule in DECISION_RULES.items())
    return table(["rule", "tasks", "meaning"], rows)
