"""Commands for participants and visitors: submit, validate, select, show submissions and quota."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from app.cli import completion, validate_offline
from app.cli.connection import connect_client
from app.cli.options import (
    AsJson,
    Layout,
    OfTeam,
    Phase,
    PredictionsFile,
    ReasonOfOrganizer,
    Slug,
    SubmissionId,
    Task,
    Token,
    Url,
    file_option,
)
from app.cli.terminal import object_tables
from app.cli.terminal.output import (
    EXIT_FAILED,
    EXIT_STILL_WAITING,
    CommandOutput,
    command_output,
)
from app.cli.terminal.problem_tables import show_problems

if TYPE_CHECKING:
    from rich.console import Console

    from app.client import Client, Json

TemplateFormat = Literal[
    "json", "columns", "map", "documents", "jsonl", "csv", "tsv", "npz", "parquet", "arrow"
]  # fmt: skip

_Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum seconds for --wait.")]
_Method = Annotated[
    str | None, typer.Option("--method", "-m", metavar="NAME", help="Name of the method, shown on the leaderboard.")
]
_Description = Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What the method does.")]
_Link = Annotated[str | None, typer.Option("--link", metavar="URL", help="Link to a paper or to code.")]
_SubmittingTeam = Annotated[
    str | None,
    typer.Option(
        "--team", metavar="NAME", help="Organizers: submit for this team, or baseline.", autocompletion=completion.teams
    ),
]
_IsBaseline = Annotated[bool, typer.Option("--baseline", help="Organizers: submit a baseline.")]
_IsTest = Annotated[bool, typer.Option("--test", help="Organizers: submit a test entry, which nobody else sees.")]
_UNSUCCESSFUL_STATUSES = frozenset({"rejected", "failed", "cancelled"})


def template(
    *,
    slug: Slug,
    file_format: Annotated[
        TemplateFormat, typer.Option("--format", metavar="FORM", help=f"{', '.join(get_args(TemplateFormat))}.")
    ] = "json",
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="Output file (default: standard output)."),
    ] = None,
    values: Annotated[
        Literal["labels", "scores"] | None,
        typer.Option("--values", metavar="VALUES", help="labels or scores (default: what the metrics need)."),
    ] = None,
    phase: Phase = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Get a file to fill in, with every id that a submission needs."""
    if as_json and target is None:
        raise typer.BadParameter("required with --json", param_hint="--output")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        content = client.template(slug, name, file_format, values)
        if target is None:
            sys.stdout.buffer.write(content)
            return
        target.write_bytes(content)
        value = {"file": str(target), "format": file_format, "bytes": len(content)}
        check = f"assay validate {slug} --phase {name} -f FILE"
        out.result(value, lambda _: out.say(f"Wrote {target}. Fill it in, then run: {check}"))


