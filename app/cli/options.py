"""Arguments and options that several commands share, declared once with name, help and environment variable."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Task = Literal["binary", "multiclass", "multilabel"]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON value on standard output, everything else on standard error.")
]
Url = Annotated[
    str | None,
    typer.Option("--url", envvar="ASSAY_URL", help="Address of the service (default: the one of the last login)."),
]
Token = Annotated[
    str | None, typer.Option("--token", envvar="ASSAY_TOKEN", help="Access token (default: the one of the last login).")
]
Slug = Annotated[str, typer.Argument(help="Short name of the challenge, as in its address.")]
Phase = Annotated[str | None, typer.Option("--phase", help="Phase (default: the only one, or the one open now).")]
SubmissionId = Annotated[str, typer.Argument(metavar="ID", help="Id of the submission.")]
PredictionsFile = Annotated[
    Path,
    typer.Option(
        "--file", "-f", exists=True, dir_okay=False, readable=True, help="Predictions: .json, .jsonl or .csv, also .gz."
    ),
]
Host = Annotated[str | None, typer.Option("--host", help="Address to listen on (default: 127.0.0.1).")]
Port = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, help="Port to listen on (default: 8000); 0 takes a free one.")
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", file_okay=False, help="Folder of all data (default: ASSAY_DATA_DIR, else ./assay-data)."
    ),
]
Email = Annotated[str, typer.Option("--email", help="E-mail address of the account.")]
