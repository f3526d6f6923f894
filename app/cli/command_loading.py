"""Turns the declared tree of commands into typer's; a command imports its module when it is first used."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command_from_info
from typer.models import CommandInfo

from app.cli.command_tree import COMMAND_TREE, CommandDeclaration, GroupDeclaration
from app.cli.parameter_values import convert_without_pydantic

Headings = Mapping[str, tuple[CommandDeclaration | GroupDeclaration, ...]]
"""Declarations by the heading under which the help lists them."""


class _Command(TyperCommand):
    """A command of the tree."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, including --help."""
        return _prepare(super().get_params(ctx))


class _CommandsOnFirstUse(Mapping[str, Any]):
    """The commands of a group by name; a command is built, and its module imported, when it is first looked up."""

    def __init__(self, declared: Headings) -> None:
        self._declared = {each.name: (each, heading) for heading, several in declared.items() for each in several}
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build(*self._declared[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


class _Group(TyperGroup):
    """A group of commands; its help needs their declarations alone."""

    def __init__(self, *, declared: Headings, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _CommandsOnFirstUse(declared)
        self._declared = declared

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, including --help."""
        return _prepare(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (an overridden method)
        """The names of its commands."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write its commands, each with its summary, under their headings."""
        width = max(map(len, self.commands))
        for heading, declarations in self._declared.items():
            with formatter.section(heading):
                formatter.write_dl([(each.name.ljust(width), each.summary) for each in declarations])


class RootGroup(_Group):
    """The root of the tree; with --json it reports wrong usage as JSON too."""

    _json = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(declared=COMMAND_TREE, **settings)

    def make_context(self, info_name: str | None, args: list[str], *positional: Any, **extra: Any) -> Any:
        """The context of one run."""
        self._json = "--json" in args
        with self._report_usage_error():
            return super().make_context(info_name, args, *positional, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        with self._report_usage_error():
            return super().invoke(ctx)

    @contextmanager
    def _report_usage_error(self) -> Iterator[None]:
        try:
            yield
        except TyperException as error:
            from app.cli.terminal.output import EXIT_WRONG_USAGE

            if self._json and error.exit_code == EXIT_WRONG_USAGE:
                self._json = False  # print it once: an error in make_context can pass through invoke as well
                print(json.dumps({"code": "wrong_usage", "detail": error.format_message()}, indent=2))
            raise


def _build(declared: CommandDeclaration | GroupDeclaration, heading: str) -> Any:
    """The command or group of commands that is listed under a heading."""
    if isinstance(declared, GroupDeclaration):
        headings = {"Commands": declared.commands}
        return _Group(
            name=declared.name,
            help=declared.summary,
            no_args_is_help=True,
            declared=headings,
            rich_help_panel=heading,
            rich_markup_mode=None,
        )
    module, _, name = declared.function.rpartition(".")
    return get_command_from_info(
        CommandInfo(
            declared.name,
            cls=_Command,
            callback=getattr(import_module(f"app.cli.{module}"), name),
            epilog=f"Example: {declared.example}",
            rich_help_panel=heading,
        ),
        pretty_exceptions_short=False,
        rich_markup_mode=None,
    )


def _prepare(params: list[Any]) -> list[Any]:
    """The parameters, converted without pydantic, and with the type of flags hidden in the help: a flag takes no value."""
    for param in params:
        convert_without_pydantic(param)
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params
