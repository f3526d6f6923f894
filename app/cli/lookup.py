"""The command that looks up the catalogue of metrics, without a service."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.layout import Column, show_table
from app.cli.options import AsJson
from app.cli.output import reporting
from app.cli.text import clean

if TYPE_CHECKING:
    from rich.console import Console


def metrics(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="Key of one metric, e.g. f1_macro; none lists all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look up the catalogue of metrics: equation, parameters, options, source, worked example."""
    with reporting(as_json=as_json) as out:
        from app.scoring.asked import find
        from app.scoring.catalogue import describe, describe_all

        if key is None:
            entries = describe_all()
            out.result(entries, lambda console: _show_catalogue(console, entries))
            return
        entry = describe(find(key))
        out.result(entry, lambda console: _show_metric(console, entry))


def _show_catalogue(console: "Console", entries: Sequence[Mapping[str, Any]]) -> None:
    columns = [
        Column("key", [one["key"] for one in entries]),
        Column("name", [one["name"] for one in entries], wrap=True),
        Column("better", [one["direction"] for one in entries]),
        Column("range", [_range(one["range"]) for one in entries], far=1),
        Column("tasks", [", ".join(one["tasks"]) for one in entries], wrap=True, far=1),
    ]
    show_table(console, columns)


def _range(bounds: Any) -> str:
    low, high = (end if end is None else f"{end:g}" for end in bounds)
    return f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}" if high else "any number"


def _show_metric(console: "Console", entry: Mapping[str, Any]) -> None:
    console.print(f"{entry['key']}: {clean(entry['name'])}")
    equation = entry["equation"]
    facts = {
        "also called": ", ".join(entry["names"]),
        "equation": equation["latex"] if isinstance(equation, Mapping) else equation,
        "better": entry["direction"],
        "range": _range(entry["range"]),
        "tasks": ", ".join(entry["tasks"]),
        "needs": ", ".join(entry["needs"]),
        "source": entry["source"],
    }
    for name, value in facts.items():
        if value:
            console.print(f"{name}: {clean(value)}", soft_wrap=True)
    for title, declared in (("parameter", entry["params"]), ("option", entry["options"])):
        for one in declared:
            _show_declared(console, title, one)
    if entry.get("example"):
        console.print("example:")
        for name, value in entry["example"].items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            console.print(f"  {name}: {clean(shown)}", soft_wrap=True)


def _show_declared(console: "Console", title: str, one: Mapping[str, Any]) -> None:
    """A parameter or option: its default, its meaning, and what each of its values means."""
    default = one.get("default")
    usual = f" (default: {clean(default)})" if default not in {None, ""} else ""
    console.print(f"{title} {clean(one['name'])}{usual}: {clean(one['meaning'])}", soft_wrap=True)
    values = one.get("values")
    if not isinstance(values, list | tuple):
        return
    for value in values:
        if isinstance(value, Mapping):
            console.print(f"  {clean(value['value'])}: {clean(value['meaning'])}", soft_wrap=True)
    if values and not isinstance(values[0], Mapping):
        console.print(f"  from {clean(values[0])} to {clean(values[-1])}")
