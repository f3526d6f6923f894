"""Builds and serves the web app: joins the routes with the database, the file store, the queue and the processes."""

import math
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn, Protocol

import structlog
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from app import __version__
from app.actions.access import Caller
from app.actions.accounts.bootstrap import first_log_in_advice, get_or_create_administrator, read_or_create_admin_token
from app.actions.accounts.passwords import DecoyHashes
from app.actions.accounts.token_uses import TokenUses
from app.actions.operations.check_readiness import ReadinessChecker
from app.actions.operations.sweep_files import MIN_ORPHAN_AGE_SECONDS
from app.api.caching.board_cache import BoardCache
from app.api.caching.cached_board_app import BoardBuildMiddleware, CachedBoardApp
from app.api.caching.cached_reply import CachedReply
from app.api.caching.database_presence import DatabasePresence
from app.api.caching.generated_files import GeneratedFiles
from app.api.dependencies import AppState
from app.api.http import problem_documents
from app.api.http.middleware import ReplyMiddleware
from app.api.limits.password_hashing import HashingPool
from app.api.limits.reader_queue import ReaderPool, ReaderQueue
from app.api.limits.request_limits import RequestLimits
from app.api.live.board_changes import ReportedBoards
from app.api.live.change_hub import ChangeHub
from app.api.notifier import Notifier
from app.api.openapi import document
from app.api.site_map import ROOT_ROUTERS, ROUTER_MODULES
from app.files import FileStore
from app.formats.memory_needs import describe_largest_file
from app.queue.jobs import JobTable
from app.runtime import logging_setup
from app.runtime.data_folder import open_file_store, own_process_folder
from app.runtime.open_file_limit import raise_limit
from app.runtime.telemetry import Telemetry
from app.settings import Settings
from app.store.database_probe import database_answers
from app.store.migrate import require_head, upgrade
from app.store.notifications import NotificationListener
from app.store.session import Database
from app.web.administration.checks import CheckRunner, Finding
from app.web.error_pages import internal_error_page
from app.web.kept_boards import parse_page_request
from app.web.site_map import add_pages
from app.web_server import GracefulServer, open_listening_socket, uvicorn_config
from app.worker.process_pool import ScoringProcessPool
from app.worker.process_settings import create_process_pool, reader_timeout
from app.worker.worker import GOLD_PROCESSES, ORGANIZER_READERS, READER_PROCESSES, Worker, create_telemetry

log = structlog.get_logger()

STATIC_FOLDER = Path(__file__).parent / "web" / "static"  # Swagger UI; the pages serve their own files
API_DESCRIPTION = """\
A centralized challenge-scoring service. Organizers upload gold labels, participants submit predictions with instance
ids, the service computes the agreed metrics by documented equations, and a leaderboard shows the scores.

This interface is for programs; people read and work on the pages of the service. `POST /users` makes an account, and
`POST /tokens` gives a token, which requests carry as `Authorization: Bearer <token>`. Nothing else identifies a caller.

Errors are problem documents (RFC 9457) with a stable `code` and a `remedy`. Lists come in pages: `next` of a reply is
the `cursor` of the next request. Times are RFC 3339, in UTC; fields whose name ends in `_local` show them in the time
zone of the challenge. Replies that can be read again have an `ETag`; while it is unchanged, a request with
`If-None-Match` gets 304. A challenge or a phase that was renamed answers with 308 under its former slug.
"""
API_TAGS = [
    {"name": "accounts", "description": "Sign up, log in, manage tokens."},
    {"name": "metrics", "description": "The metric catalogue: every metric with its equation."},
    {"name": "challenges", "description": "Challenges, their recipes, announcements and files."},
    {"name": "organizers", "description": "Who runs a challenge."},
    {"name": "phases", "description": "Time windows of a challenge with their own gold, quota and leaderboard."},
    {"name": "teams", "description": "Registrations and teams."},
    {"name": "gold", "description": "The true labels. For organizers only."},
    {"name": "submissions", "description": "Submit predictions, read scores."},
    {"name": "imports", "description": "Phases from archives of other installations."},
    {"name": "leaderboards", "description": "The ranking of teams."},
    {"name": "audit", "description": "Who did what, when and why."},
    {"name": "log", "description": "The transparency log, with which others verify what was recorded."},
    {"name": "usage", "description": "Why files were rejected, what challenges use, the queue and the workers."},
    {"name": "health", "description": "Health checks and metrics of the service."},
]


