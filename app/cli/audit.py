"""The command that shows the audit trail."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, Token, Url
from app.cli.terminal.audit_table import show_trail
from app.cli.terminal.output import command_output

if TYPE_CHECKING:
    from app.client import Client

_TIME_HELP = "an RFC 3339 time, or a date or time in UTC."


def _option(name: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: A002 (typer's own word)
    return typer.Option(name, metavar=metavar, help=help, **more)


def _person(name: str, help: str) -> Any:  # noqa: A002
    return _option(name, "USER", help, autocompletion=completion.people)


def audit(
    slug: Annotated[
        str | None,
        typer.Argument(
            metavar="SLUG",
            help="Challenge (default: the whole site; requires an administrator).",
            autocompletion=completion.challenges,
        ),
    ] = None,
    *,
    action: Annotated[
        str | None, _option("--action", "ACTION", "Such as phase.pause, or phase for all acts on phases.")
    ] = None,
    actor: Annotated[
        str | None, _person("--actor", "Who acted: e-mail address or id, or operator for commands here.")
    ] = None,
    user: Annotated[str | None, _person("--user", "Whom it concerns: e-mail address or id.")] = None,
    object_id: Annotated[
        str | None, _option("--object", "ID", "What was changed, such as the id of a submission.")
    ] = None,
    team: Annotated[
        str | None, _option("--team", "TEAM", "Name or id of a team.", autocompletion=completion.teams)
    ] = None,
    phase: Annotated[
        str | None, _option("--phase", "PHASE", "Slug or id of a phase.", autocompletion=completion.phases)
    ] = None,
    since: Annotated[str | None, _option("--since", "TIME", f"Acts from then on: {_TIME_HELP}")] = None,
    until: Annotated[str | None, _option("--until", "TIME", f"Acts before that: {_TIME_HELP}")] = None,
    oldest: Annotated[bool, typer.Option("--oldest", help="The oldest entries first.")] = False,
    limit: Annotated[int, _option("--limit", "N", "Print at most so many entries.", min=1)] = 100,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what, when and why: in a challenge, for its organizers, or on the whole site.

    Without a challenge it needs an administrator. Entries of deleted challenges stay readable for administrators.
    """
    times = {"since": _parse_time(since, "--since"), "until": _parse_time(until, "--until")}
    filters = {"action": action, "actor": actor, "user": user, "object": object_id, "team": team, "phase": phase}
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = client.audit(slug, **filters, **times, order="oldest" if oldest else "newest")
        entries = list(islice(found, limit + 1))
        shown = entries[:limit]
        out.result(shown, lambda console: show_trail(console, shown, with_challenge=slug is None))
        if not entries:
            out.notes(_absent_names(client, slug, filters))
        if len(entries) > limit:
            out.note(f"There are more than {limit} entries: narrow them down, or raise --limit.")


def _absent_names(client: "Client", slug: str | None, filters: Mapping[str, str | None]) -> Iterator[str]:
    """A note for each name or id that no entry of the trail has."""
    for name in ("team", "phase", "user", "actor", "object"):
        value = filters[name]
        if value is not None and next(client.audit(slug, **{name: value}), None) is None:
            yield f"No entry has --{name} '{value}', whatever else is asked for: check how it is written."


def _parse_time(text: str | None, hint: str) -> str | None:
    """A time as the service takes it; without an offset it is in UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"'{text}' is not a time such as 2027-01-31 or 2027-01-31T12:00:00Z", param_hint=hint
        ) from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).isoformat()
