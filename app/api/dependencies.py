"""Dependencies of routes: the parts of the service, the caller, and common parameters."""

import asyncio
import hmac
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from app.actions.access import VISITOR, Caller, load_visible_challenge, require_organizer
from app.actions.accounts.issue_token import authenticate_sender, authenticate_token
from app.actions.accounts.passwords import DecoyHashes
from app.actions.accounts.token_uses import TokenUses
from app.actions.operations.check_readiness import ReadinessChecker
from app.actions.submissions.admission import Sender, load_admission_facts
from app.api.caching.board_cache import BoardCache
from app.api.caching.board_times import BoardTimes
from app.api.caching.database_presence import DatabasePresence
from app.api.caching.generated_files import GeneratedFiles
from app.api.field_types import Reason
from app.api.limits.body_memory import BodyMemoryLimiter
from app.api.limits.client_addresses import client_address_block
from app.api.limits.event_streams import EventStreams
from app.api.limits.former_boards import FormerBoardLimiter
from app.api.limits.password_hashing import HashingPool
from app.api.limits.reader_queue import CallerFairLock, LargeUploadLimiter, ReaderPool
from app.api.limits.request_limits import RequestLimits
from app.api.live.change_hub import ChangeHub
from app.api.live.queue_watch import QueueWatch
from app.api.notifier import Notifier
from app.errors import BadCursor, BadRequest, DatabaseUnavailable, RequestInFlight, Unauthorized
from app.files import FileStore
from app.queue import Queue
from app.runtime.telemetry import Telemetry
from app.settings import Settings
from app.store.session import Database

Row = TypeVar("Row")

MONITORING_WAIT_SECONDS = 1.0  # for the database to say whose token it is


@dataclass
class AppState:
    """The parts of the service that routes use; `app.main` builds it."""

    settings: Settings
    db: Database
    monitoring_db: Database  # for metrics
    files: FileStore
    readiness: ReadinessChecker
    queue: Queue
    readers: ReaderPool  # for dry runs, templates and reports
    gold_readers: ReaderPool  # for the uploads of organizers; nothing else may keep them busy
    generated_files: GeneratedFiles
    notifier: Notifier
    changes: ChangeHub
    board_cache: BoardCache
    database_presence: DatabasePresence
    figures: Telemetry
    request_limits: RequestLimits
    decoys: DecoyHashes
    administrator: Caller
    admin_token: str
    hashing_pool: HashingPool
    token_uses: TokenUses
    large_uploads: LargeUploadLimiter = field(default_factory=LargeUploadLimiter)
    former_boards: FormerBoardLimiter = field(default_factory=FormerBoardLimiter)
    upload_memory: BodyMemoryLimiter = field(default_factory=BodyMemoryLimiter)
    json_body_memory: BodyMemoryLimiter = field(default_factory=BodyMemoryLimiter)
    json_parsing_lock: CallerFairLock = field(default_factory=CallerFairLock)  # large bodies
    monitoring_threads: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, 4, thread_name_prefix="monitoring")
    )
    idempotency_keys_in_flight: set[tuple[str, str]] = field(default_factory=set)

    board_times: BoardTimes = field(init=False)
    event_streams: EventStreams = field(init=False)
    queue_watch: QueueWatch = field(init=False)

    def __post_init__(self) -> None:
        self.board_times = BoardTimes(self.figures)
        self.event_streams = EventStreams(self.db, self.notifier, (self.settings.max_waiters + 1) // 2)
        self.queue_watch = QueueWatch(self.db, self.changes)

    @contextmanager
    def hold_idempotency_key(self, user_id: str, key: str | None) -> Iterator[None]:
        """Hold an Idempotency-Key while its request is handled; raises RequestInFlight if another request holds it."""
        if key is None:
            yield
            return
        if (user_id, key) in self.idempotency_keys_in_flight:
            raise RequestInFlight
        self.idempotency_keys_in_flight.add((user_id, key))
        try:
            yield
        finally:
            self.idempotency_keys_in_flight.discard((user_id, key))


def app_state(request: Request) -> AppState:
    """The service that this app was built with."""
    state: AppState = request.app.state.service
    return state


async def _app_state(request: Request) -> AppState:
    """The dependency. It is async because the framework would run a plain function in a thread."""
    return app_state(request)


AppStateDep = Annotated[AppState, Depends(_app_state)]

_bearer_scheme = HTTPBearer(
    auto_error=False, description="A token from POST /api/v1/tokens.", bearerFormat="assay_<id>.<secret>"
)
CredentialsDep = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer_scheme)]


def current_caller(request: Request, state: AppStateDep, credentials: CredentialsDep) -> Caller:
    """The caller, a visitor if there is no token; raises Unauthorized for an invalid token, and TooManyRequests."""
    return _counted_caller(request, state, credentials, state.db)


async def monitoring_caller(request: Request, state: AppStateDep, credentials: CredentialsDep) -> Caller:
    """The caller of a route that must answer soon even if the database does not; also raises DatabaseUnavailable.

    It waits for no thread that other requests may occupy.
    """
    authenticate = partial(_counted_caller, request, state, credentials, state.monitoring_db)
    waiting = asyncio.get_running_loop().run_in_executor(state.monitoring_threads, authenticate)
    try:
        return await asyncio.wait_for(waiting, MONITORING_WAIT_SECONDS)
    except TimeoutError:
        raise DatabaseUnavailable from None


