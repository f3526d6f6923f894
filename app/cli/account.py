"""Commands about one's own account: sign up, log in, log out."""

import sys
from typing import Annotated, Any

import typer

from app.cli.connection import forget_token, remember_token, resolve_url_and_token
from app.cli.options import AsJson, Password, Url
from app.cli.terminal.output import CommandError, CommandOutput, command_output
from app.cli.terminal.prompts import prompt_password, prompt_unless_given

_Email = Annotated[str | None, typer.Option("--email", metavar="ADDRESS", help="E-mail address (default: asked for).")]


def signup(
    url: Url = None,
    email: _Email = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Your name (default: asked for).")] = None,
    password: Password = None,
    as_json: AsJson = False,
) -> None:
    """Create an account and log in with it."""
    from app.client import Client

    with command_output(as_json=as_json) as out:
        address, _ = resolve_url_and_token(url, "unused")
        who, called = prompt_unless_given(email, "E-mail", "--email"), prompt_unless_given(name, "Name", "--name")
        word = prompt_password(password, new=True)
        with Client(address) as client:
            client.sign_up(who, called, word)
            key = str(client.create_token(who, word)["token"])
        _verify_and_remember(out, address, key, "Signed up and logged in to")


def login(
    *,
    url: Url = None,
    token: Annotated[
        str | None, typer.Option("--token", metavar="TOKEN", help="A token to keep; - reads it from standard input.")
    ] = None,
    email: _Email = None,
    password: Password = None,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", metavar="SCOPE", help="Scope of the new token; repeat it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Log in to a service and remember it: trade e-mail address and password for a token, or keep a given one."""
    from app.client import Client

    with command_output(as_json=as_json) as out:
        address, _ = resolve_url_and_token(url, "unused")
        key = sys.stdin.readline().strip() if token == "-" else token  # noqa: S105 (no password)
        if key is None:
            who, word = prompt_unless_given(email, "E-mail", "--email"), prompt_password(password)
            with Client(address) as client:
                key = str(client.create_token(who, word, scope or None)["token"])
        _verify_and_remember(out, address, key, "Logged in to")


def _verify_and_remember(out: CommandOutput, address: str, key: str, done: str) -> None:
    """Try a token, remember it, and say so."""
    from app.client import Client

    with Client(address, key) as client:
        me = client.me()
    path = remember_token(address, key)
    name = me.get("name") or me.get("email") or "the administrator"
    value: dict[str, Any] = {"url": address, "user": me, "credentials": str(path)}
    out.result(value, lambda _: out.say(f"{done} {address} as {name}; remembered in {path}."))


def logout(url: Url = None, as_json: AsJson = False) -> None:
    """Revoke the token that the last login remembered, and forget it."""
    from app.client import ApiError, Client

    with command_output(as_json=as_json) as out:
        address, key = resolve_url_and_token(url, None)
        if key is None:
            raise CommandError("not_logged_in", f"No token is remembered for {address}.")
        token_id = key.removeprefix("assay_").partition(".")[0] if key.startswith("assay_") else None
        revoked = False
        if token_id is not None:  # else it is the administrator's own, which lives in the service's data folder
            try:
                with Client(address, key) as client:
                    client.revoke_token(token_id)
                revoked = True
            except ApiError as error:
                if error.code not in {"unauthorized", "not_found"}:
                    raise
        forget_token(address)
        said = "The token is revoked and forgotten." if revoked else "The token is forgotten."
        out.result({"url": address, "revoked": revoked}, lambda _: out.say(f"Logged out of {address}. {said}"))
