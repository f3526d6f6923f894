"""The options that describe a phase, which adding and editing share."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.options import file_option
from app.cli.terminal.output import CommandError

_TIME_FORMS = "RFC 3339, local time such as 2027-03-01T12:00, or 2027-03-01 AoE"
LIMITS = ("per_day", "total", "concurrent", "invalid_per_day")


def _limit(name: str, counted: str) -> Any:
    flag = f"--{name.replace('_', '-')}"
    return Annotated[str | None, typer.Option(flag, metavar="N", help=f"{counted}, or none.")]


_FIELDS: dict[str, Any] = {
    "file": Annotated[Path | None, file_option("--file", "-f", help="Fields of the phase in YAML or JSON.")],
    "opens_at": Annotated[str | None, typer.Option("--opens", metavar="TIME", help=f"Opening: {_TIME_FORMS}.")],
    "closes_at": Annotated[
        str | None, typer.Option("--closes", metavar="TIME", help="Close, in the same forms, or never.")
    ],
    "per_day": _limit("per_day", "Submissions of a team per day"),
    "total": _limit("total", "Submissions of a team in total"),
    "concurrent": _limit("concurrent", "Submissions of a team that wait or run at once"),
    "invalid_per_day": _limit("invalid_per_day", "Rejected files of a team per day"),
    "leaderboard": Annotated[
        Literal["public", "hidden", "after_close"] | None,
        typer.Option("--leaderboard", metavar="WHEN", help="public, hidden or after_close."),
    ],
    "late": Annotated[
        Literal["refuse", "unofficial"] | None,
        typer.Option("--late", metavar="RULE", help="Submissions after the close: refuse or unofficial."),
    ],
    "reports": Annotated[
        list[str] | None,
        typer.Option(
            "--report",
            metavar="REPORT",
            help="What participants see: scores, intervals, per_class, confusion, curves, significance or rankings; "
            "repeatable.",
        ),
    ],
    "anonymous": Annotated[
        bool | None, typer.Option("--anonymous/--named", help="Whether the leaderboard hides the names of teams.")
    ],
}


def phase_fields(command: Callable[..., None]) -> Callable[..., None]:
    """A decorator that replaces the parameter `fields` of a command by one option per field of a phase."""
    signature = inspect.signature(command)
    parameters = list(signature.parameters.values())
    at = list(signature.parameters).index("fields")
    parameters[at : at + 1] = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _FIELDS.items()
    ]

    @wraps(command)
    def run(**arguments: Any) -> None:
        fields = {name: arguments.pop(name) for name in _FIELDS}
        command(**arguments, fields=fields)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # which typer reads
    return run


def merge_fields(fields: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """The body of a request: what the file says, then the options; limits that are not named stay as they are."""
    from app.cli.input.yaml_file import load_description

    given = {name: value for name, value in fields.items() if value not in (None, [])}
    file = given.pop("file", None)
    body = {} if file is None else load_description(file)
    limits = {name: given.pop(name) for name in LIMITS if name in given}
    if limits:
        known = body.get("quota", current.get("quota") or {})
        body["quota"] = known | {name: _parse_limit(name, text) for name, text in limits.items()}
    if given.get("closes_at") == "never":
        given["closes_at"] = None
    return body | given


def _parse_limit(name: str, text: str) -> int | None:
    if text == "none":
        return None
    if not text.isdecimal() or int(text) == 0:
        detail = f"{text!r} is no limit."
        raise CommandError("bad_limit", detail, f"Give a number from 1, or none: --{name.replace('_', '-')} 5.")
    return int(text)
