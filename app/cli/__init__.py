"""The command `assay`: the tree of all commands, each with an example in its help."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from app import __version__
from app.cli import (
    account,
    backup,
    convert,
    demo,
    doctor,
    metrics,
    organizer,
    participant,
    rerun,
    score,
    serve,
    what_if,
)
from app.cli.terminal.output import EXIT_WRONG_USAGE

CommandSpec = tuple[str, Callable[..., None], str]

_EXAMPLE_SUBMISSION_ID = "019a3c5e7b1f7d04a2c98e6f50b1d327"

_TOP_LEVEL_COMMANDS: dict[str, tuple[CommandSpec, ...]] = {
    "Score on this machine": (
        ("score", score.score, "assay score --gold gold.jsonl --predictions mine.json --metric f1_macro"),
        (
            "what-if",
            what_if.what_if,
            "assay what-if --gold gold.jsonl --predictions mine.json --share 0.05 --target-label cat",
        ),
        ("convert", convert.convert, "assay convert --n 1000 --positives 120 --precision 0.81 --recall 0.74 --f1 0.77"),
        ("metrics", metrics.metrics, "assay metrics f1_macro"),
    ),
    "Take part": (
        ("signup", account.signup, 'assay signup --email ada@example.org --name "Ada"'),
        ("login", account.login, "assay login --url https://assay.example.org"),
        ("logout", account.logout, "assay logout"),
        ("register", participant.register, 'assay register digits --team "Linear"'),
        ("template", participant.template, "assay template digits --format csv -o mine.csv"),
        ("validate", participant.validate, "assay validate digits -f mine.json"),
        ("submit", participant.submit, 'assay submit digits -f mine.json -m "SVM, bigrams" --wait'),
        ("submissions", participant.submissions, "assay submissions digits"),
        ("submission", participant.submission, f"assay submission {_EXAMPLE_SUBMISSION_ID}"),
        ("select", participant.select, f"assay select {_EXAMPLE_SUBMISSION_ID}"),
        ("unselect", participant.unselect, f"assay unselect {_EXAMPLE_SUBMISSION_ID}"),
        ("cancel", participant.cancel, f"assay cancel {_EXAMPLE_SUBMISSION_ID}"),
        ("quota", participant.quota, "assay quota digits"),
        ("leaderboard", participant.leaderboard, "assay leaderboard digits --csv"),
    ),
    "Organize": (("rerun", rerun.rerun, "assay rerun digits --phase main --wait"),),
    "Run the service": (
        ("serve", serve.serve, "assay serve --port 8000 --data-dir ./assay-data"),
        ("demo", demo.demo, "assay demo"),
        ("api", serve.api, "assay api --port 8000"),
        ("worker", serve.worker, "assay worker --workers 2"),
        ("doctor", doctor.doctor, "assay doctor --data-dir ./assay-data"),
        ("migrate", serve.migrate, "assay migrate --data-dir ./assay-data"),
        ("backup", backup.backup, "assay backup backups/2026-01-31 --data-dir ./assay-data"),
        ("restore", backup.restore, "assay restore backups/2026-01-31 --data-dir ./new-data"),
    ),
}

_COMMAND_GROUPS: dict[str, tuple[str, str, tuple[CommandSpec, ...]]] = {
    "challenge": (
        "Organize",
        "List and show challenges; for organizers: create, edit and publish them.",
        (
            ("list", participant.list_challenges, "assay challenge list"),
            ("show", participant.show_challenge, "assay challenge show digits"),
            ("create", organizer.create_challenge, "assay challenge create -f challenge.yaml"),
            ("edit", organizer.edit_challenge, "assay challenge edit digits -f changes.yaml"),
            ("publish", organizer.publish_challenge, "assay challenge publish digits"),
        ),
    ),
    "gold": (
        "Organize",
        "Manage the gold labels of a phase.",
        (
            ("upload", organizer.upload_gold, "assay gold upload digits -f gold.jsonl.gz"),
            ("list", organizer.list_gold, "assay gold list digits"),
            ("activate", organizer.activate_gold, "assay gold activate digits 1"),
        ),
    ),
    "user": (
        "Run the service",
        "Create accounts directly in the database.",
        (("create", serve.create_user, 'assay user create --email ada@example.org --name "Ada" --approved'),),
    ),
    "token": (
        "Run the service",
        "Create tokens directly in the database.",
        (("create", serve.create_token, "assay token create --email ada@example.org --days 30"),),
    ),
}


def _hide_flag_types(params: list[Any]) -> list[Any]:
    """The parameters, with the type of flags hidden in the help: a flag takes no value."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class _Command(TyperCommand):
    """A command of the tree."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, including --help."""
        return _hide_flag_types(super().get_params(ctx))


class _Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, including --help."""
        return _hide_flag_types(super().get_params(ctx))


class _RootGroup(_Group):
    """The root of the tree; with --json it reports wrong usage as JSON too."""

    _json = False

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
            if self._json and error.exit_code == EXIT_WRONG_USAGE:
                self._json = False  # print it once: an error in make_context can pass through invoke as well
                print(json.dumps({"code": "wrong_usage", "detail": error.format_message()}, indent=2))
            raise


def _print_version(value: bool) -> None:
    if value:
        print(f"assay {__version__}")
        raise typer.Exit


def _root_callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Assay, a scoring service for challenges: gold labels and predictions in, scores and leaderboards out.

    Exit status: 0 success, 1 failed or refused, 2 wrong usage, 3 timed out while still queued or running.
    """


def _add_commands(group: typer.Typer, commands: tuple[CommandSpec, ...], panel: str | None = None) -> None:
    for name, function, example in commands:
        group.command(name, cls=_Command, epilog=f"Example: {example}", rich_help_panel=panel)(function)


def build_command_tree() -> typer.Typer:
    """Build the command tree."""
    root = typer.Typer(
        name="assay", cls=_RootGroup, no_args_is_help=True, pretty_exceptions_enable=False, callback=_root_callback
    )
    for panel, commands in _TOP_LEVEL_COMMANDS.items():
        _add_commands(root, commands, panel)
    for name, (panel, summary, commands) in _COMMAND_GROUPS.items():
        group = typer.Typer(cls=_Group, no_args_is_help=True, help=summary)
        _add_commands(group, commands)
        root.add_typer(group, name=name, rich_help_panel=panel)
    return root


root = build_command_tree()


def main() -> None:
    """Run the command in sys.argv."""
    # Python sets a standard stream to None if the caller closed it; writing to it would then fail.
    with Path(os.devnull).open("w", encoding="utf-8") as devnull:
        sys.stdout, sys.stderr = sys.stdout or devnull, sys.stderr or devnull
        root(prog_name="assay")
