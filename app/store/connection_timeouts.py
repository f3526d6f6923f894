"""Connections to PostgreSQL with a timeout on every wait for a reply, and a check of those that were idle.

The server limits the time of a statement, and keepalives detect a machine that vanished. Neither helps if the remote
host still acknowledges packets while the server behind it never replies (a proxy, a server whose disk hangs). For that
case the wait itself needs a timeout. It must be longer than the statement timeout, so that a slow statement is
cancelled by the server and this one closes only dead connections.
"""

import math
import select
import time
from typing import Any

import psycopg
from psycopg.errors import _WaitTimeout
from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError

PING_AFTER_IDLE_SECONDS = 1.0
_RETURNED_AT = "returned_at"


def connection_with_timeout(seconds: float) -> "type[psycopg.Connection[Any]]":
    """A connection class that closes itself, with an OperationalError, when a reply takes longer than `seconds`."""

    class ConnectionWithTimeout(psycopg.Connection[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            if timeout is not None:  # the caller limits this wait itself
                return super().wait(gen, interval, timeout)
            try:
                return super().wait(gen, interval, seconds)
            except _WaitTimeout as timed_out:
                self.close()  # the reply may still come: it must not answer the next statement
                raise _timeout_error(seconds) from timed_out

    return ConnectionWithTimeout


def ping_unless_just_used(engine: Engine) -> None:
    """Before the pool hands a connection out, ask the server through it, unless it was used a moment ago and is quiet.

    A server that restarted has closed its end, which makes the socket readable. Only a connection that died silently
    within PING_AFTER_IDLE_SECONDS passes unnoticed; its next statement fails.
    """

    @event.listens_for(engine, "checkin")
    def remember(_connection: Any, record: Any) -> None:
        record.info[_RETURNED_AT] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, _proxy: Any) -> None:
        returned = record.info.get(_RETURNED_AT)
        if returned is None:
            return  # a new connection
        if time.monotonic() - returned < PING_AFTER_IDLE_SECONDS and not _has_something_to_read(connection):
            return
        try:
            engine.dialect.do_ping(connection)
        except psycopg.Error as fault:
            raise InvalidatePoolError from fault  # the others are as old: the pool connects anew


def _has_something_to_read(connection: "psycopg.Connection[Any]") -> bool:
    """Whether an idle connection was closed, or the server has sent data without a request."""
    if connection.closed:
        return True
    poll = select.poll()  # select() itself takes no descriptor above 1023
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def async_connection_with_timeout(seconds: float) -> "type[psycopg.AsyncConnection[Any]]":
    """The same for asyncio; a wait for notifications has no timeout, because none may come for a long time."""

    class ConnectionWithTimeout(psycopg.AsyncConnection[Any]):
        def notifies(self, *, timeout: float | None = None, stop_after: int | None = None) -> Any:
            return super().notifies(timeout=math.inf if timeout is None else timeout, stop_after=stop_after)

        # The signature is psycopg's.
        async def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:  # noqa: ASYNC109
            if timeout is not None:
                return await super().wait(gen, interval, timeout)
            try:
                return await super().wait(gen, interval, seconds)
            except _WaitTimeout as timed_out:
                await self.close()
                raise _timeout_error(seconds) from timed_out

    return ConnectionWithTimeout


def _timeout_error(seconds: float) -> psycopg.OperationalError:
    return psycopg.OperationalError(f"the database did not reply for {seconds:g} s; connection closed")
