"""Arguments and options that several commands share, each declared once with name, help and environment variable."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.input.piped_files import spool_pipe

Task = Literal["binary", "multiclass", "multilabel"]
FORMATS_HELP = ".json, .jsonl, .csv, .tsv, .npz, .parquet or .arrow, also .gz or .zst"


def file_option(*names: str, help: str) -> Any:  # noqa: A002 (typer's own word)
    """An option that takes a file to read, a pipe, or - for standard input."""
    return typer.Option(*names, callback=spool_pipe, metavar="FILE", help=help)


AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; messages go to standard error.")]
Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", envvar="ASSAY_URL", help="Service address (default: that of the last login)."),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", envvar="ASSAY_TOKEN", help="Token (default: that of the last login)."),
]
Slug = Annotated[str, typer.Argument(metavar="SLUG", help="Short name of the challenge, as in its URL.")]
Phase = Annotated[
    str | None, typer.Option("--phase", metavar="PHASE", help="Phase (default: the only phase, or the only open one).")
]
SubmissionId = Annotated[str, typer.Argument(metavar="ID", help="Submission id.")]
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
Classes = Annotated[Path | None, file_option("--classes", help="JSON list of all classes (default: those that occur).")]
TrainFrequencies = Annotated[
    Path | None, file_option("--train-frequencies", help="JSON {label: count} of the training data.")
]
ClassWeights = Annotated[Path | None, file_option("--class-weights", help="JSON {label: weight}.")]
CostMatrix = Annotated[Path | None, file_option("--cost-matrix", help="JSON {gold label: {predicted label: cost}}.")]
Hierarchy = Annotated[
    Path | None,
    file_option("--hierarchy", help='JSON {"parents": {child: list of parents}} or {"parent": {child: parent}}.'),
]
Folds = Annotated[Path | None, file_option("--folds", help="JSON {id: fold} for cross-validation.")]
Groups = Annotated[Path | None, file_option("--groups", help="JSON {id: group}: its document, patient, speaker.")]
VoidIds = Annotated[Path | None, file_option("--void", help="JSON list of ids to leave out of the scores.")]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset", metavar="NAME", help="Conventions of a tool: sklearn, bioasq, hemkit, image_tagging, caret."
    ),
]
Gold = Annotated[Path, file_option("--gold", "-g", help=f"Gold labels: {FORMATS_HELP}.")]
Predictions = Annotated[Path, file_option("--predictions", "-p", help="Predictions, in the same formats.")]
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
