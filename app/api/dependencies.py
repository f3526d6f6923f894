"""What routes ask for: the service's parts, the caller, and the common parameters."""

import asyncio
import hmac
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from app.actions.access import VISITOR, Caller, require_organizer, see_challenge
from app.actions.accounts.issue_token import caller_of
from app.actions.accounts.passwords import Decoys
from app.actions.operations.check_readiness import Readiness
from app.api.caching.board_cache import KeptBoards
from app.api.caching.generated_files import MadeFiles
from app.api.limits.body_memory import BodyMemory
from app.api.limits.client_addresses import block
from app.api.limits.password_hashing import HashingPool
from app.api.limits.reader_queue import LargeUploads, OneByOne, Readers
from app.api.limits.request_limits import Limiter
from app.errors import BadCursor, BadRequest, RequestInFlight, Unauthorized
from app.files import Files
from app.queue import Queue
from app.runtime.telemetry import Figures
from app.settings import Settings
from app.store.session import Database

Row = TypeVar("Row")


class Waiter(asyncio.Event):
    """Set when what it waits for has settled; of the loop that made it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.get_running_loop()
        self.submission_id: str | None = None


class Notifier:
    """Tells waiting requests that a submission has its final status; waiters hold no thread and no session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Waiter]] = {}
        self.count = 0
        self.ended = False

    @contextmanager
    def listen(self, submission_id: str | None = None) -> Iterator[Waiter]:
        """What is set when the submission settles while the block lasts; which one may be said later."""
        waiter = Waiter()
        if submission_id is not None:
            self.follow(waiter, submission_id)
        try:
            yield waiter
        finally:
            with self._lock:
                self._leave(waiter)

    def follow(self, waiter: Waiter, submission_id: str, most: float = math.inf) -> None:
        """From any thread: wait for this submission, unless `most` wait already.

        Before it is committed, so that nothing can be missed.
        """
        with self._lock:
            if self.count >= most:
                return
            waiter.submission_id = submission_id
            self.count += 1
            self._waiting.setdefault(submission_id, []).append(waiter)

    def _leave(self, waiter: Waiter) -> None:
        if waiter.submission_id is None:
            return
        self.count -= 1
        entries = self._waiting[waiter.submission_id]
        entries.remove(waiter)
        if not entries:
            del self._waiting[waiter.submission_id]

    def settled(self, submission_id: str) -> None:
        """From any thread: the submission has its final status."""
        with self._lock:
            entries = list(self._waiting.get(submission_id, ()))
        self._tell(entries)

    def missed(self) -> None:
        """From any thread: notices may have been lost, so whoever waits had better look."""
        with self._lock:
            entries = [entry for waiting in self._waiting.values() for entry in waiting]
        self._tell(entries)

    def end(self) -> None:
        """The service is about to end: whoever waits is answered with what there is."""
        self.ended = True
        self.missed()

    @staticmethod
    def _tell(waiters: Iterable[Waiter]) -> None:
        for waiter in waiters:
            waiter.loop.call_soon_threadsafe(waiter.set)


@dataclass
class Service:
    """The parts that main.py joins, as routes see them."""

    settings: Settings
    db: Database
    files: Files
    readiness: Readiness
    queue: Queue
    readers: Readers  # of dry runs, templates and reports
    gold_readers: Readers  # of what organizers upload: nothing else may keep these busy
    made: MadeFiles
    notifier: Notifier
    boards: KeptBoards
    figures: Figures
    limiter: Limiter
    decoys: Decoys
    administrator: Caller
    admin_token: str
    hashing: HashingPool
    large_uploads: LargeUploads = field(default_factory=LargeUploads)
    file_memory: BodyMemory = field(default_factory=BodyMemory)
    json_memory: BodyMemory = field(default_factory=BodyMemory)
    reading_json: OneByOne = field(default_factory=OneByOne)  # large bodies
    in_flight: set[tuple[str, str]] = field(default_factory=set)

    @contextmanager
    def only_one(self, user_id: str, key: str | None) -> Iterator[None]:
        """Hold an Idempotency-Key while its request is answered; raises RequestInFlight."""
        if key is None:
            yield
            return
        if (user_id, key) in self.in_flight:
            raise RequestInFlight
        self.in_flight.add((user_id, key))
        try:
            yield
        finally:
            self.in_flight.discard((user_id, key))


