"""The command that scores submissions again, for organizers: it asks, orders, and follows with progress."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.connection import connect_client
from app.cli.options import AsJson, Phase, Slug, Token, Url
from app.cli.terminal.output import EXIT_FAILED, EXIT_STILL_WAITING, CommandOutput, command_output
from app.cli.terminal.table_layout import format_duration

if TYPE_CHECKING:
    from app.client import Client

POLL_SECONDS = 0.5  # seconds between two looks
UNFINISHED_STATUSES = frozenset({"queued", "running"})


def rerun(
    *,
    slug: Slug,
    phase: Phase = None,
    submission: Annotated[
        list[str] | None,
        typer.Option("--submission", metavar="ID", help="Only this one, finished or failed; repeat it."),
    ] = None,
    failed: Annotated[
        bool,
        typer.Option(
            "--failed",
            help="Only those that failed by a fault of the service; those that are scored now count in the quota.",
        ),
    ] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Take back what of the running order has not begun.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all are scored again.")] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to wait at most, with --wait.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Score a phase's finished submissions again and compare: what is stored stays, a difference is told.

    New submissions go first. With --wait the exit status is 1 if a value differs or a scoring failed, 3 if the time is
    over first.
    """
    if bool(submission) + failed + cancel > 1:
        raise typer.BadParameter("give one of --submission, --failed and --cancel")
    until = None if timeout is None else time.monotonic() + timeout
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if submission:
            _rerun_submissions(out, client, submission, wait=wait, until=until)
            return
        name = client.phase(slug, phase)
        if failed:
            found = [str(row["id"]) for row in client.submissions(slug, name) if row["status"] == "failed"]
            _rerun_submissions(out, client, found, wait=wait, until=until)
        elif cancel:
            _show_phase_rerun(out, client.cancel_rerun(slug, name))
        else:
            _rerun_phase(out, client, slug, name, ask=not yes, wait=wait, until=until)


def _rerun_phase(
    out: CommandOutput, client: "Client", slug: str, phase: str, *, ask: bool, wait: bool, until: float | None
) -> None:
    if ask and not _confirm(client.rerun_state(slug, phase), f"{slug}/{phase}"):
        raise typer.Exit(EXIT_FAILED)
    made = client.rerun_phase(slug, phase)
    if wait:
        with out.count_bar(f"Scoring {slug}/{phase} again") as progress:
            while made["status"] == "running" and not _is_past(until):
                progress(made["done"] + made["failed"], made["total"])
                time.sleep(POLL_SECONDS)
                made = client.rerun_state(slug, phase)
    _show_phase_rerun(out, made)
    if wait:
        raise typer.Exit(_exit_status(made["status"] == "running", bool(made["different"] or made["failed"])))


def _confirm(state: dict[str, Any], where: str) -> bool:
    """Ask on the terminal, with count and estimate; an order that runs already needs no leave."""
    if state["status"] == "running":
        return True
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask on, so give it", param_hint="--yes")
    count, seconds = state["next"]["total"], state["next"]["seconds"]
    takes = "" if seconds is None else f" It takes about {format_duration(seconds)}."
    return typer.confirm(f"Score {count} finished submissions of {where} again?{takes}", err=True)


def _show_phase_rerun(out: CommandOutput, made: dict[str, Any]) -> None:
    where = f"{made['challenge']}/{made['phase']}"
    said = {"none": f"{where} was never scored again.", "cancelled": f"Cancelled: {made['done']} were scored again."}
    said["finished"] = (
        f"Scored {made['done']} of {made['total']} again: {made['different']} differ, {made['failed']} failed."
    )
    said["running"] = (
        f"{made['done']} of {made['total']} are scored again. Follow it with: "
        f"assay rerun {made['challenge']} --phase {made['phase']} --wait"
    )
    out.result(made, lambda _: out.say(said[made["status"]]))
    for row in made["differences"]:
        out.note(f"{row['submission']} differs: {_format_difference(row)}")


def _format_difference(found: dict[str, Any]) -> str:
    if found.get("refused"):
        return "its file is refused now."
    shown = [
        f"{one['metric']} ({one['split']}): {one['stored']} stored, {one['computed']} now" for one in found["values"]
    ]
    more = found["count"] - len(shown)
    return "; ".join(shown) + (f"; and {more} more." if more > 0 else ".")


def _rerun_submissions(
    out: CommandOutput, client: "Client", ids: Sequence[str], *, wait: bool, until: float | None
) -> None:
    found, refused = _order_reruns(out, client, ids)
    if wait:
        with out.count_bar("Scoring again") as progress:
            found = _wait_for_all(client, found, until, progress)
    out.result(found, lambda _: out.say(_summary(found)))
    bad = [one for one in found if one["status"] == "failed" or _difference(one) or _rerun_of(one).get("failure")]
    for one in found:
        if _difference(one):
            out.note(f"{one['id']} differs: {_format_difference(_difference(one))}")
    if wait or refused:
        raise typer.Exit(_exit_status(wait and any(map(_is_unfinished, found)), bool(bad) or refused))


def _order_reruns(out: CommandOutput, client: "Client", ids: Sequence[str]) -> tuple[list[dict[str, Any]], bool]:
    """Order them one by one, and whether any was refused: of several the others are scored all the same."""
    from app.client import ApiError

    found, refused = [], False
    for each in ids:
        try:
            found.append(client.rerun(each))
        except ApiError as fault:
            if len(ids) == 1 or fault.code != "not_rescorable":
                raise
            out.note(f"{each}: {fault.detail} {fault.remedy or ''}".rstrip())
            refused = True
    return found, refused


def _wait_for_all(
    client: "Client", found: list[dict[str, Any]], until: float | None, progress: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    while any(map(_is_unfinished, found)) and not _is_past(until):
        progress(sum(not _is_unfinished(one) for one in found), len(found))
        time.sleep(POLL_SECONDS)
        found = [client.submission(str(one["id"])) if _is_unfinished(one) else one for one in found]
    return found


def _summary(found: Sequence[dict[str, Any]]) -> str:
    waiting = sum(map(_is_unfinished, found))
    return f"{len(found) - waiting} of {len(found)} are scored again." if waiting else f"Scored {len(found)} again."


def _rerun_of(one: dict[str, Any]) -> dict[str, Any]:
    return one.get("rerun") or {}


def _difference(one: dict[str, Any]) -> dict[str, Any]:
    return _rerun_of(one).get("difference") or {}


def _is_unfinished(one: dict[str, Any]) -> bool:
    return one["status"] in UNFINISHED_STATUSES or _rerun_of(one).get("status") in UNFINISHED_STATUSES


def _is_past(until: float | None) -> bool:
    return until is not None and time.monotonic() >= until


def _exit_status(waiting: bool, bad: bool) -> int:
    return EXIT_STILL_WAITING if waiting else EXIT_FAILED if bad else 0
