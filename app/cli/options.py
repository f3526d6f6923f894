"""Arguments and options that commands share, each declared once with its name, help and environment variable."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli import completion
from app.cli.input.piped_files import spool_pipe
from app.gold_metadata import CLASSES, GOLD_METADATA

Task = Literal["binary", "multiclass", "multilabel"]
FORMATS_HELP = ".json, .jsonl, .csv, .tsv, .npz, .parquet or .arrow, also .gz or .zst"


def file_option(*names: str, help: str) -> Any:  # noqa: A002 (typer's own word)
    """An option that takes a file to read, a pipe, or - for standard input."""
    return typer.Option(*names, callback=spool_pipe, metavar="FILE", help=help)


def gold_metadata_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that replaces the parameter `gold_metadata` of a command by one option per kind of gold metadata.

    The options come from `app.gold_metadata`: all kinds, or those with the given names. The command receives one
    mapping from names to files, None for a file that is not given.
    """
    kinds = [kind for kind in GOLD_METADATA if kind.name in names or not names]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = list(signature.parameters.values())
        at = list(signature.parameters).index("gold_metadata")
        parameters[at : at + 1] = [
            inspect.Parameter(
                kind.field,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[Path | None, file_option(f"--{kind.name}", help=kind.option_help)],
            )
            for kind in kinds
        ]

        @wraps(command)
        def run(**arguments: Any) -> None:
            files = {kind.name: arguments.pop(kind.field) for kind in kinds}
            command(**arguments, gold_metadata=files)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # which typer reads
        return run

    return decorate


def _days(most: int, help: str) -> Any:  # noqa: A002
    return typer.Option("--days", metavar="DAYS", min=1, max=most, help=help)


AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; messages go to standard error.")]
Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", envvar="ASSAY_URL", help="Service address (default: that of the last login)."),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", envvar="ASSAY_TOKEN", help="Token (default: that of the last login)."),
]
Slug = Annotated[
    str,
    typer.Argument(
        metavar="SLUG", help="Short name of the challenge, as in its URL.", autocompletion=completion.challenges
    ),
]
Phase = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="PHASE",
        help="Phase (default: the only phase, or the only open one).",
        autocompletion=completion.phases,
    ),
]
NamedPhase = Annotated[
    str, typer.Option("--phase", metavar="PHASE", help="The phase.", autocompletion=completion.phases)
]
PhaseIfSeveral = Annotated[
    str | None,
    typer.Option("--phase", metavar="PHASE", help="Phase (default: the only one).", autocompletion=completion.phases),
]
TeamName = Annotated[
    str, typer.Argument(metavar="TEAM", help="Name or id of the team.", autocompletion=completion.teams)
]
OfTeam = Annotated[
    str | None,
    typer.Option(
        "--team",
        metavar="TEAM",
        help="Organizers: name or id of the team (default: your own).",
        autocompletion=completion.teams,
    ),
]
SubmissionId = Annotated[
    str, typer.Argument(metavar="ID", help="Submission id.", autocompletion=completion.submissions)
]
PredictionsFile = Annotated[Path, file_option("--file", "-f", help=f"Predictions: {FORMATS_HELP}; - for stdin.")]
Layout = Annotated[
    Literal["long"] | None,
    typer.Option("--layout", metavar="LAYOUT", help="long: a table with one row per instance and label."),
]
ChallengeFile = Annotated[Path, file_option("--file", "-f", help="Challenge, or changes to it, in YAML or JSON.")]
Host = Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Listen address (default: 127.0.0.1).")]
Port = Annotated[
    int | None,
    typer.Option("--port", metavar="PORT", min=0, max=65535, help="Listen port (default: 8000); 0 for any free one."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="FOLDER",
        file_okay=False,
        help="Data folder (default: ASSAY_DATA_DIR, else ./assay-data).",
    ),
]
Email = Annotated[str, typer.Option("--email", metavar="ADDRESS", help="E-mail address of the account.")]
Password = Annotated[
    str | None, typer.Option("--password", metavar="-", help="- reads it from standard input (default: prompt).")
]
_REASON = typer.Option(
    "--reason", metavar="TEXT", help="Why: those concerned can read it, and the audit trail keeps it."
)
Reason = Annotated[str, _REASON]
OptionalReason = Annotated[str | None, _REASON]
ReasonOfOrganizer = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why: organizers must say it; the audit trail keeps it.")
]
AuditReason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why: the audit trail keeps it.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
InvitationDays = Annotated[int, _days(365, "Days until it expires.")]
TeamInvitationDays = Annotated[int, _days(90, "Days until it expires.")]
InvitationNote = Annotated[
    str, typer.Option("--note", metavar="TEXT", help="Whom it is for; those who list invitations see it.")
]
InvitationUses = Annotated[int, typer.Option("--uses", metavar="N", min=1, help="How many people may use it.")]
UnlimitedUses = Annotated[bool, typer.Option("--unlimited", help="Any number of people may use it.")]
TokenName = Annotated[
    str, typer.Option("--token-name", metavar="NAME", help="Name of the new token, to tell your tokens apart.")
]
TokenScopes = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="SCOPE", help="read, submit, organize or admin (default: by account); repeatable."),
]
TokenDays = Annotated[int | None, _days(365, "Days until the new token expires (default: 90).")]
Classes = Annotated[Path | None, file_option(f"--{CLASSES.name}", help=CLASSES.option_help)]
VoidIds = Annotated[Path | None, file_option("--void", help="JSON list of ids to leave out of the scores.")]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="Conventions of a tool: sklearn, bioasq, hemkit, image_tagging, caret."
    ),
]
Gold = Annotated[Path, file_option("--gold", "-g", help=f"Gold labels: {FORMATS_HELP}.")]
Predictions = Annotated[Path, file_option("--predictions", "-p", help="Predictions, in the same formats.")]
OptionalGold = Annotated[
    Path | None, file_option("--gold", "-g", help=f"Gold labels: {FORMATS_HELP}; required without --pairs.")
]
OptionalPredictions = Annotated[
    Path | None,
    file_option("--predictions", "-p", help="Predictions, in the same formats; required without --pairs."),
]
Pairs = Annotated[
    Path | None,
    file_option(
        "--pairs",
        help="Gold and predicted label of one instance on each line, in the last two columns; the ids are line numbers.",
    ),
]
PairsSeparator = Annotated[
    Literal["tab", "comma", "whitespace"] | None,
    typer.Option(
        "--separator", metavar="NAME", help="Of --pairs: tab, comma or whitespace (default: the one that fits)."
    ),
]
PairsLabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator", metavar="SIGN", help="Of --pairs: what separates the labels of one cell; NONE is no label."
    ),
]
TaskType = Annotated[
    Task | None,
    typer.Option("--task", metavar="TASK", help="binary, multiclass or multilabel (default: inferred from the gold)."),
]
PositiveLabel = Annotated[
    str | None, typer.Option("--positive-label", metavar="LABEL", help="Positive label of a binary task.")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="METRIC", help="Metric to compute; repeatable (default: all that apply)."),
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="NAME=VALUE", help="Convention for all metrics, as name=value; repeatable."),
]

GoldLayout = Annotated[
    Literal["long"] | None, typer.Option("--gold-layout", metavar="LAYOUT", help="Layout of the gold, as --layout.")
]

DrawSeed = Annotated[
    str,
    typer.Option("--draw-seed", metavar="SEED", help="Seed of the random draws; the same seed gives the same digits."),
]