def _counted_caller(
    request: Request, state: AppState, credentials: HTTPAuthorizationCredentials | None, db: Database
) -> Caller:
    if "authorization" not in request.headers:
        state.request_limits.count_request("address", client_address_block(request))
        return VISITOR
    with _counted_if_unauthorized(request, state):
        caller = _authenticate(state, credentials, db)
    state.token_uses.note(caller.token_id)
    state.request_limits.count_request("user", caller.user_id or "")  # all tokens of a user share one limit
    return caller


def current_sender(request: Request, credentials: CredentialsDep) -> Sender:
    """The sender of a submission, with facts that the same statement reads.

    Raises Unauthorized, also for a visitor, and TooManyRequests.
    """
    state = app_state(request)
    if "authorization" not in request.headers:
        require_account(current_caller(request, state, credentials))
    with _counted_if_unauthorized(request, state):
        sender = _authenticate_sender(request, state, credentials)
    state.token_uses.note(sender.caller.token_id)
    state.request_limits.count_request("user", sender.caller.user_id or "")
    return sender


@contextmanager
def _counted_if_unauthorized(request: Request, state: AppState) -> Iterator[None]:
    """Count a request of the address if the block raises Unauthorized."""
    try:
        yield
    except Unauthorized:
        state.request_limits.count_request("address", client_address_block(request))
        raise


def caller_key(request: Request, caller: Caller) -> str:
    """The key by which requests queue: the account, or the address block of a visitor."""
    return client_address_block(request) if caller.user_id is None else caller.user_id


def _authenticate(state: AppState, credentials: HTTPAuthorizationCredentials | None, db: Database) -> Caller:
    token = _token_text(credentials)
    if _is_admin_token(state, token):
        return state.administrator
    with db.read_one() as session:
        return authenticate_token(session, token)


def authenticate_again(state: AppState, credentials: HTTPAuthorizationCredentials | None) -> Caller:
    """The caller of a request that goes on for long, by the token as it is now; raises Unauthorized."""
    return _authenticate(state, credentials, state.db)


def _authenticate_sender(request: Request, state: AppState, credentials: HTTPAuthorizationCredentials | None) -> Sender:
    token, key = _token_text(credentials), request.headers.get("idempotency-key")
    slug, phase = request.path_params["slug"], request.path_params.get("phase", "")
    with state.db.read_one() as session:
        if _is_admin_token(state, token):
            facts = load_admission_facts(session, state.administrator, slug, phase, key)
            return Sender(state.administrator, facts)
        return Sender(*authenticate_sender(session, token, slug, phase, key))


def _token_text(credentials: HTTPAuthorizationCredentials | None) -> str:
    if credentials is None:
        raise Unauthorized("The Authorization header is not of the form 'Bearer <token>'.")
    return credentials.credentials


def _is_admin_token(state: AppState, token: str) -> bool:
    return hmac.compare_digest(token.encode(), state.admin_token.encode())


CallerDep = Annotated[Caller, Depends(current_caller)]
MonitoringCallerDep = Annotated[Caller, Depends(monitoring_caller)]


def require_account(caller: Caller) -> Caller:
    """The caller; raises Unauthorized for a visitor."""
    if caller.user_id is None:
        raise Unauthorized
    return caller


async def _current_account(caller: CallerDep) -> Caller:
    return require_account(caller)


AccountDep = Annotated[Caller, Depends(_current_account)]
ReasonQuery = Annotated[Reason | None, Query(alias="reason", description="Why; the audit trail keeps it.")]


async def _account_with_reason(caller: AccountDep, reason: ReasonQuery = None) -> Caller:
    return caller.with_reason(reason)


AuditedAccountDep = Annotated[Caller, Depends(_account_with_reason)]
"""The account that acts, and why, for requests without a body that has a `reason`."""

SenderDep = Annotated[Sender, Depends(current_sender)]


def current_organizer(slug: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, if they may edit the challenge; raises NotFound, Forbidden.

    As a dependency it runs before the body is validated, so that a lack of rights is reported first.
    """
    with state.db.read() as session:
        require_organizer(session, caller, load_visible_challenge(session, caller, slug))
    return caller


async def require_request_organizer(request: Request) -> None:
    """Refuse a request, before or while its body is read, unless its caller may edit the challenge in its path.

    Raises Unauthorized, NotFound, Forbidden, TooManyRequests.
    """
    state, credentials = app_state(request), await _bearer_scheme(request)

    def check() -> None:
        caller = require_account(current_caller(request, state, credentials))
        current_organizer(request.path_params["slug"], caller, state)

    await run_in_threadpool(check)


OrganizerDep = Annotated[Caller, Depends(current_organizer)]


async def _organizer_with_reason(caller: OrganizerDep, reason: ReasonQuery = None) -> Caller:
    return caller.with_reason(reason)


AuditedOrganizerDep = Annotated[Caller, Depends(_organizer_with_reason)]
"""The organizer who acts, and why, for requests without a body that has a `reason`."""

Limit = Annotated[int, Query(ge=1, le=200, description="Rows per page.")]
Cursor = Annotated[str | None, Query(description="The `next` of the previous page.")]


def paginate(
    rows: Sequence[Row], key: Callable[[Row], object], *, limit: int, cursor: str | None
) -> tuple[Sequence[Row], str | None]:
    """A page of a complete list, and the cursor of the next page: the key of the last row shown. Raises BadCursor."""
    keys = [str(key(row)) for row in rows]
    if cursor is not None and cursor not in keys:
        raise BadCursor
    start = 0 if cursor is None else keys.index(cursor) + 1
    end = start + limit
    return rows[start:end], keys[end - 1] if end < len(rows) else None


def parse_prefer_wait(headers: Sequence[str]) -> int:
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
