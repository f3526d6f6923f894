"""Prompts for missing values and passwords."""

import sys

import typer

MIN_PASSWORD_LENGTH = 10  # as in the API


def prompt_unless_given(value: str | None, label: str, option: str) -> str:
    """The value of an option, else the answer to a prompt; without a terminal the option is required."""
    if value is not None:
        return value
    if not sys.stdin.isatty():
        raise typer.BadParameter("required, as there is no terminal for a prompt", param_hint=option)
    return str(typer.prompt(label, err=True))


def require_consent(question: str, *, yes: bool) -> None:
    """Ask before what cannot be undone; --yes answers. No ends the command with status 1.

    Without a terminal --yes is required.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("required, as there is no terminal to confirm on", param_hint="--yes")
    typer.confirm(question, abort=True, err=True)


def prompt_password(value: str | None, *, new: bool = False) -> str:
    """A password from standard input if `value` is -, else from a prompt; never from the command line itself.

    A `new` password must be entered twice and have the minimum length.
    """
    if value == "-":
        password = sys.stdin.readline().rstrip("\r\n")
    elif value is not None:
        raise _password_error("must be -, as other users of this machine can see command-line arguments")
    elif sys.stdin.isatty():
        password = str(typer.prompt("Password", hide_input=True, confirmation_prompt=new, err=True))
    else:
        raise _password_error(
            "there is no terminal for a prompt: use --password - and pipe the password to standard input"
        )
    if new and len(password) < MIN_PASSWORD_LENGTH:
        raise _password_error(f"a password must have at least {MIN_PASSWORD_LENGTH} characters")
    return password


def _password_error(detail: str) -> typer.BadParameter:
    return typer.BadParameter(detail, param_hint="--password")
