"""Where a command's results, notes, progress and failures go: one JSON value or tables on standard output, all else beside."""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from app.errors import AssayError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

DONE, FAILED, WRONG_USAGE, STILL_WAITING = 0, 1, 2, 3
"""The exit statuses: done, failed or refused, wrong usage, the wait ended and it is still queued."""

PIPED_WIDTH = 200  # columns of a table when nobody's terminal says how wide it is
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Refused(Exception):
    """A command cannot do what was asked, for a reason that its user can mend."""

    def __init__(self, code: str, detail: str, remedy: str = "") -> None:
        """`code`: stable name of the reason; `detail`: what is wrong; `remedy`: how to mend it."""
        super().__init__(detail)
        self.document = {"code": code, "detail": detail} | ({"remedy": remedy} if remedy else {})


def clean(value: object) -> str:
    """The value as text that cannot steer a terminal: control characters, lone surrogates and direction marks escaped."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs"} or char in _BIDI


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def number(value: float | None) -> str:
    """A metric's value for people: six significant digits, a dash where it is undefined."""
    return "–" if value is None else f"{value:.6g}"  # noqa: RUF001 (a dash is what is meant)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, right: Iterable[str] = ()
) -> "RenderableType":
    """A table of cleaned cells; the columns named in `right` are aligned right, None is an empty cell."""
    from rich.table import Table
    from rich.text import Text

    made = Table(title=None if title is None else Text(clean(title)), title_justify="left")
    numeric = set(right)
    for column in columns:
        made.add_column(column, justify="right" if column in numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text("" if value is None else clean(value)) for value in row))
    return made


class Output:
    """The two streams of one command run, with or without --json."""

    def __init__(self, *, as_json: bool) -> None:
        """`as_json`: standard output is to hold exactly one JSON value."""
        self.as_json = as_json

    @property
    def console(self) -> "Console":
        """Standard output for people."""
        return _console(stderr=False)

    @property
    def aside(self) -> "Console":
        """Standard error."""
        return _console(stderr=True)

    def result(self, value: Any, show: Callable[["Console"], None]) -> None:
        """Write the command's result: the value under --json, else what `show` prints."""
        if self.as_json:
            print_json(value)
        else:
            show(self.console)

    def say(self, text: str) -> None:
        """One sentence for people: standard output, or standard error under --json."""
        (self.aside if self.as_json else self.console).print(clean(text), markup=False, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """One sentence beside the result, on standard error."""
        self.aside.print(clean(text), markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def upload_bar(self, label: str, then: str = "Sent") -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar on standard error, fed with (sent, total) bytes; None when nobody watches.

        `then`: what it says once everything is sent and the answer is awaited.
        """
        if not sys.stderr.isatty():
            yield None
            return
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        parts = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*parts, console=self.aside, transient=True) as progress:
            task = progress.add_task(clean(label), total=None)

            def update(sent: int, total: int) -> None:
                progress.update(task, completed=sent, total=total, description=clean(then if sent >= total else label))

            yield update

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """A spinner on standard error while something is awaited; nothing when nobody watches."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.text import Text

        with self.aside.status(Text(clean(text))):
            yield

    def failure(self, document: Mapping[str, Any]) -> None:
        """Write what went wrong: the document under --json, else message, faults, problems and remedy on standard error."""
        if self.as_json:
            print_json(dict(document))
            return
        err = self.aside
        err.print(f"Error: {clean(document.get('detail', document.get('title', 'it failed')))}", **_PLAIN)
        for fault in document.get("errors") or ():
            where = fault.get("pointer") or fault.get("parameter") or ""
            err.print(f"  {clean(where)}: {clean(fault.get('detail', ''))}", **_PLAIN)
        if document.get("problems"):
            show_problems(err, document)
        if document.get("remedy"):
            err.print(clean(document["remedy"]), **_PLAIN)


_PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else PIPED_WIDTH, markup=False, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON value at full precision; characters that the stream cannot hold are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, allow_nan=False, indent=2)
    print(text)


def show_problems(console: "Console", report: Mapping[str, Any]) -> None:
    """Print a problems object (`total`, `problems`): the totals per code, then each problem with place and remedy."""
    totals = report.get("total") or {}
    shown = report.get("problems") or []
    many = sum(totals.values()) or len(shown)
    counts = ", ".join(f"{clean(code)} {count}" for code, count in totals.items())
    console.print(f"{many} problem{'' if many == 1 else 's'}" + (f": {counts}" if counts else ""), **_PLAIN)
    columns = ("code", "place", "id", "got", "expected", "how to mend it")
    console.print(table(columns, (_problem_row(problem) for problem in shown)))
    if many > len(shown):
        console.print(f"The first {len(shown)} of {many} are shown.", **_PLAIN)


def _problem_row(problem: Mapping[str, Any]) -> tuple[object, ...]:
    keys = ("instance_id", "got", "expected", "message")
    return (problem.get("code"), place(problem), *(problem.get(key) for key in keys))


def place(problem: Mapping[str, Any]) -> str:
    """Where a problem stands: `line 3, column 5`, or the JSON pointer."""
    if problem.get("line") is not None:
        column = problem.get("column")
        return f"line {problem['line']}" + ("" if column is None else f", column {column}")
    return str(problem.get("pointer") or "")


@contextmanager
def reporting(*, as_json: bool) -> Iterator[Output]:
    """Run a command's body; a failure that has an explanation is written and ends the command with status 1."""
    out = Output(as_json=as_json)
    try:
        yield out
    except BrokenPipeError:
        raise  # nobody reads any more: typer ends quietly
    except (AssayError, OSError) as error:
        out.failure(explained(error))
        raise typer.Exit(FAILED) from None
    except Refused as error:
        out.failure(error.document)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        from app.client import ClientError  # only now: a command that succeeds offline never needs httpx

        if not isinstance(error, ClientError):
            raise
        out.failure(error.document)
        raise typer.Exit(FAILED) from None


def explained(error: AssayError | OSError) -> dict[str, Any]:
    """The JSON document of an error that was raised in this process."""
    if isinstance(error, AssayError):
        return {"code": error.code, "detail": error.detail, "remedy": error.advice, **error.extra}
    name = "" if error.filename is None else f"{error.filename}: "
    return {"code": "file_error", "detail": f"{name}{error.strerror or error}"}
