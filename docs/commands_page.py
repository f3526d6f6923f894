"""Generates docs/commands.md: every command of `assay`, from the command tree."""

from collections.abc import Iterator
from typing import Any

from markdown_parts import code, safe, table
from typer.main import get_command

from app.cli import root

_INTRODUCTION = """# Commands

All commands of `assay`. With `--json`, every command except `serve` prints one JSON value. `assay COMMAND --help` shows
the same text on a terminal.
"""


def page() -> str:
    """The whole page."""
    tree: Any = get_command(root)
    lines = [_INTRODUCTION]
    panels: dict[str, list[tuple[str, Any]]] = {}
    for name, command in tree.commands.items():
        panels.setdefault(str(command.rich_help_panel), []).extend(_leaves(name, command))
    for panel, commands in panels.items():
        lines += [f"## {panel}", ""]
        for name, command in commands:
            lines += _section(name, command)
    return "\n".join(lines)


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The command, or those of a group, each with its full name."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, each in command.commands.items():
        yield from _leaves(f"{name} {word}", each)


def _section(name: str, command: Any) -> Iterator[str]:
    meaning = " ".join(command.help.split())
    yield from (
        f"### `assay {name}`",
        "",
        safe(meaning),
        "",
        "```sh",
        command.epilog.removeprefix("Example: "),
        "```",
        "",
    )
    rows = [[_written(param), safe(param.help or "")] for param in command.params]
    yield from table(["argument", "meaning"], rows)


def _written(param: Any) -> str:
    """An option with its short form and value, or the name of an argument."""
    value = param.metavar or ""
    if param.param_type_name == "argument":
        return code(value or param.name.upper())
    names = ", ".join(code(option) for option in param.opts)
    return f"{names} {value}".rstrip()
