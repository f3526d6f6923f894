"""What a command asks a person for: passwords and the like, on a terminal, or from standard input when told so."""

import sys

import typer

MIN_PASSWORD_LENGTH = 10  # as the API demands


def prompt_unless_given(given: str | None, label: str, option: str) -> str:
    """What an option gave, else what is asked for on the terminal; without one the option is needed."""
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask on, so it has to be given", param_hint=option)
    return str(typer.prompt(label, err=True))


def prompt_password(given: str | None, *, new: bool = False) -> str:
    """A password from standard input (given as -), else asked for; never from the command line's words.

    A `new` one is asked for twice and must be long enough.
    """
    if given not in {None, "-"}:
        detail = "only - is taken here: other users of this machine can read a command's words"
        raise typer.BadParameter(detail, param_hint="--password")
    if given == "-":
        word = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        word = str(typer.prompt("Password", hide_input=True, confirmation_prompt=new, err=True))
    else:
        detail = "there is no terminal to ask on: give --password - and the password on standard input"
        raise typer.BadParameter(detail, param_hint="--password")
    if new and len(word) < MIN_PASSWORD_LENGTH:
        detail = f"a password has {MIN_PASSWORD_LENGTH} characters or more"
        raise typer.BadParameter(detail, param_hint="--password")
    return word
