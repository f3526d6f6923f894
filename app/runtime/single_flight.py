"""Calls that nobody waits for longer than they wish, and that are not piled up while one hangs."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """A call made by one thread at a time: whoever asks while it is being made gets the answer of that one."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._current: Future[T] | None = None

    def begin(self) -> "Future[T]":
        """The answer to come; its `result(seconds)` raises what the call raises, or TimeoutError."""
        with self._lock:
            if self._current is None or self._current.done():
                self._current = Future()
                # A daemon: a call that hangs keeps no program from ending.
                threading.Thread(target=self._run_call, args=(self._current,), name="bounded", daemon=True).start()
            return self._current

    def _run_call(self, answer: "Future[T]") -> None:
        try:
            answer.set_result(self._call())
        except BaseException as fault:  # noqa: BLE001 - it is raised where the answer is awaited
            answer.set_exception(fault)


def call_with_timeout(seconds: float, call: Callable[[], T]) -> T:
    """What the call gives; raises TimeoutError when it takes longer."""
    return SingleFlight(call).begin().result(seconds)