def submit(
    *,
    slug: Slug,
    file: PredictionsFile,
    method: _Method = None,
    description: _Description = None,
    link: _Link = None,
    phase: Phase = None,
    layout: Layout = None,
    team: _SubmittingTeam = None,
    baseline: _IsBaseline = False,
    test: _IsTest = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the scores.")] = False,
    timeout: _Timeout = 600.0,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Submit predictions.

    With --wait, the exit status is 3 if the submission is still queued or running when --timeout expires.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        patience = timeout if wait else 0.0
        with out.upload_bar(f"Uploading {file.name}", final_label="Waiting for scores" if wait else "Sent") as progress:

            def show_place(waiting: "Json") -> None:
                if progress is not None:
                    progress.relabel(f"Waiting for scores{object_tables.queue_place(waiting)}")

            fields = {"method": method, "description": description, "link": link, "layout": layout}
            fields |= {"phase": phase, "team": team}
            result = client.submit(
                slug,
                file,
                **fields,
                baseline=baseline,
                test=test,
                wait=patience,
                progress=progress,
                on_waiting=show_place,
            )
        out.result(result, lambda console: _show_submitted(console, result))
        status = result.get("status")
        if status in _UNSUCCESSFUL_STATUSES:
            raise typer.Exit(EXIT_FAILED)
        if status != "finished":
            waited = f"Not finished after {timeout:g} s. " if wait else ""
            out.note(f"{waited}See its scores with: assay submission {result.get('id')}")
            raise typer.Exit(EXIT_STILL_WAITING if wait else 0)


def _show_submitted(console: "Console", submission: "Json") -> None:
    object_tables.show_submission(console, submission)
    object_tables.show_quota_left(console, submission)


def submissions(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List your team's submissions in a phase (for organizers: all submissions)."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = list(client.submissions(slug, client.phase(slug, phase)))
        out.result(rows, lambda console: object_tables.show_submissions(console, rows))


def submission(
    *,
    submission_id: SubmissionId,
    download: Annotated[
        Path | None,
        typer.Option("--download", metavar="FILE", dir_okay=False, help="Also save the submitted file here."),
    ] = None,
    lines: Annotated[
        bool,
        typer.Option("--lines", help="Show the lines of problems also as an organizer; the audit trail records it."),
    ] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show a submission: status, scores, problems.

    Its team sees the lines of the file beside its problems.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if download is not None:
            download.write_bytes(client.predictions(submission_id))
            out.note(f"Wrote {download}.")
        result = _with_lines(out, client, client.submission(submission_id), lines=lines)
        out.result(result, lambda console: object_tables.show_submission(console, result))


def _with_lines(out: CommandOutput, client: "Client", submission: "Json", *, lines: bool) -> "Json":
    """The submission, its problems with the lines of the file; for organizers only if they ask, as that is recorded."""
    from app.client import ClientError

    is_participant = "splits" in submission and submission["splits"] is None
    if not submission.get("problems") or not (lines or is_participant):
        return submission
    try:
        return submission | {"problems": client.problems(str(submission["id"]))["problems"]}
    except ClientError as error:
        out.note(f"The lines of the file are not shown: {error}")
        return submission


def select(
    submission_id: SubmissionId,
    reason: ReasonOfOrganizer = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Select a submission for the final standing.

    It has scores, or waits for them. This has an effect only if the recipe's selection is 'selected'.
    With 'best', a team's best submission by the public score counts; with 'latest', its latest.
    'assay challenge show SLUG' shows the selection.
    """
    _set_selected(submission_id, reason, url, token, chosen=True, as_json=as_json)


def unselect(
    submission_id: SubmissionId,
    reason: ReasonOfOrganizer = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Undo the selection of a submission for the final standing."""
    _set_selected(submission_id, reason, url, token, chosen=False, as_json=as_json)


def _set_selected(
    submission_id: str, reason: str | None, url: str | None, token: str | None, *, chosen: bool, as_json: bool
) -> None:
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.select(submission_id, chosen=chosen, reason=reason)
        change = "is selected" if chosen else "is no longer selected"
        out.result(result, lambda _: out.say(f"Submission {submission_id} {change} for the final standing."))
        rule: Json = result.get("selection") or {}  # the command does not fail after its work
        effect = "" if rule.get("rule") == "selected" else "This has no effect. "
        out.notes([effect + rule["meaning"]] if rule else [])


def quota(
    *,
    slug: Slug,
    phase: Phase = None,
    team: OfTeam = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show your team's quota in a phase: limits, grants, used and remaining."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.quota(slug, client.phase(slug, phase), team)
        out.result(result, lambda console: object_tables.show_quota(console, result))


def validate(
    *,
    file: PredictionsFile,
    slug: Annotated[
        str | None,
        typer.Argument(
            metavar="SLUG",
            help="Challenge to validate against; not needed offline.",
            autocompletion=completion.challenges,
        ),
    ] = None,
    phase: Phase = None,
    ids: Annotated[Path | None, file_option("--ids", help="Offline: list of ids, or a template file.")] = None,
    classes: Annotated[Path | None, file_option("--classes", help="Offline: JSON list of classes.")] = None,
    task: Annotated[
        Task | None,
        typer.Option("--task", metavar="TASK", help="Offline: binary, multiclass or multilabel (default: inferred)."),
    ] = None,
    positive_label: Annotated[
        str | None, typer.Option("--positive-label", metavar="LABEL", help="Offline: positive label of a binary task.")
    ] = None,
    recipe: Annotated[Path | None, file_option("--recipe", help="Offline: recipe, as the service returns it.")] = None,
    layout: Layout = None,
    test: Annotated[bool, typer.Option("--test", help="Organizers: check the file as a test entry.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Check predictions without submitting them: by the service, or offline with --ids and --classes."""
    offline = {"--ids": ids, "--classes": classes, "--task": task, "--positive-label": positive_label}
    _require_service_or_offline(slug, {**offline, "--recipe": recipe}, {"--phase": phase, "--test": test or None})
    assumptions: list[str] = []
    with command_output(as_json=as_json) as out:
        if ids is not None and classes is not None:
            challenge = validate_offline.OfflineChallenge(ids, classes, task, positive_label, recipe)
            report, assumptions = validate_offline.validate_file(file, challenge, layout)
        else:
            with connect_client(out, url, token) as client, out.upload_bar(f"Uploading {file.name}") as progress:
                report = client.dry_run(str(slug), file, phase=phase, layout=layout, test=test, progress=progress)
        _show_validation(out, file, report, assumptions)


def _require_service_or_offline(slug: str | None, offline: dict[str, object], online: dict[str, object]) -> None:
    """Refuse options that fit neither the service nor an offline check; offline, a slug is ignored."""
    used = [name for name, value in offline.items() if value is not None]
    is_offline = {"--ids", "--classes"} <= set(used)
    if slug is None and not is_offline:
        raise typer.BadParameter("specify a challenge, or --ids and --classes to check offline")
    if used and not is_offline:
        raise typer.BadParameter(f"{', '.join(used)}: only for an offline check, which needs --ids and --classes")
    if is_offline and (excess := [name for name, value in online.items() if value is not None]):
        raise typer.BadParameter(f"{', '.join(excess)}: not allowed with an offline check")


def _show_validation(out: CommandOutput, file: Path, report: dict[str, Any], assumptions: Sequence[str]) -> None:
    """Print a validation report, and exit with status 1 if the file is invalid."""
    if out.as_json:  # the same bytes as in the service's reply
        sys.stdout.buffer.write(json.dumps(report, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    elif report.get("valid"):
        out.say(f"{file.name} is valid.")
    else:
        show_problems(out.stderr_console, report)
    out.notes([*assumptions, *(report.get("notes") or ())])
    if not report.get("valid"):
        raise typer.Exit(EXIT_FAILED)
