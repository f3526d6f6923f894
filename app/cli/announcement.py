"""Commands about announcements."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, Slug, Token, Url, file_option
from app.cli.terminal import announcement_tables
from app.cli.terminal.output import CommandError, command_output

AnnouncementId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Id of the announcement.", autocompletion=completion.announcements),
]
Body = Annotated[str | None, typer.Option("--body", metavar="TEXT", help="Plain text or Markdown.")]
BodyFile = Annotated[Path | None, file_option("--file", "-f", help="The body in a file; - for stdin.")]


def list_announcements(slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show what the organizers of a challenge announced, newest first."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        rows = list(client.announcements(slug))
        out.result(rows, lambda console: announcement_tables.show_announcements(console, rows))
        out.note(f"Feed: {client.feed_url(slug)}")


def post_announcement(
    *,
    slug: Slug,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="One line.")],
    body: Body = None,
    file: BodyFile = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Tell everybody who sees a challenge something, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        row = client.post_announcement(slug, title, _text(body, file) or "")
        out.result(row, lambda _: out.say(f"Announced: {row['title']} ({row['id']})."))


def edit_announcement(
    *,
    slug: Slug,
    announcement: AnnouncementId,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="One line.")] = None,
    body: Body = None,
    file: BodyFile = None,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Change the title or the body of an announcement, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        given = {"title": title, "body": _text(body, file)}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise CommandError("nothing_to_change", "Nothing to change.", "Give --title, --body or --file.")
        row = client.edit_announcement(slug, announcement, reason=reason, **changes)
        out.result(row, lambda _: out.say(f"Changed: {row['title']} ({row['id']})."))


def delete_announcement(
    *,
    slug: Slug,
    announcement: AnnouncementId,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete an announcement, as an organizer."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.delete_announcement(slug, announcement, reason=reason)
        out.done("deleted", announcement, f"The announcement {announcement} is deleted.")


def _text(body: str | None, file: Path | None) -> str | None:
    if body is not None and file is not None:
        raise CommandError("two_bodies", "There are two bodies.", "Give either --body or --file.")
    if file is None:
        return body
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError("encoding", f"{file} is not UTF-8: {error.reason} at byte {error.start}.") from None
