"""The command `assay`: the tree of all commands, each with an example."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from app import __version__
from app.cli import demo, lookup, offline, organizer, participant, serve
from app.cli.output import WRONG_USAGE

Command = tuple[str, Callable[..., None], str]

_MAIN: dict[str, tuple[Command, ...]] = {
    "Score on this machine": (
        ("score", offline.score, "assay score --gold gold.jsonl --predictions mine.json --metric f1_macro"),
        ("metrics", lookup.metrics, "assay metrics f1_macro"),
    ),
    "Take part": (
        ("login", participant.login, "assay login --url https://assay.example.org"),
        ("register", participant.register, 'assay register digits --team "Linear"'),
        ("validate", participant.validate, "assay validate digits -f mine.json"),
        ("submit", participant.submit, 'assay submit digits -f mine.json -m "SVM, bigrams" --wait'),
        ("submissions", participant.submissions, "assay submissions digits"),
        ("submission", participant.submission, "assay submission 0198c2f4 --json"),
        ("select", participant.select, "assay select 0198c2f4"),
        ("unselect", participant.unselect, "assay unselect 0198c2f4"),
        ("leaderboard", participant.leaderboard, "assay leaderboard digits --csv"),
    ),
    "Run the service": (
        ("serve", serve.serve, "assay serve --port 8000 --data-dir ./assay-data"),
        ("demo", demo.demo, "assay demo"),
        ("migrate", serve.migrate, "assay migrate --data-dir ./assay-data"),
    ),
}

_GROUPS: dict[str, tuple[str, str, tuple[Command, ...]]] = {
    "challenge": (
        "Take part",
        "Look at challenges, or create one.",
        (
            ("list", participant.list_challenges, "assay challenge list"),
            ("show", participant.show_challenge, "assay challenge show digits"),
            ("create", organizer.create_challenge, "assay challenge create -f challenge.yaml"),
        ),
    ),
    "gold": (
        "Organize",
        "The true labels of a phase.",
        (("upload", organizer.upload_gold, "assay gold upload digits -f gold.jsonl.gz"),),
    ),
    "user": (
        "Run the service",
        "Accounts, made directly in the database.",
        (("create", serve.create_user, 'assay user create --email ada@example.org --name "Ada" --approved'),),
    ),
    "token": (
        "Run the service",
        "Tokens, made directly in the database.",
        (("create", serve.create_token, "assay token create --email ada@example.org --days 30"),),
    ),
}


class _Tree(TyperGroup):
    """Says wrong usage in JSON too, when --json was asked for."""

    _json = False

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **extra: Any) -> Any:
        """The context of one run."""
        self._json = "--json" in args
        with self._told():
            return super().make_context(info_name, args, *given, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the words name."""
        with self._told():
            return super().invoke(ctx)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except TyperException as error:
            if self._json and error.exit_code == WRONG_USAGE:
                self._json = False  # once is enough: invoking also passes through here
                print(json.dumps({"code": "wrong_usage", "detail": error.format_message()}, indent=2))
            raise


def _version(asked: bool) -> None:
    if asked:
        print(f"assay {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Assay: a challenge's scoring office. Gold labels and predictions in, agreed metrics and a leaderboard out.

    Exit status: 0 done, 1 failed or refused, 2 wrong usage, 3 the wait ended and it is still queued.
    """


def _enter(group: typer.Typer, commands: tuple[Command, ...], panel: str | None = None) -> None:
    for name, function, example in commands:
        group.command(name, epilog=f"Example: {example}", rich_help_panel=panel)(function)


def build() -> typer.Typer:
    """The whole command tree."""
    root = typer.Typer(name="assay", cls=_Tree, no_args_is_help=True, pretty_exceptions_enable=False, callback=_root)
    for panel, commands in _MAIN.items():
        _enter(root, commands, panel)
    for name, (panel, meaning, commands) in _GROUPS.items():
        group = typer.Typer(no_args_is_help=True, help=meaning)
        _enter(group, commands)
        root.add_typer(group, name=name, rich_help_panel=panel)
    return root


root = build()


def main() -> None:
    """Run the command that sys.argv names."""
    root(prog_name="assay")