def add_routes(app: FastAPI) -> None:
    """Add the routes and the error handlers of the API and of the pages to an app."""
    problem_documents.install_error_handlers(app)
    for module in ROUTER_MODULES:
        # `include_router` would build every route a second time, which takes 0.2 s at each start.
        app.router.routes.extend(module.router.routes)
    for router in ROOT_ROUTERS:
        app.router.routes.extend(router.routes)
    add_pages(app)
    app.mount("/static", StaticFiles(directory=STATIC_FOLDER), name="static")

    @cache
    def openapi() -> dict[str, Any]:
        return document.complete_document(FastAPI.openapi(app))

    @cache
    def encoded() -> CachedReply:
        body = bytes(JSONResponse(openapi()).body)
        return CachedReply.build(body, "application/json", marks=frozenset(), expires_at=math.inf)

    lock = threading.Lock()  # The document is corrected in place, so only one thread may build it.

    def get_openapi(request: Request) -> Response:
        with lock:
            entry = encoded()
        return entry.response(",".join(request.headers.getlist("accept-encoding")))

    app.openapi = openapi  # type: ignore[method-assign]
    app.add_route("/api/v1/openapi.json", get_openapi, include_in_schema=False)


def bare_app(telemetry: Telemetry | None = None, **options: Any) -> FastAPI:
    """The app with its routes, without the parts that they use."""
    app = CachedBoardApp(
        title="Assay",
        version=__version__,
        description=API_DESCRIPTION,
        openapi_tags=API_TAGS,
        openapi_url=None,  # add_routes has a route that caches the document.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # A redirect would repeat the Host header, which anybody may set.
        generate_unique_id_function=lambda route: route.name,
        **options,
    )
    add_routes(app)
    app.parse_page_request = parse_page_request
    app.add_middleware(BoardBuildMiddleware)
    app.add_middleware(ReplyMiddleware, figures=telemetry or Telemetry(), internal_error=internal_error_page)
    return app


def build_app(
    settings: Settings,
    *,
    work: Path | None = None,
    scoring: bool = True,
    now: Callable[[datetime], datetime] | None = None,
) -> FastAPI:
    """The complete service; without `scoring`, the API only.

    `work` is the folder for temporary files of this process. `now` replaces the clock in tests. Raises FolderNotShared.
    """
    work, db = work or settings.data_dir, Database(settings, now)
    reported = ReportedBoards(BoardCache(needs_notifications=not db.sqlite), ChangeHub())
    db.on_invalidation(reported.invalidate)
    monitoring_db, notifier = db.for_monitoring(settings), Notifier(reported.hub)
    queue, files = ReaderQueue(READER_PROCESSES, ORGANIZER_READERS), open_file_store(settings, work)
    telemetry, worker = create_telemetry(settings, monitoring_db), None
    if scoring:
        worker = Worker(settings, db, files, work, on_settled=notifier.notify_settled, figures=telemetry)
    listeners = [] if db.sqlite else [_notification_listener(settings, notifier, reported)]
    readers = create_process_pool(settings, READER_PROCESSES, work, seconds=reader_timeout(settings))
    gold_readers = create_process_pool(settings, GOLD_PROCESSES, work)
    generated_files, hashing_pool, token_uses = GeneratedFiles(work / "made", queue), HashingPool(), TokenUses(db)
    administrator, admin_token = _built_in_administrator(db, migrated=scoring), read_or_create_admin_token(settings)[0]
    core = _CoreComponents(db, monitoring_db, files, generated_files, readers, gold_readers, hashing_pool)
    app = bare_app(telemetry, lifespan=_lifespan([core, token_uses, *listeners, *([worker] if worker else [])]))
    app.state.doctor = CheckRunner(partial(_doctor_findings, settings))
    app.state.service = AppState(
        settings=settings,
        db=db,
        monitoring_db=monitoring_db,
        files=files,
        readiness=ReadinessChecker(settings, db, files),
        queue=worker.queue if worker is not None else JobTable(),
        readers=ReaderPool(readers, queue),
        gold_readers=ReaderPool(gold_readers, ReaderQueue(GOLD_PROCESSES)),
        generated_files=generated_files,
        notifier=notifier,
        changes=reported.hub,
        board_cache=reported.boards,
        database_presence=DatabasePresence(partial(database_answers, settings)),
        figures=telemetry,
        request_limits=RequestLimits(settings),
        decoys=DecoyHashes(db, admin_token),
        hashing_pool=hashing_pool,
        token_uses=token_uses,
        administrator=administrator,
        admin_token=admin_token,
    )
    return app


