"""Commands about one's own account: password, name, data, tokens, deletion."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client, resolve_url_and_token
from app.cli.options import AsJson, AuditReason, Password, Token, Url, Yes
from app.cli.terminal import account_tables
from app.cli.terminal.output import command_output
from app.cli.terminal.prompts import MIN_PASSWORD_LENGTH, prompt_password, require_consent

STDIN_HELP = "- reads the present and the new password from two lines of standard input (default: prompt)."


def change_password(
    *,
    passwords: Annotated[str | None, typer.Option("--password", metavar="-", help=STDIN_HELP)] = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link", metavar="LINK", help="Link of an administrator; then only the new password is asked for."
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Change your password, or set a new one with a reset link.

    All other sessions and tokens end.
    """
    from app.client import Client

    with command_output(as_json=as_json) as out:
        if link is not None:
            site, _, _ = link.partition("/password-reset#")
            address, _ = resolve_url_and_token(url or (site if site != link else None), "unused")
            new = prompt_password(passwords, new=True)
            with Client(address) as client:
                client.spend_reset(link.rpartition("#")[2], new)
            out.result({"changed": True}, lambda _: out.say("The new password is set. Log in with: assay login"))
            return
        current, new = _two_passwords(passwords)
        with connect_client(out, url, token) as client:
            client.change_password(current, new)
        out.result({"changed": True}, lambda _: out.say("The password is changed; all other tokens have ended."))


def _two_passwords(given: str | None) -> tuple[str, str]:
    """The present and the new password, from standard input or prompts."""
    if given is None and sys.stdin.isatty():
        current = str(typer.prompt("Present password", hide_input=True, err=True))
        new = str(typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True))
    elif given == "-":
        current, new = (sys.stdin.readline().rstrip("\r\n") for _ in range(2))
    else:
        raise typer.BadParameter("use - and pipe both passwords to standard input", param_hint="--password")
    if len(new) < MIN_PASSWORD_LENGTH:
        raise typer.BadParameter(f"a password must have at least {MIN_PASSWORD_LENGTH} characters")
    return current, new


def rename_account(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Change the name of your account."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        me = client.rename_me(name)
        out.result(me, lambda _: out.say(f"Your name is now {me['name']}."))


def show_account(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show your account and what the token in use may do."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        me = client.me()
        out.result(me, lambda _: out.say(f"{me['name']} <{me['email']}>, scopes: {' '.join(me['scopes'])}"))


def download_data(
    *,
    target: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="Output file (default: standard output)."),
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Download everything that the service stores about your account, as one JSON file."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        data = client.my_data()
        if target is None and as_json:
            out.result(data, lambda _: None)
            return
        content = f"{json.dumps(data, indent=2, ensure_ascii=False)}\n".encode()
        if target is None:
            sys.stdout.buffer.write(content)
            return
        target.write_bytes(content)
        out.result({"file": str(target), "bytes": len(content)}, lambda _: out.say(f"Wrote {target}."))


def delete_account(
    *,
    password: Password = None,
    yes: Yes = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete your account. What you sent stays under a pseudonym; it cannot be undone."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        require_consent("Delete your account? This cannot be undone.", yes=yes)
        user_id = client.me()["id"]
        client.delete_me(prompt_password(password))
        out.done("deleted", user_id, "Your account is deleted.")


def list_tokens(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List your tokens that are not revoked, with their last use."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        tokens = list(client.tokens())
        out.result(tokens, lambda console: account_tables.show_tokens(console, tokens))


def revoke_token(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.", autocompletion=completion.tokens)],
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Revoke one of your tokens; an administrator may revoke any."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.revoke_token(token_id, reason=reason)
        out.done("revoked", token_id, f"The token {token_id} is revoked.")
