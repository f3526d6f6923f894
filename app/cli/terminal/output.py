"""Where a command's results, notes, progress and failures go: one JSON value or tables on standard output, all else beside."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from app.cli.terminal.error_advice import FailedRequest, explain_problem, failed_request_of
from app.cli.terminal.problem_tables import show_problems
from app.cli.terminal.safe_text import PLAIN, clean
from app.errors import AssayError, CommitUncertain, DatabaseUnavailable

if TYPE_CHECKING:
    from rich.console import Console

EXIT_DONE, EXIT_FAILED, EXIT_WRONG_USAGE, EXIT_STILL_WAITING = 0, 1, 2, 3
"""The exit statuses: done, failed or refused, wrong usage, the wait ended and it is still queued."""

DATABASE_REMEDY = "Check ASSAY_DATABASE_URL, whether the database runs, and whether this host may reach it; 'assay doctor' looks closer."
PIPED_WIDTH = 200  # columns of a table when nobody's terminal says how wide it is


class CommandError(Exception):
    """A command cannot do what was asked, for a reason that its user can mend."""

    def __init__(self, code: str, detail: str, remedy: str = "") -> None:
        """`code`: stable name of the reason; `detail`: what is wrong; `remedy`: how to mend it."""
        super().__init__(detail)
        self.document = {"code": code, "detail": detail} | ({"remedy": remedy} if remedy else {})


class CommandOutput:
    """The two streams of one command run, with or without --json."""

    def __init__(self, *, as_json: bool) -> None:
        """`as_json`: standard output is to hold exactly one JSON value."""
        self.as_json = as_json

    @property
    def console(self) -> "Console":
        """Standard output for people."""
        return _console(stderr=False)

    @property
    def stderr_console(self) -> "Console":
        """Standard error."""
        return _console(stderr=True)

    def result(self, value: Any, show: Callable[["Console"], None]) -> None:
        """Write the command's result: the value under --json, else what `show` prints."""
        if self.as_json:
            print_json(value)
        else:
            show(self.console)

    def say(self, text: str) -> None:
        """Print a message to standard output, or with --json to standard error."""
        (self.stderr_console if self.as_json else self.console).print(clean(text), **PLAIN)

    def note(self, text: str) -> None:
        """Print a message that is not part of the result, to standard error."""
        self.stderr_console.print(clean(text), **PLAIN)

    def notes(self, texts: Iterable[str]) -> None:
        """Print notes on the result, to standard error."""
        for text in texts:
            self.note(f"Note: {text}")

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
        with Progress(*parts, console=self.stderr_console, transient=True) as progress:
            task = progress.add_task(clean(label), total=None)

            def update(sent: int, total: int) -> None:
                progress.update(task, completed=sent, total=total, description=clean(then if sent >= total else label))

            yield update

    @contextmanager
    def count_bar(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A progress bar on standard error with count, rate and time left, fed with (done, total)."""
        if not sys.stderr.isatty():
            yield lambda _done, _total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        rate = TextColumn("{task.fields[rate]}")
        parts = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), rate)
        with Progress(*parts, TimeRemainingColumn(), console=self.stderr_console, transient=True) as progress:
            task = progress.add_task(clean(label), total=None, rate="")

            def update(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)
                speed = progress.tasks[0].speed
                progress.update(task, rate="" if speed is None else f"{speed:.1f}/s")

            yield update

    @contextmanager
    def spinner(self, text: str) -> Iterator[None]:
        """A spinner on standard error while something is awaited; nothing when nobody watches."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.text import Text

        with self.stderr_console.status(Text(clean(text))):
            yield

    def failure(self, document: Mapping[str, Any], asked: FailedRequest | None = None) -> None:
        """Write what went wrong: the document under --json, else message, faults, problems and remedy on standard error.

        `asked`: the request that was refused, so that the message can name it.
        """
        if self.as_json:
            print_json(dict(document))
            return
        err = self.stderr_console
        for_people = explain_problem(document, asked)
        err.print(f"Error: {clean(for_people['detail'])}", **PLAIN)
        for fault in document.get("errors") or ():
            where = fault.get("pointer") or fault.get("parameter") or ""
            err.print(f"  {clean(where)}: {clean(fault.get('detail', ''))}", **PLAIN)
        if document.get("problems"):
            show_problems(err, document)
        for fact in for_people["facts"]:
            err.print(clean(fact), **PLAIN)
        if for_people.get("remedy"):
            err.print(clean(for_people["remedy"]), **PLAIN)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    known = stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Console(file=stream, width=None if known else PIPED_WIDTH, markup=False, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON value at full precision; characters that the stream cannot hold are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, allow_nan=False, indent=2)
    print(text)


@contextmanager
def command_output(*, as_json: bool) -> Iterator[CommandOutput]:
    """Run a command's body; a failure that has an explanation is written and ends the command with status 1."""
    out = CommandOutput(as_json=as_json)
    try:
        yield out
    except BrokenPipeError:
        raise  # nobody reads any more: typer ends quietly
    except (AssayError, OSError) as error:
        out.failure(error_document(error))
        raise typer.Exit(EXIT_FAILED) from None
    except CommandError as error:
        out.failure(error.document)
        raise typer.Exit(EXIT_FAILED) from None
    except Exception as error:
        from app.client import ClientError  # only now: a command that succeeds offline never needs httpx

        if not isinstance(error, ClientError):
            raise
        out.failure(error.document, failed_request_of(error))
        raise typer.Exit(EXIT_FAILED) from None


def _database_error_detail(error: DatabaseUnavailable) -> str:
    """What is wrong in the driver's own words, which never hold a password."""
    said = " ".join(str(getattr(error.__cause__, "orig", None) or "").split())
    return f"The database cannot be used: {said[:500]}" if said else error.detail


def error_document(error: AssayError | OSError) -> dict[str, Any]:
    """The JSON document of an error that was raised in this process; its remedy speaks of commands."""
    if isinstance(error, DatabaseUnavailable) and not isinstance(error, CommitUncertain):
        return {"code": error.code, "detail": _database_error_detail(error), "remedy": DATABASE_REMEDY}
    if isinstance(error, AssayError):
        document = {"code": error.code, "detail": error.detail, "remedy": error.advice, **error.extra}
        return document | {"remedy": explain_problem(document)["remedy"]}
    name = "" if error.filename is None else f"{error.filename}: "
    return {"code": "file_error", "detail": f"{name}{error.strerror or error}"}