def _notification_listener(settings: Settings, notifier: Notifier, boards: ReportedBoards) -> NotificationListener:
    return NotificationListener(settings, notifier.notify_settled, notifier.wake_all, boards)


def _doctor_findings(settings: Settings) -> Iterator[Finding]:
    """What `assay doctor` says of this installation."""
    from app.doctor import run_checks  # noqa: PLC0415 - seldom needed, so no start waits for it

    return run_checks(lambda: settings, os.environ)


def _built_in_administrator(db: Database, *, migrated: bool) -> Caller:
    """The built-in administrator; raises SchemaBehind if another program should have migrated but did not."""
    if not migrated:
        require_head(db.engine())
    with db.write() as session:
        return get_or_create_administrator(session)


class ServiceComponent(Protocol):
    """A part that starts and stops with the service."""

    def start(self) -> None:
        """Start working in the background."""

    def stop(self) -> None:
        """Stop cleanly."""


class _CoreComponents(NamedTuple):
    """The parts that all others use: the database, files, scoring processes for reading, and password hashing."""

    db: Database
    monitoring_db: Database
    files: FileStore
    generated_files: GeneratedFiles
    readers: ScoringProcessPool
    gold_readers: ScoringProcessPool
    hashing_pool: HashingPool

    def start(self) -> None:
        """Delete the leftovers of an earlier run and start reader processes."""
        self.generated_files.clear()
        self.files.clear_leftovers(older=0.0 if self.db.sqlite else MIN_ORPHAN_AGE_SECONDS)
        self.readers.warm_up(1)  # The others start when several requests need them at once.
        self.gold_readers.warm_up()

    def stop(self) -> None:
        """Stop hashing, the reader processes and the database connections."""
        self.hashing_pool.close()
        self.readers.close()
        self.gold_readers.close()
        self.db.close()
        self.monitoring_db.close()


def _lifespan(parts: Sequence[ServiceComponent]) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The lifespan of the app: parts start in order and stop in reverse order."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        for part in parts:
            await run_in_threadpool(part.start)
        try:
            yield
        finally:
            for part in reversed(parts):
                await run_in_threadpool(part.stop)

    return lifespan


def serve(settings: Settings, *, scoring: bool = True) -> None:
    """Migrate the database, then serve the API and score until SIGINT or SIGTERM.

    Without `scoring`, only serve the API.

    Raises DataFolderInUse, AddressInUse, FolderNotShared, migrate.SchemaBehind and bootstrap.WeakAdminToken.
    """
    os.umask(0o077)  # Only the account of the service may read gold labels and password hashes.
    raise_limit()
    logging_setup.configure(settings, "serve" if scoring else "api")
    signal.signal(signal.SIGTERM, _exit_on_signal)
    with own_process_folder(settings) as work:
        listener = open_listening_socket(settings)
        if scoring:
            before, after = upgrade(settings)
            if before not in {None, after}:
                log.info("database_migrated", before=before, after=after)
        is_new_token = not (settings.data_dir / "admin-token").exists()
        app = build_app(settings, work=work, scoring=scoring)
        _announce_address(settings, listener.getsockname()[1], is_new=is_new_token)
        GracefulServer(uvicorn_config(app, settings), app.state.service.notifier).run(sockets=[listener])


def _exit_on_signal(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Exit with status 0: the web server forwards the signal after it has shut down cleanly."""
    raise SystemExit(0)


def _announce_address(settings: Settings, port: int, *, is_new: bool) -> None:
    """Print the address of the service to standard error. A new token is shown on a terminal only, never in a log."""
    token, path = read_or_create_admin_token(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    if settings.log_format == "json":  # Every line must be JSON.
        address, token_file = f"http://{host}:{port}", path and str(path)
        largest = describe_largest_file(settings.max_records, settings.scoring_memory)
        log.info("listening", address=address, version=__version__, admin_token_file=token_file, largest_file=largest)
        return
    lines = [f"Assay {__version__} listens on http://{host}:{port}  (API documentation: /docs)"]
    if path is not None:
        lines.append(
            f"The administrator's token is in {path}" + (f": {token}" if is_new and sys.stderr.isatty() else "")
        )
    if is_new and path is not None:
        lines.append(first_log_in_advice(settings))
    lines.append(describe_largest_file(settings.max_records, settings.scoring_memory))
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - for the user who started it
