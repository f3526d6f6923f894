"""Commands for your own account: sign up, log in, log out."""

import sys
from typing import Annotated, Any

import typer

from app.cli.connection import forget_token, remember_token, resolve_url_and_token
from app.cli.options import AsJson, Password, TokenDays, TokenName, TokenScopes, Url
from app.cli.terminal.output import CommandError, CommandOutput, command_output
from app.cli.terminal.prompts import prompt_password, prompt_unless_given

_Email = Annotated[str | None, typer.Option("--email", metavar="ADDRESS", help="E-mail address (default: prompt).")]


def signup(
    *,
    url: Url = None,
    email: _Email = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Your name (default: prompt).")] = None,
    password: Password = None,
    invitation: Annotated[
        str | None, typer.Option("--invitation", metavar="CODE", help="Code of an invitation to the site.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an account and log in with it."""
    from app.client import Client

    with command_output(as_json=as_json) as out:
        address, _ = resolve_url_and_token(url, "unused")
        email, name = prompt_unless_given(email, "E-mail", "--email"), prompt_unless_given(name, "Name", "--name")
        password = prompt_password(password, new=True)
        with Client(address) as client:
            client.sign_up(email, name, password, invitation=invitation)
            token = str(client.create_token(email, password)["token"])
        _verify_and_remember(out, address, token, "Signed up and logged in to")


def login(
    *,
    url: Url = None,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TOKEN", help="Existing token to use; - reads it from standard input."),
    ] = None,
    email: _Email = None,
    password: Password = None,
    scope: TokenScopes = None,
    days: TokenDays = None,
    token_name: TokenName = "",
    as_json: AsJson = False,
) -> None:
    """Log in to a service: create a token from e-mail address and password, or use an existing one; it is remembered."""
    from app.client import Client

    with command_output(as_json=as_json) as out:
        address, _ = resolve_url_and_token(url, "unused")
        if token == "-":  # noqa: S105 (not a password)
            token = sys.stdin.readline().strip()
        if token is None:
            email, password = prompt_unless_given(email, "E-mail", "--email"), prompt_password(password)
            with Client(address) as client:
                token = str(client.create_token(email, password, scope or None, days=days, name=token_name)["token"])
        _verify_and_remember(out, address, token, "Logged in to")


def _verify_and_remember(out: CommandOutput, address: str, token: str, done: str) -> None:
    """Verify a token by a request, store it, and report that."""
    from app.client import Client

    with Client(address, token) as client:
        me = client.me()
    path = remember_token(address, token)
    name = me.get("name") or me.get("email") or "the administrator"
    value: dict[str, Any] = {"url": address, "user": me, "credentials": str(path)}
    out.result(value, lambda _: out.say(f"{done} {address} as {name}; token stored in {path}."))


def logout(url: Url = None, as_json: AsJson = False) -> None:
    """Revoke the stored token of the last login, and delete it."""
    from app.client import ApiError, Client

    with command_output(as_json=as_json) as out:
        address, token = resolve_url_and_token(url, None)
        if token is None:
            raise CommandError("not_logged_in", f"No token is stored for {address}.")
        revoked = False
        if token.startswith("assay_"):  # the administrator's token has another form, and cannot be revoked
            try:
                with Client(address, token) as client:
                    client.revoke_token(token.removeprefix("assay_").partition(".")[0])
                revoked = True
            except ApiError as error:
                if error.code not in {"unauthorized", "not_found"}:
                    raise
        forget_token(address)
        message = f"Logged out of {address}; the token is {'revoked and ' if revoked else ''}deleted."
        out.result({"url": address, "revoked": revoked}, lambda _: out.say(message))
