"""Commands of participants and visitors: log in, look at challenges, register, hand in, choose, read the board."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from app.cli import offline, show
from app.cli.connection import connected, remember, resolve
from app.cli.options import AsJson, Phase, PredictionsFile, Slug, SubmissionId, Task, Token, Url
from app.cli.output import FAILED, STILL_WAITING, Output, print_json, reporting, show_problems

_ENDED_BADLY = frozenset({"rejected", "failed", "cancelled"})


def login(
    url: Url = None,
    token: Annotated[
        str | None, typer.Option("--token", help="A token to keep; - reads it from standard input.")
    ] = None,
    email: Annotated[str | None, typer.Option("--email", help="E-mail address (default: asked for).")] = None,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Scope of the new token; repeat it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Log in to a service and remember it: trade e-mail address and password for a token, or keep a given one."""
    from app.client import Client

    with reporting(as_json=as_json) as out:
        address, _ = resolve(url, "unused")
        key = sys.stdin.readline().strip() if token == "-" else token  # noqa: S105 (no password)
        if key is None:
            who = email or typer.prompt("E-mail", err=True)
            password = typer.prompt("Password", hide_input=True, err=True)
            with Client(address) as client:
                key = str(client.create_token(who, password, scope or None)["token"])
        with Client(address, key) as client:
            me = client.me()
        path = remember(address, key)
        name = me.get("name") or me.get("email") or "the administrator"
        out.result(
            {"url": address, "user": me, "credentials": str(path)},
            lambda _: out.say(f"Logged in to {address} as {name}; remembered in {path}."),
        )


def list_challenges(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the challenges that you may see."""
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        found = list(client.list_challenges())
        out.result(found, lambda console: console.print(show.challenges(found)))


def show_challenge(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show one challenge: task, classes, agreed metrics, phases."""
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        found = client.challenge(slug)
        out.result(found, lambda console: show.challenge(console, found))


def register(
    *,
    slug: Slug,
    team: Annotated[str | None, typer.Option("--team", help="Name of the team to found.")] = None,
    invitation: Annotated[str | None, typer.Option("--invitation", help="Invitation code of a team to join.")] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Register for a challenge: found a team, or join one by its invitation."""
    if (team is None) == (invitation is None):
        raise typer.BadParameter("give either --team or --invitation")
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        made = client.register(slug, team=team, invitation=invitation)
        name = (made.get("team") or {}).get("name", team)
        out.result(made, lambda _: out.say(f"Team {name} in {slug}: {made.get('status')}."))


def submit(
    *,
    slug: Slug,
    file: PredictionsFile,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="Name of the method, shown on the board.")
    ] = None,
    description: Annotated[str | None, typer.Option("--description", help="What the method does.")] = None,
    phase: Phase = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the scores.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait at most, with --wait.")] = 600.0,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Hand in predictions; with --wait, status 3 says that they are still queued when the time is over."""
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        patience = timeout if wait else 0.0
        with out.upload_bar(f"Uploading {file.name}", then="Waiting for the scores" if wait else "Sent") as progress:
            made = client.submit(
                slug, file, method=method, description=description, phase=phase, wait=patience, progress=progress
            )
        out.result(made, lambda console: show.submission(console, made))
        status = made.get("status")
        if status in _ENDED_BADLY:
            raise typer.Exit(FAILED)
        if wait and status != "finished":
            out.note(f"Not finished after {timeout:g} s; look again with: assay submission {made.get('id')}")
            raise typer.Exit(STILL_WAITING)


def submissions(slug: Slug, phase: Phase = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List your team's submissions in a phase (organizers: everybody's)."""
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        found = list(client.submissions(slug, client.phase(slug, phase)))
        out.result(found, lambda console: console.print(show.submissions(found)))


def submission(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show one submission: status, scores, problems."""
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        found = client.submission(submission_id)
        out.result(found, lambda console: show.submission(console, found))


def select(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Choose a finished submission for the final standing."""
    _choose(submission_id, url, token, chosen=True, as_json=as_json)


def unselect(submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Take a choice for the final standing back."""
    _choose(submission_id, url, token, chosen=False, as_json=as_json)


def _choose(submission_id: str, url: str | None, token: str | None, *, chosen: bool, as_json: bool) -> None:
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        found = client.select(submission_id, chosen=chosen)
        what = "is chosen for" if chosen else "is no longer chosen for"
        out.result(found, lambda _: out.say(f"Submission {submission_id} {what} the final standing."))


def leaderboard(
    *,
    slug: Slug,
    phase: Phase = None,
    metric: Annotated[str | None, typer.Option("--metric", help="Rank by this metric of the board.")] = None,
    split: Annotated[str | None, typer.Option("--split", help="public, private or all; as far as you may.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the board as CSV.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboard of a phase, best first."""
    if as_csv and as_json:
        raise typer.BadParameter("give --csv or --json, not both")
    with reporting(as_json=as_json) as out, connected(out, url, token) as client:
        name = client.phase(slug, phase)
        if as_csv:
            sys.stdout.write(client.leaderboard_csv(slug, name, metric=metric, split=split))
            return
        board = client.leaderboard(slug, name, metric=metric, split=split)
        out.result(board, lambda console: show.board(console, board))


def validate(
    *,
    file: PredictionsFile,
    slug: Annotated[str | None, typer.Argument(help="Challenge to check against; leave it away offline.")] = None,
    phase: Phase = None,
    ids: Annotated[
        Path | None, typer.Option("--ids", exists=True, dir_okay=False, help="Offline: the ids, or a template file.")
    ] = None,
    classes: Annotated[
        Path | None, typer.Option("--classes", exists=True, dir_okay=False, help="Offline: JSON list of the classes.")
    ] = None,
    task: Annotated[Task | None, typer.Option("--task", help="Offline: the task type (default: multiclass).")] = None,
    positive_label: Annotated[
        str | None, typer.Option("--positive-label", help="Offline: makes the task binary.")
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Check predictions without handing them in: by the service, or offline with --ids and --classes."""
    on_this_machine = ids is not None and classes is not None
    if (slug is None) != on_this_machine:
        raise typer.BadParameter("give a challenge, or --ids and --classes to check offline")
    with reporting(as_json=as_json) as out:
        if ids is not None and classes is not None:
            report = offline.check(file, ids=ids, classes=classes, task=task, positive_label=positive_label)
        else:
            with connected(out, url, token) as client, out.upload_bar(f"Uploading {file.name}") as progress:
                report = client.dry_run(str(slug), file, phase=phase, progress=progress)
        _verdict(out, file, report)


def _verdict(out: Output, file: Path, report: dict[str, Any]) -> None:
    """Print a validation report; status 1 unless the file is valid."""
    if report.get("valid"):
        out.result(report, lambda _: out.say(f"{file.name} is valid."))
    elif out.as_json:
        print_json(report)
    else:
        show_problems(out.aside, report)
    for note in report.get("notes") or ():
        out.note(f"Note: {note}")
    if not report.get("valid"):
        raise typer.Exit(FAILED)
