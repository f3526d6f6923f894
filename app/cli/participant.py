"""Commands of participants and visitors: look at challenges, register, hand in, choose, read the board."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from app.cli import validate_offline
from app.cli.connection import connect_client
from app.cli.options import AsJson, Layout, Phase, PredictionsFile, Slug, SubmissionId, Task, Token, Url, file_option
from app.cli.terminal import object_tables
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandOutput, command_output
from app.cli.terminal.problem_tables import show_problems

if TYPE_CHECKING:
    from app.client import Client

TemplateFormat = Literal[
    "json", "columns", "map", "documents", "jsonl", "csv", "tsv", "npz", "parquet", "arrow"
]  # fmt: skip

_Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to wait at most, with --wait.")
]
_UNSUCCESSFUL_STATUSES = frozenset({"rejected", "failed", "cancelled"})


def list_challenges(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the challenges that you may see."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = list(client.list_challenges())
        out.result(found, lambda console: object_tables.show_challenges(console, found))


def show_challenge(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show one challenge: task, agreed metrics, selection and tie-breakers, phases with quota and classes."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.challenge(slug)
        out.result(found, lambda console: object_tables.show_challenge(console, found))


def register(
    *,
    slug: Slug,
    team: Annotated[str, typer.Option("--team", metavar="NAME", help="Name of the team to found.")],
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Register for a challenge by founding a team."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        made = client.register(slug, team)
        name = (made.get("team") or {}).get("name", team)
        out.result(made, lambda _: out.say(f"Team {name} in {slug}: {made.get('status')}."))


def template(
    *,
    slug: Slug,
    form: Annotated[
        TemplateFormat, typer.Option("--format", metavar="FORM", help=f"{', '.join(get_args(TemplateFormat))}.")
    ] = "json",
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="File to write (default: print it)."),
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
    """Get the file to fill in: every id that a submission needs, without labels."""
    if as_json and target is None:
        raise typer.BadParameter("--json needs a file to write to", param_hint="--output")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        content = client.template(slug, client.phase(slug, phase), form, values)
        if target is None:
            sys.stdout.buffer.write(content)
            return
        target.write_bytes(content)
        made = {"file": str(target), "format": form, "bytes": len(content)}
        out.result(made, lambda _: out.say(f"Wrote {target}; give each id its label, then: assay validate {slug} -f …"))


def submit(
    *,
    slug: Slug,
    file: PredictionsFile,
    method: Annotated[
        str | None, typer.Option("--method", "-m", metavar="NAME", help="Name of the method, shown on the board.")
    ] = None,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="What the method does.")
    ] = None,
    link: Annotated[
        str | None, typer.Option("--link", metavar="URL", help="Where the method is described: a paper, its code.")
    ] = None,
    phase: Phase = None,
    layout: Layout = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the scores.")] = False,
    timeout: _Timeout = 600.0,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Hand in predictions; with --wait, status 3 says that they are still queued when the time is over."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        patience = timeout if wait else 0.0
        with out.upload_bar(f"Uploading {file.name}", then="Waiting for the scores" if wait else "Sent") as progress:
            said = {"method": method, "description": description, "link": link, "phase": phase, "layout": layout}
            made = client.submit(slug, file, **said, wait=patience, progress=progress)
        out.result(made, lambda console: object_tables.show_submission(console, made))
        status = made.get("status")
        if status in _UNSUCCESSFUL_STATUSES:
            raise typer.Exit(EXIT_FAILED)
        if wait and status != "finished":
            out.note(f"Not finished after {timeout:g} s; look again with: assay submission {made.get('id')}")
            raise typer.Exit(EXIT_STILL_WAITING)


def submissions(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List your team's submissions in a phase (organizers: everybody's)."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = list(client.submissions(slug, client.phase(slug, phase)))
        out.result(found, lambda console: object_tables.show_submissions(console, found))


def submission(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show one submission: status, scores, problems."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.submission(submission_id)
        out.result(found, lambda console: object_tables.show_submission(console, found))


def select(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Choose a finished submission for the final standing.

    That takes effect where the recipe's selection is 'selected'. Under 'best' a team's best submission by the public
    value counts, under 'latest' its latest; 'assay challenge show SLUG' says which it is.
    """
    _set_selected(submission_id, url, token, chosen=True, as_json=as_json)


