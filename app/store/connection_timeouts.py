"""Connections to PostgreSQL that do not wait for ever: the server bounds a statement, this bounds its silence.

Keepalives notice a machine that vanished. They do not notice a host that still acknowledges every packet while whatever
is behind it (a proxy, a server whose disk hangs) says nothing: there the wait itself needs an end.
"""

import math
from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout


def connection_with_timeout(seconds: float) -> "type[psycopg.Connection[Any]]":
    """Connections that hang up, with an OperationalError, when an answer takes longer."""

    class Patient(psycopg.Connection[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            if timeout is not None:
                return super().wait(gen, interval, timeout)
            try:
                return super().wait(gen, interval, seconds)
            except _WaitTimeout as silent:
                self.close()
                raise _timeout_error(seconds) from silent

    return Patient


def async_connection_with_timeout(seconds: float) -> "type[psycopg.AsyncConnection[Any]]":
    """The same for asyncio; who listens for notices may do so for as long as none comes."""

    class Patient(psycopg.AsyncConnection[Any]):
        def notifies(self, *, timeout: float | None = None, stop_after: int | None = None) -> Any:
            return super().notifies(timeout=math.inf if timeout is None else timeout, stop_after=stop_after)

        async def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - theirs
            if timeout is not None:
                return await super().wait(gen, interval, timeout)
            try:
                return await super().wait(gen, interval, seconds)
            except _WaitTimeout as silent:
                await self.close()
                raise _timeout_error(seconds) from silent

    return Patient


def _timeout_error(seconds: float) -> psycopg.OperationalError:
    return psycopg.OperationalError(f"the database was silent for {seconds:g} s; hung up")
