"""Shows metrics on a terminal (equation, meaning of each parameter and option, worked example), and presets."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.cli.terminal.plain_math import mathml_to_text
from app.cli.terminal.safe_text import PLAIN, clean
from app.cli.terminal.table_layout import Column, format_numbers, format_texts, show_table

if TYPE_CHECKING:
    from rich.console import Console

Json = Mapping[str, Any]
_PROPERTY_MEANINGS = {
    "symmetric": "swapping gold and predictions does not change the value",
    "prevalence_sensitive": "replicating the instances of one class can change the value",
    "count_based": "a function of integer counts",
    "ordinal": "the order in which the classes are declared can change the value",
}
_EXAMPLE_SETTINGS = ("positive_label", "train_frequencies", "hierarchy", "cost_matrix", "class_weights", "params")


def show_metric(console: "Console", entry: Json) -> None:
    """Print everything about a metric with the requested parameters and options."""
    console.print(f"{clean(entry['key'])} ({clean(entry['name'])})", style="bold", **PLAIN)
    console.print()
    console.print(f"  {mathml_to_text(entry['equation']['mathml'])}", **PLAIN)
    console.print(f"  LaTeX: {entry['equation']['latex']}", **PLAIN)
    console.print()
    show_rows(console, entry["symbols"].items())
    console.print()
    show_rows(console, _facts(entry))
    _show_params(console, entry["params"])
    _show_options(console, entry["options"])
    _show_presets_and_peers(console, entry)
    _show_example(console, entry)


def _facts(entry: Json) -> list[tuple[str, str]]:
    from app.scoring.catalogue.settings_description import describe_bounds

    facts = {
        "also called": ", ".join(entry["names"]),
        "family": entry["family"],
        "better": "no direction" if entry["direction"] == "none" else entry["direction"],
        "range": describe_bounds(entry["range"]) if entry["scalar"] else "a table, not a single number",
        "tasks": ", ".join(entry["tasks"]),
        "needs": "; ".join(f"{need}: {meaning}" for need, meaning in entry["needs_meanings"].items()),
        "weights": "an instance of weight 3 counts like three"
        if entry["weights"]
        else "null where instances have weights",
        "acceptable": "gold may give several right answers to an instance" if entry["acceptable_sets"] else "",
        "properties": "; ".join(_PROPERTY_MEANINGS[name] for name, holds in entry["properties"].items() if holds),
        "rounded": f"to {entry['significant_digits']} significant digits" if entry["significant_digits"] else "",
        "single labels": f"its value {entry['granularity']['meaning']}",
        "interval": entry["interval"]["meaning"] if entry["interval"] else "",
        "source": entry["source"],
    }
    hints: dict[str, list[str]] = {}
    for task, hint in entry["hints"].items():
        hints.setdefault(hint, []).append(task)
    return [
        *((name, text) for name, text in facts.items() if text),
        *((f"for {' and '.join(tasks)}", hint) for hint, tasks in hints.items()),
    ]


def _show_params(console: "Console", params: Sequence[Json]) -> None:
    from app.scoring.catalogue.settings_description import describe_accepted_values

    if params:
        _show_heading(console, "Parameters")
    for param in params:
        value = f"={param['value']}" if param["value"] is not None else "=…" if param["required_for"] else ""
        meaning = f"{param['meaning'].rstrip('.')} ({describe_accepted_values(param)})"
        _show_setting(console, param, f"{param['name']}{value}  {meaning}")


def _show_options(console: "Console", options: Sequence[Json]) -> None:
    if options:
        _show_heading(console, "Conventions")
    for option in options:
        value = f"={option['value']}" if option["value"] else ""
        _show_setting(console, option, f"{option['name']}{value}  {option['meaning']}")


def _show_setting(console: "Console", setting: Json, text: str) -> None:
    """Print a parameter or option with the meaning of each value; the current value is marked."""
    _show_text(console, text)
    rows = []
    for value in setting["values"]:
        mark = "▸ " if value["value"] == setting["value"] else "  "
        default = " (default)" if value["value"] == setting["default"] else ""
        rows.append((f"  {mark}{value['value']}{default}", value["meaning"]))
    show_rows(console, rows)


def _show_presets_and_peers(console: "Console", entry: Json) -> None:
    if entry["presets"]:
        _show_heading(console, "Presets")
        show_rows(console, ((preset["name"], _format_options(preset["options"])) for preset in entry["presets"]))
    if entry["peers"]:
        _show_heading(console, "Other tools")
        show_rows(console, entry["peers"].items())


def _format_options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _show_example(console: "Console", entry: Json) -> None:
    """Print the example's data as a table, then how the value follows from them."""
    from app.scoring.catalogue import worked_examples
    from app.scoring.declaration.metric import CATALOGUE

    metric, example = CATALOGUE[entry["metric"]], entry["example"]
    _show_heading(console, f"Example ({example['task']})")
    unused = set() if "train_frequencies" in entry["needs"] else {"train_frequencies"}
    settings = [name for name in _EXAMPLE_SETTINGS if example.get(name) and name not in unused]
    show_rows(console, [(name.replace("_", " "), _format_value(example[name])) for name in settings])
    data, values = worked_examples.example_data_rows(metric), example.get("of_instances", [{}] * len(example["gold"]))
    _show_table(console, [row | more for row, more in zip(data, values, strict=True)])
    if "of_classes" in example:
        console.print()
        _show_table(console, example["of_classes"])
    console.print()
    for line in worked_examples.format_example_value(metric).splitlines():
        console.print(f"  {clean(line)}", **PLAIN)


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).strip("{}").replace('"', "")


def _show_table(console: "Console", rows: Sequence[Json]) -> None:
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        numeric = all(value is None or isinstance(value, int | float) for value in values)
        columns.append(Column(name, values, format_numbers if numeric else format_texts, right=numeric))
    show_table(console, columns)


def show_presets(console: "Console", presets: Sequence[Json]) -> None:
    """Print presets with all options that they set."""
    for preset in presets:
        console.print(f"{clean(preset['name'])}: {clean(preset['tool'])}", style="bold", **PLAIN)
        show_rows(console, _option_rows(preset["options"]))
        for group in preset["by_key"]:
            _show_text(console, f"for {', '.join(group['keys'])}:")
            show_rows(console, ((f"  {name}", meaning) for name, meaning in _option_rows(group["options"])))
        if preset["positive_first"]:
            console.print("  the positive label of a binary task is the class declared first", **PLAIN)
        if preset["remark"]:
            show_rows(console, [("remark", preset["remark"])])
        console.print()


def _option_rows(options: Sequence[Json]) -> Iterable[tuple[str, str]]:
    return ((f"{option['name']}={option['value']}", option["meaning"]) for option in options)


def _show_heading(console: "Console", title: str) -> None:
    console.print()
    console.print(title, style="bold", **PLAIN)


def _show_text(console: "Console", text: str) -> None:
    """Print wrapped, indented text."""
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(clean(text)), (0, 0, 0, 2), expand=False))


def show_rows(console: "Console", rows: Iterable[Sequence[str]]) -> None:
    """Print rows of texts in indented columns; the last column is wrapped."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for first, *rest in rows:
        grid.add_row(*(Text(clean(text)) for text in (f"  {first}", *rest)))
    for column in grid.columns[:-1]:
        column.no_wrap = True
    if grid.row_count:
        console.print(grid)
