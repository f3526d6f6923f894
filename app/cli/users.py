"""Commands for administrators: accounts, and invitations to the site."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import (
    AsJson,
    AuditReason,
    DataDir,
    InvitationDays,
    InvitationNote,
    InvitationUses,
    Reason,
    Token,
    UnlimitedUses,
    Url,
    Yes,
)
from app.cli.serve import load_settings, write_transaction
from app.cli.terminal import account_tables
from app.cli.terminal.output import CommandError, command_output
from app.cli.terminal.prompts import require_consent

if TYPE_CHECKING:
    from app.client import Client

UserName = Annotated[
    str, typer.Argument(metavar="USER", help="E-mail address or id of the account.", autocompletion=completion.users)
]


def list_users(
    *,
    search: Annotated[str | None, typer.Option("--search", metavar="TEXT", help="Part of a name or address.")] = None,
    status: Annotated[
        Literal["enabled", "disabled", "approved", "admin"] | None,
        typer.Option("--status", metavar="STATUS", help="enabled, disabled, approved or admin."),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List accounts. Requires an administrator."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        users = list(client.users(search, status))
        out.result(users, lambda console: account_tables.show_users(console, users))


def approve_user(
    *,
    user: UserName,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Withdraw the approval.")] = False,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Approve a user to create challenges. Requires an administrator."""
    changes = {"approved": not withdraw, "reason": reason}
    done = "is no longer approved" if withdraw else "is approved"
    _edit_user(user, changes, done, url=url, token=token, as_json=as_json)


def disable_user(
    user: UserName,
    reason: Reason,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Disable an account: its sessions and tokens end, and nobody can log in to it. Requires an administrator."""
    _edit_user(user, {"disabled": True, "reason": reason}, "is disabled", url=url, token=token, as_json=as_json)


def enable_user(
    user: UserName, reason: AuditReason = None, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Enable a disabled account. Requires an administrator."""
    _edit_user(user, {"disabled": False, "reason": reason}, "is enabled", url=url, token=token, as_json=as_json)


def delete_user(
    *,
    user: UserName,
    reason: AuditReason = None,
    yes: Yes = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete an account; what it sent stays under a pseudonym. Requires an administrator."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        require_consent(f"Delete the account {user}? This cannot be undone.", yes=yes)
        user_id = _user_id(client, user)
        client.delete_user(user_id, reason=reason)
        out.done("deleted", user_id, f"The account {user} is deleted.")


def reset_user(
    *,
    user: UserName,
    local: Annotated[
        bool, typer.Option("--local", help="Act on the database of this machine, as for an administrator's account.")
    ] = False,
    reason: AuditReason = None,
    data_dir: DataDir = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Make a link with which a user sets a new password within an hour.

    Requires an administrator, or with --local access to the database. Hand the link to the user by a channel that you
    trust.
    """
    with command_output(as_json=as_json) as out:
        if local:
            reset = _reset_locally(user, data_dir, reason)
        else:
            with connect_client(out, url, token) as client:
                reset = client.reset_user(_user_id(client, user), reason=reason)
        out.result(reset, lambda _: out.say(str(reset["link"])))
        out.note("Whoever has this link can set the password; it is valid for one hour, once.")
        if "#" not in str(reset["link"]):
            out.note("ASSAY_PUBLIC_URL is not set here, so this is the secret of the link alone.")
        out.note(f"The user sets a password with: assay password --link '{reset['link']}'")


def _reset_locally(user: str, data_dir: Any, reason: str | None) -> dict[str, Any]:
    """Make a reset directly in the database; without a public address, the link is the secret alone."""
    settings = load_settings(data_dir=data_dir)
    from app.actions.accounts import bootstrap
    from app.actions.accounts.manage_users import reset_link

    with write_transaction(settings) as session:
        row, secret = bootstrap.reset_password(session, user, reason=reason)
        link = reset_link(settings.public_url, secret) if settings.public_url else secret
        return {"link": link, "expires_at": row.expires_at.isoformat()}


def create_invitation(
    *,
    uses: InvitationUses = 1,
    unlimited: UnlimitedUses = False,
    days: InvitationDays = 30,
    note: InvitationNote = "",
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Invite people to sign up on this site: print a code. Requires an administrator."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        invitation = client.invite_to_site(max_uses=None if unlimited else uses, days=days, note=note)
        out.result(invitation, lambda _: out.say(str(invitation["code"])))
        out.note(f"It is not shown again. Sign up with it: assay signup --invitation {invitation['code']}")


def list_invitations(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List the invitations to this site. Requires an administrator."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        invitations = list(client.site_invitations())
        out.result(invitations, lambda console: account_tables.show_invitations(console, invitations))


def revoke_invitation(
    invitation: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the invitation.", autocompletion=completion.invitations)
    ],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Revoke an invitation to this site. Requires an administrator."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.revoke_site_invitation(invitation, reason=reason)
        out.done("revoked", invitation, f"The invitation {invitation} is revoked.")


def _edit_user(
    user: str, changes: dict[str, Any], done: str, *, url: str | None, token: str | None, as_json: bool
) -> None:
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        edited = client.edit_user(_user_id(client, user), changes)
        out.result(edited, lambda _: out.say(f"The account {edited['email']} {done}."))


def _user_id(client: "Client", user: str) -> str:
    """The id of the account with this address or id."""
    if "@" not in user:
        return user
    found = [row for row in client.users(user, None) if str(row["email"]).casefold() == user.casefold()]
    if not found:
        raise CommandError("not_found", f"There is no account with the address {user}.", "Check the address.")
    return str(found[0]["id"])