def unselect(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Take a choice for the final standing back."""
    _set_selected(submission_id, url, token, chosen=False, as_json=as_json)


def cancel(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Take a submission that waits out of the queue.

    What it took from the quota is given back; it counts as an invalid file of the day. One that is being scored, or whose phase has closed, can be cancelled by organizers only.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.cancel(submission_id)
        out.result(found, lambda _: out.say(f"Submission {submission_id} is cancelled."))


def _set_selected(submission_id: str, url: str | None, token: str | None, *, chosen: bool, as_json: bool) -> None:
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.select(submission_id, chosen=chosen)
        what = "is chosen for" if chosen else "is no longer chosen for"
        out.result(found, lambda _: out.say(f"Submission {submission_id} {what} the final standing."))
        rule = _selection_rule(client, found.get("challenge"))
        if rule in {"best", "latest"}:
            out.note(f"Note: this has no effect now: in {found['challenge']} the {rule} submission of a team counts.")


def _selection_rule(client: "Client", slug: str | None) -> str | None:
    """The selection rule of a challenge; None where it cannot be told, which is no reason to fail."""
    from app.client import ClientError

    if slug is None:
        return None
    try:
        return str(client.challenge(slug)["recipe"]["selection"])
    except (ClientError, KeyError):
        return None


def quota(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show what your team may still hand in: limits, use, what is left."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.quota(slug, client.phase(slug, phase))
        out.result(found, lambda console: object_tables.show_quota(console, found))


def leaderboard(
    *,
    slug: Slug,
    phase: Phase = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="KEY", help="Rank by this metric of the board.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="SPLIT", help="public, private or all; as far as you may.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the board as CSV.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboard of a phase, best first."""
    if as_csv and as_json:
        raise typer.BadParameter("give --csv or --json, not both")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        name = client.phase(slug, phase)
        if as_csv:
            sys.stdout.write(client.leaderboard_csv(slug, name, metric=metric, split=split))
            return
        board = client.leaderboard(slug, name, metric=metric, split=split)
        out.result(board, lambda console: object_tables.show_board(console, board))


def validate(
    *,
    file: PredictionsFile,
    slug: Annotated[
        str | None, typer.Argument(metavar="SLUG", help="Challenge to check against; not needed offline.")
    ] = None,
    phase: Phase = None,
    ids: Annotated[Path | None, file_option("--ids", help="Offline: the ids, or a template file.")] = None,
    classes: Annotated[Path | None, file_option("--classes", help="Offline: JSON list of the classes.")] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            "--task", metavar="TASK", help="Offline: binary, multiclass or multilabel (default: as it looks)."
        ),
    ] = None,
    positive_label: Annotated[
        str | None, typer.Option("--positive-label", metavar="LABEL", help="Offline: makes the task binary.")
    ] = None,
    recipe: Annotated[
        Path | None, file_option("--recipe", help="Offline: the recipe in JSON, as the service shows it.")
    ] = None,
    layout: Layout = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Check predictions without handing them in: by the service, or offline with --ids and --classes."""
    offline = {"--ids": ids, "--classes": classes, "--task": task, "--positive-label": positive_label}
    _require_service_or_offline(slug, {**offline, "--recipe": recipe}, phase)
    said: list[str] = []
    with command_output(as_json=as_json) as out:
        if ids is not None and classes is not None:
            spec = validate_offline.OfflineChallenge(ids, classes, task, positive_label, recipe)
            report, said = validate_offline.validate_file(file, spec, layout)
        else:
            with connect_client(out, url, token) as client, out.upload_bar(f"Uploading {file.name}") as progress:
                report = client.dry_run(str(slug), file, phase=phase, layout=layout, progress=progress)
        _show_validation(out, file, report, said)


def _require_service_or_offline(slug: str | None, offline: dict[str, object], phase: str | None) -> None:
    """Refuse what is neither checking by the service nor checking offline; offline a challenge's name does no harm."""
    given = [name for name, value in offline.items() if value is not None]
    whole = {"--ids", "--classes"} <= set(given)
    if slug is None and not whole:
        raise typer.BadParameter("give a challenge, or --ids and --classes to check offline")
    if given and not whole:
        raise typer.BadParameter(f"{', '.join(given)} belong to checking offline, which needs --ids and --classes")
    if whole and phase is not None:
        raise typer.BadParameter("--phase belongs to checking by the service")


def _show_validation(out: CommandOutput, file: Path, report: dict[str, Any], said: Sequence[str]) -> None:
    """Print a validation report; status 1 unless the file is valid. As JSON it has the very bytes of the service."""
    if out.as_json:
        sys.stdout.buffer.write(json.dumps(report, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    elif report.get("valid"):
        out.say(f"{file.name} is valid.")
    else:
        show_problems(out.stderr_console, report)
    for note in (*said, *(report.get("notes") or ())):
        out.note(f"Note: {note}")
    if not report.get("valid"):
        raise typer.Exit(EXIT_FAILED)
