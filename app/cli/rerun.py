"""The command with which organizers score submissions again: it confirms, orders, and shows progress."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, Phase, Slug, Token, Url, Yes
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandOutput, command_output
from app.cli.terminal.prompts import require_consent
from app.cli.terminal.table_layout import format_duration

if TYPE_CHECKING:
    from app.client import Client

POLL_SECONDS = 0.5
UNFINISHED_STATUSES = frozenset({"queued", "running"})
Json = dict[str, Any]
Submissions = Annotated[
    list[str] | None,
    typer.Option(
        "--submission",
        metavar="ID",
        help="Only this submission, finished or failed; repeatable.",
        autocompletion=completion.submissions,
    ),
]


def rerun(
    *,
    slug: Slug,
    phase: Phase = None,
    submission: Submissions = None,
    failed: Annotated[
        bool,
        typer.Option(
            "--failed",
            help="Only submissions that failed through a fault of the service; those now scored count against the quota.",
        ),
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel the rescorings that have not started.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all are rescored.")] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum seconds for --wait.")
    ] = None,
    yes: Yes = False,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Score a phase's finished submissions again and report differences; stored scores are not changed.

    New submissions are scored first.
    With --wait, the exit status is 1 if a score differs or a rescoring failed, and 3 if --timeout expires first.
    """
    if bool(submission) + failed + cancel > 1:
        raise typer.BadParameter("use only one of --submission, --failed and --cancel")
    deadline = None if timeout is None else time.monotonic() + timeout
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if submission:
            _rerun_submissions(out, client, submission, reason=reason, wait=wait, deadline=deadline)
            return
        name = client.phase(slug, phase)
        if failed:
            ids = [str(row["id"]) for row in client.submissions(slug, name) if row["status"] == "failed"]
            _rerun_submissions(out, client, ids, reason=reason, wait=wait, deadline=deadline)
        elif cancel:
            _show_order(out, client.cancel_rerun(slug, name, reason=reason))
        else:
            _rerun_phase(out, client, slug, name, yes=yes, reason=reason, wait=wait, deadline=deadline)


def _rerun_phase(
    out: CommandOutput,
    client: "Client",
    slug: str,
    phase: str,
    *,
    yes: bool,
    reason: str | None,
    wait: bool,
    deadline: float | None,
) -> None:
    if not yes:
        _confirm(client.rerun_state(slug, phase), f"{slug}/{phase}")
    order = client.rerun_phase(slug, phase, reason=reason)
    if wait:
        with out.count_bar(f"Rescoring {slug}/{phase}") as progress:
            while order["status"] == "running" and not _is_past(deadline):
                progress(order["done"] + order["failed"], order["total"])
                time.sleep(POLL_SECONDS)
                order = client.rerun_state(slug, phase)
    _show_order(out, order)
    if wait:
        raise typer.Exit(_exit_status(order["status"] == "running", bool(order["different"] or order["failed"])))


def _confirm(order: Json, phase_name: str) -> None:
    """Confirm on the terminal, with count and estimated duration; an order that is already running needs no consent."""
    if order["status"] == "running":
        return
    count, seconds = order["next"]["total"], order["next"]["seconds"]
    estimate = "" if seconds is None else f" This takes about {format_duration(seconds)}."
    from app.scoring.declaration.metric_syntax import pluralize

    what = pluralize(count, "finished submission")
    require_consent(f"Score {what} of {phase_name} again?{estimate}", yes=False)


def _show_order(out: CommandOutput, order: Json) -> None:
    slug, phase, done = order["challenge"], order["phase"], order["done"]
    messages = {
        "none": f"{slug}/{phase} has never been rescored.",
        "cancelled": f"Cancelled; {done} already rescored.",
        "finished": f"Rescored {done} of {order['total']}: {order['different']} differ, {order['failed']} failed.",
        "running": f"Rescored {done} of {order['total']} so far. Follow with: assay rerun {slug} --phase {phase} --wait",
    }
    out.result(order, lambda _: out.say(messages[order["status"]]))
    for row in order["differences"]:
        out.note(f"{row['submission']} differs: {_format_difference(row)}")


def _format_difference(difference: Json) -> str:
    if difference.get("refused"):
        return "its file is now refused."
    values = [
        f"{value['metric']} ({value['split']}): {value['stored']} stored, {value['computed']} now"
        for value in difference["values"]
    ]
    more = difference["count"] - len(values)
    return "; ".join(values) + (f"; and {more} more." if more > 0 else ".")


def _rerun_submissions(
    out: CommandOutput, client: "Client", ids: Sequence[str], *, reason: str | None, wait: bool, deadline: float | None
) -> None:
    rows, refused = _order_reruns(out, client, ids, reason)
    if wait:
        with out.count_bar("Rescoring") as progress:
            while (waiting := sum(map(_is_unfinished, rows))) and not _is_past(deadline):
                progress(len(rows) - waiting, len(rows))
                time.sleep(POLL_SECONDS)
                rows = [client.submission(str(row["id"])) if _is_unfinished(row) else row for row in rows]
    waiting = sum(map(_is_unfinished, rows))
    message = f"Rescored {len(rows) - waiting} of {len(rows)} so far." if waiting else f"Rescored {len(rows)}."
    out.result(rows, lambda _: out.say(message))
    bad = refused
    for row in rows:
        difference = _rerun_of(row).get("difference")
        bad |= bool(row["status"] == "failed" or difference or _rerun_of(row).get("failure"))
        if difference:
            out.note(f"{row['id']} differs: {_format_difference(difference)}")
    if wait or refused:
        raise typer.Exit(_exit_status(wait and waiting > 0, bad))


def _order_reruns(
    out: CommandOutput, client: "Client", ids: Sequence[str], reason: str | None
) -> tuple[list[Json], bool]:
    """Order the rescorings one by one; also returns whether any was refused, which does not stop the others."""
    from app.client import ApiError

    rows, refused = [], False
    for submission_id in ids:
        try:
            rows.append(client.rerun(submission_id, reason=reason))
        except ApiError as error:
            if len(ids) == 1 or error.code != "not_rescorable":
                raise
            out.note(f"{submission_id}: {error.detail} {error.remedy or ''}".rstrip())
            refused = True
    return rows, refused


def _rerun_of(row: Json) -> Json:
    return row.get("rerun") or {}


def _is_unfinished(row: Json) -> bool:
    return row["status"] in UNFINISHED_STATUSES or _rerun_of(row).get("status") in UNFINISHED_STATUSES


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _exit_status(waiting: bool, bad: bool) -> int:
    return EXIT_STILL_WAITING if waiting else EXIT_FAILED if bad else 0
