"""Runs a function in a fresh process, so that memory begins at nothing and a failure ends nothing else."""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Failed(Exception):
    """What ran apart has failed; the text tells how."""


def apart(seconds: float, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What the function gives; all of its processes have ended by then. Raises Failed, after `seconds` at the latest.

    Within another it shares that one's processes, and ends its own alone.
    """
    leads = multiprocessing.parent_process() is None
    context = multiprocessing.get_context("spawn")
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
        os.setsid()  # what it starts is ended with it
    try:
        pipe.send((True, function(*arguments, **named)))
    except BaseException:  # noqa: BLE001 - told where the figures are shown
        pipe.send((False, traceback.format_exc()))
