"""The output of a command: its result on standard output, as JSON or for people; messages and progress on standard error."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from app.cli.terminal.error_advice import FailedRequest, explain_problem, failed_request_of
from app.cli.terminal.problem_tables import show_problems
from app.cli.terminal.safe_text import PLAIN, clean
from app.errors import AssayError, CommitUncertain, DatabaseUnavailable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

EXIT_DONE, EXIT_FAILED, EXIT_WRONG_USAGE, EXIT_STILL_WAITING = 0, 1, 2, 3
"""The exit statuses: success, failed or refused, wrong usage, timed out while still queued or running."""

DATABASE_REMEDY = (
    "Check ASSAY_DATABASE_URL, and that the database runs and this host can connect to it; run 'assay doctor'."
)
PIPED_WIDTH = 200  # of tables, if the output is not a terminal


class CommandError(Exception):
    """A command failed for a reason that its user can fix."""

    def __init__(self, code: str, detail: str, remedy: str = "", *, errors: Sequence[Mapping[str, Any]] = ()) -> None:
        """`code` is the stable name of the reason, `detail` says what is wrong, `remedy` how to fix it.

        `errors` are the faults by field, as in an answer of the service.
        """
        super().__init__(detail)
        more = {"remedy": remedy, "errors": list(errors)}
        self.document = {"code": code, "detail": detail} | {name: value for name, value in more.items() if value}


class CommandOutput:
    """The output streams of a command."""

    def __init__(self, *, as_json: bool) -> None:
        """With `as_json`, standard output gets exactly one JSON value."""
        self.as_json = as_json

    @property
    def console(self) -> "Console":
        """Standard output."""
        return _console(stderr=False)

    @property
    def stderr_console(self) -> "Console":
        """Standard error."""
        return _console(stderr=True)

    def result(self, value: Any, show: Callable[["Console"], None]) -> None:
        """Write the command's result: with --json `value`, else what `show` prints."""
        if self.as_json:
            print_json(value)
        else:
            show(self.console)

    def done(self, participle: str, identifier: object, sentence: str) -> None:
        """Write that something is gone, in the one shape for that: `{"id": …, "deleted": true}`, or the sentence."""
        self.result({"id": str(identifier), participle: True}, lambda _: self.say(sentence))

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
    def upload_bar(self, label: str, final_label: str = "Sent") -> Iterator["UploadBar | None"]:
        """A progress bar on standard error: a function of the bytes sent and in total; None without a terminal.

        Its label is `final_label` once everything has been sent.
        """
        if not sys.stderr.isatty():
            yield None
            return
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        with Progress(*columns, console=self.stderr_console, transient=True) as progress:
            yield UploadBar(progress, label, final_label)

    @contextmanager
    def count_bar(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A progress bar on standard error with count, rate and time left: a function of the counts done and in total."""
        if not sys.stderr.isatty():
            yield lambda _done, _total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        rate = TextColumn("{task.fields[rate]}")
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), rate)
        with Progress(*columns, TimeRemainingColumn(), console=self.stderr_console, transient=True) as progress:
            task = progress.add_task(clean(label), total=None, rate="")

            def update(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)
                speed = progress.tasks[0].speed
                progress.update(task, rate="" if speed is None else f"{speed:.1f}/s")

            yield update

    @contextmanager
    def spinner(self, text: str) -> Iterator[None]:
        """A spinner on standard error while the block runs; nothing without a terminal."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.text import Text

        with self.stderr_console.status(Text(clean(text))):
            yield

    def failure(self, document: Mapping[str, Any], request: FailedRequest | None = None) -> None:
        """Write an error: with --json the document; else message, errors, problems, facts and remedy on standard error.

        The message names the object of the refused `request`.
        """
        if self.as_json:
            print_json(dict(document))
            return
        console = self.stderr_console
        explanation = explain_problem(document, request)
        console.print(f"Error: {clean(explanation['detail'])}", **PLAIN)
        for error in document.get("errors") or ():
            where = error.get("pointer") or error.get("parameter") or ""
            console.print(f"  {clean(where)}: {clean(error.get('detail', ''))}", **PLAIN)
        if document.get("problems"):
            show_problems(console, document)
        for sentence in (*explanation["facts"], explanation.get("remedy")):
            if sentence:
                console.print(clean(sentence), **PLAIN)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    known_width = stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Console(file=stream, width=None if known_width else PIPED_WIDTH, markup=False, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON value at full precision; if the stream cannot encode a character, non-ASCII text is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, allow_nan=False, indent=2)
    print(text)


@contextmanager
def command_output(*, as_json: bool) -> Iterator[CommandOutput]:
    """Run the body of a command; an expected error is written and ends the command with status 1."""
    out = CommandOutput(as_json=as_json)
    try:
        yield out
    except BrokenPipeError:
        raise  # the reader closed the pipe; typer then exits quietly
    except (AssayError, OSError) as error:
        out.failure(error_document(error))
        raise typer.Exit(EXIT_FAILED) from None
    except CommandError as error:
        out.failure(error.document)
        raise typer.Exit(EXIT_FAILED) from None
    except Exception as error:
        from app.client import ClientError  # here, so that offline commands do not import httpx

        if not isinstance(error, ClientError):
            raise
        out.failure(error.document, failed_request_of(error))
        raise typer.Exit(EXIT_FAILED) from None


def _database_error_detail(error: DatabaseUnavailable) -> str:
    """The driver's message, which never contains a password, if there is one."""
    message = " ".join(str(getattr(error.__cause__, "orig", None) or "").split())
    return f"The database is not available: {message[:500]}" if message else error.detail


def error_document(error: AssayError | OSError) -> dict[str, Any]:
    """The JSON document of an error raised in this process; its remedy refers to commands."""
    if isinstance(error, DatabaseUnavailable) and not isinstance(error, CommitUncertain):
        return {"code": error.code, "detail": _database_error_detail(error), "remedy": DATABASE_REMEDY}
    if isinstance(error, AssayError):
        document = {"code": error.code, "detail": error.detail, "remedy": error.advice, **error.extra}
        return document | {"remedy": explain_problem(document)["remedy"]}
    name = "" if error.filename is None else f"{error.filename}: "
    return {"code": "file_error", "detail": f"{name}{error.strerror or error}"}


class UploadBar:
    """A progress bar of an upload; call it with the bytes sent and in total."""

    def __init__(self, progress: "Progress", label: str, final_label: str) -> None:
        self._progress, self._label, self._final_label = progress, label, final_label
        self._task = progress.add_task(clean(label), total=None)

    def __call__(self, bytes_sent: int, total: int) -> None:
        """Show how much has been sent."""
        label = self._final_label if bytes_sent >= total else self._label
        self._progress.update(self._task, completed=bytes_sent, total=total, description=clean(label))

    def relabel(self, label: str) -> None:
        """Show what happens after the upload."""
        self._progress.update(self._task, description=clean(label))
