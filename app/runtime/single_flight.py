"""Calls with a timeout, of which at most one runs at a time, so that hanging calls do not pile up."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """A call that one thread runs at a time; concurrent callers share its result."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._current: Future[T] | None = None

    def begin(self) -> "Future[T]":
        """The future result; its `result(seconds)` raises what the call raises, or TimeoutError."""
        with self._lock:
            if self._current is None or self._current.done():
                self._current = Future()
                # A daemon: a hanging call does not keep the process from exiting.
                threading.Thread(target=self._run_call, args=(self._current,), name="bounded", daemon=True).start()
            return self._current

    def _run_call(self, result: "Future[T]") -> None:
        try:
            result.set_result(self._call())
        except BaseException as fault:  # noqa: BLE001 - raised where the result is awaited
            result.set_exception(fault)


def call_with_timeout(seconds: float, call: Callable[[], T]) -> T:
    """The result of the call; raises TimeoutError when it takes longer."""
    return SingleFlight(call).begin().result(seconds)
