"""Runs a function in a fresh process, so that memory use starts fresh and a failure affects nothing else."""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

START_METHOD: Literal["spawn", "fork"] = "spawn"
"""How the other process starts: from nothing. Tests fork, which saves the imports."""


class Failed(Exception):
    """The function in the other process failed; the message gives the reason."""


def apart(seconds: float, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """The result of the function, after all its processes have ended. Raises Failed, after `seconds` at the latest.

    A nested call belongs to the process group of the outer one, and ends only its own process.
    """
    leads = multiprocessing.parent_process() is None
    context = multiprocessing.get_context(START_METHOD)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, leads, function, arguments, named))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise Failed(f"it took longer than {seconds:.0f} s")
        ended, given = ours.recv()
    except EOFError:
        process.join(10)
        raise Failed(f"it ended with status {process.exitcode}") from None
    finally:
        if leads and process.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
        ours.close()
    if not ended:
        raise Failed(given)
    value: T = given
    return value


def _run(
    pipe: Connection,
    leads: bool,
    function: Callable[..., object],
    arguments: tuple[object, ...],
    named: dict[str, object],
) -> None:
    if leads:
        os.setsid()  # the processes that it starts are ended with it
    try:
        pipe.send((True, function(*arguments, **named)))
    except BaseException:  # noqa: BLE001 - reported with the figures
        pipe.send((False, traceback.format_exc()))