def service(request: Request) -> Service:
    """The service that this app was built with."""
    found: Service = request.app.state.service
    return found


async def _service(request: Request) -> Service:
    """The same for routes: what waits for nothing is async, or each request would visit a thread for it."""
    return service(request)


ServiceDep = Annotated[Service, Depends(_service)]

_bearer = HTTPBearer(
    auto_error=False, description="A token from POST /api/v1/tokens.", bearerFormat="assay_<id>.<secret>"
)


def caller(
    request: Request,
    parts: ServiceDep,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Who calls: a visitor without a token; raises Unauthorized for a bad one, TooMany."""
    if "authorization" not in request.headers:
        parts.limiter.request("address", block(request))
        return VISITOR
    try:
        found = _bearer_of(parts, credentials)
    except Unauthorized:
        parts.limiter.request("address", block(request))
        raise
    parts.limiter.request("user", found.user_id or "")  # whichever of the user's tokens it is
    return found


def requester(request: Request, who: Caller) -> str:
    """Whose turn a request takes: the account's, or that of the address block of a visitor."""
    return block(request) if who.user_id is None else who.user_id


def _bearer_of(parts: Service, credentials: HTTPAuthorizationCredentials | None) -> Caller:
    if credentials is None:
        raise Unauthorized("The Authorization header is not of the form 'Bearer <token>'.")
    token = credentials.credentials
    if hmac.compare_digest(token.encode(), parts.admin_token.encode()):
        return parts.administrator
    with parts.db.read() as session:
        return caller_of(session, token)


CallerDep = Annotated[Caller, Depends(caller)]


def account(found: Caller) -> Caller:
    """Who calls, with an account; raises Unauthorized for a visitor."""
    if found.user_id is None:
        raise Unauthorized
    return found


async def _account(found: CallerDep) -> Caller:
    return account(found)


AccountDep = Annotated[Caller, Depends(_account)]


def organizing(slug: str, who: AccountDep, parts: ServiceDep) -> Caller:
    """Who calls, if they may edit the challenge: rights come before what is wrong with the fields of the body.

    Raises NotFound, Forbidden.
    """
    with parts.db.read() as session:
        require_organizer(session, who, see_challenge(session, who, slug))
    return who


async def require_sender(request: Request) -> None:
    """Refuse, amid its body, a request of somebody who may not edit the challenge in its path.

    Raises Unauthorized, NotFound, Forbidden.
    """
    parts, credentials = service(request), await _bearer(request)

    def check() -> None:
        organizing(request.path_params["slug"], account(_bearer_of(parts, credentials)), parts)

    await run_in_threadpool(check)


OrganizerDep = Annotated[Caller, Depends(organizing)]

Limit = Annotated[int, Query(ge=1, le=200, description="Rows per page.")]
Cursor = Annotated[str | None, Query(description="The `next` of the page before.")]


def paged(
    rows: Sequence[Row], key: Callable[[Row], object], *, limit: int, cursor: str | None
) -> tuple[Sequence[Row], str | None]:
    """A page of a list that is read whole: the cursor is the key of the last row shown; raises BadCursor."""
    keys = [str(key(row)) for row in rows]
    if cursor is not None and cursor not in keys:
        raise BadCursor
    start = 0 if cursor is None else keys.index(cursor) + 1
    end = start + limit
    return rows[start:end], keys[end - 1] if end < len(rows) else None


def prefer_wait(headers: Sequence[str]) -> int:
    """Seconds to wait by the Prefer headers ('wait=N', at most 60; RFC 7240, section 4.3); raises BadRequest."""
    for preference in ",".join(headers).split(","):
        name, _, value = preference.partition(";")[0].strip().partition("=")
        if name.strip().lower() != "wait":
            continue
        digits = value.strip().strip('"')
        if not digits.isascii() or not digits.isdigit():
            raise BadRequest("'Prefer: wait=N' needs a whole number of seconds.")
        return min(int(digits[:6]), 60)
    return 0
