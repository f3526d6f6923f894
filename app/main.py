"""Builds the web app: the only place where routes, pages, stores and queue meet."""

import math
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from functools import cache
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
from app.actions.accounts.bootstrap import get_or_create_administrator, read_or_create_admin_token
from app.actions.accounts.passwords import DecoyHashes
from app.actions.operations.check_readiness import ReadinessChecker
from app.actions.operations.sweep_files import MIN_ORPHAN_AGE_SECONDS
from app.api import (
    accounts,
    catalogue,
    challenges,
    gold,
    health,
    leaderboards,
    phases,
    problems,
    prometheus,
    quotas,
    registrations,
    reports,
    reruns,
    submissions,
    submit,
)
from app.api.caching.board_cache import BoardCache, CachedReply
from app.api.caching.cached_board_app import BoardBuildMiddleware, CachedBoardApp
from app.api.caching.generated_files import GeneratedFiles
from app.api.dependencies import AppState, Notifier
from app.api.limits.password_hashing import HashingPool
from app.api.limits.reader_queue import ReaderPool, ReaderQueue
from app.api.limits.request_limits import RequestLimits
from app.api.middleware import ReplyMiddleware
from app.api.openapi import docs_page, document
from app.files import FileStore
from app.runtime import logging_setup
from app.runtime.data_folder import open_file_store, own_process_folder
from app.runtime.open_file_limit import raise_limit
from app.runtime.telemetry import Telemetry
from app.settings import Settings
from app.store.migrate import require_head, upgrade
from app.store.notifications import NotificationListener
from app.store.session import Database
from app.web_server import GracefulServer, open_listening_socket, uvicorn_config
from app.worker.process_pool import ScoringProcessPool
from app.worker.worker import (
    GOLD_PROCESSES,
    ORGANIZER_READERS,
    READER_PROCESSES,
    Worker,
    create_process_pool,
    create_telemetry,
    enqueue_only_queue,
    reader_timeout,
)

log = structlog.get_logger()

STATIC_FOLDER = Path(__file__).parent / "web" / "static"
ROUTER_MODULES = (
    accounts,
    catalogue,
    challenges,
    phases,
    registrations,
    gold,
    submit,
    submissions,
    reruns,
    reports,
    quotas,
    leaderboards,
    health,
    prometheus,
    docs_page,
)
API_DESCRIPTION = """\
A centralized challenge-scoring service. Organizers upload gold labels, participants POST predictions with instance
ids, a worker computes the agreed metrics by explicit equations, and a leaderboard shows them.

Errors are RFC 9457 problem documents with a stable `code` and a `remedy`.
"""
API_TAGS = [
    {"name": "accounts", "description": "Sign up, log in, tokens."},
    {"name": "metrics", "description": "The catalogue: every metric with its equation."},
    {"name": "challenges", "description": "Challenges, recipes, organizers."},
    {"name": "phases", "description": "Windows with their own gold, quota and board."},
    {"name": "teams", "description": "Registrations and teams."},
    {"name": "gold", "description": "The true labels; for organizers only."},
    {"name": "submissions", "description": "Predictions in, scores out."},
    {"name": "leaderboards", "description": "Who stands where."},
    {"name": "health", "description": "Is it alive, can it serve, how is it doing."},
]


def add_routes(app: FastAPI) -> None:
    """Routes, errors and shapes of the API, without any part that does work."""
    problems.install_error_handlers(app)
    for module in ROUTER_MODULES:
        # Taken as they are: `include_router` would build each route a second time, 0.2 s of every start.
        app.router.routes.extend(module.router.routes)
    app.mount("/static", StaticFiles(directory=STATIC_FOLDER), name="static")

    @cache
    def openapi() -> dict[str, Any]:
        return document.complete_document(FastAPI.openapi(app))

    @cache
    def kept() -> CachedReply:
        return CachedReply.build(
            bytes(JSONResponse(openapi()).body), "application/json", marks=frozenset(), expires_at=math.inf
        )

    making = threading.Lock()  # the document is corrected in place

    def get_openapi(request: Request) -> Response:
        with making:
            entry = kept()
        return entry.response(",".join(request.headers.getlist("accept-encoding")))

    app.openapi = openapi  # type: ignore[method-assign]
    app.add_route("/api/v1/openapi.json", get_openapi, include_in_schema=False)


def bare_app(counted: Telemetry | None = None, **options: Any) -> FastAPI:
    """The app with its routes, not yet joined to any part that does work."""
    app = CachedBoardApp(
        title="Assay",
        version=__version__,
        description=API_DESCRIPTION,
        openapi_tags=API_TAGS,
        openapi_url=None,  # describe_api has a route that keeps its bytes
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the Host header, which anybody may set
        generate_unique_id_function=lambda route: route.name,
        **options,
    )
    add_routes(app)
    app.add_middleware(BoardBuildMiddleware)
    app.add_middleware(ReplyMiddleware, figures=counted or Telemetry())
    return app


def build_app(
    settings: Settings,
    *,
    work: Path | None = None,
    scoring: bool = True,
    now: Callable[[datetime], datetime] | None = None,
) -> FastAPI:
    """The service, ready to be served: all of it, or with `scoring` off the API alone.

    `work` is the folder for what this process makes; `now` shifts the calendar, for tests of it. Raises FolderNotShared.
    """
    work = work or settings.data_dir
    db = Database(settings, now)
    files = open_file_store(settings, work)
    notifier = Notifier()
    boards = _board_cache(db)
    counted = create_telemetry(settings, db)
    worker = Worker(settings, db, files, work, settled=notifier.notify_settled, figures=counted) if scoring else None
    listener = None if db.sqlite else NotificationListener(settings, notifier.notify_settled, notifier.wake_all, boards)
    readers = create_process_pool(settings, READER_PROCESSES, work, seconds=reader_timeout(settings))
    gold_readers = create_process_pool(settings, GOLD_PROCESSES, work)
    turns = ReaderQueue(READER_PROCESSES, ORGANIZER_READERS)
    made, hashing = GeneratedFiles(work / "made", turns), HashingPool()
    built_in, secret = _built_in_administrator(db, migrated=scoring), read_or_create_admin_token(settings)[0]

    parts: list[ServiceComponent] = [_CoreComponents(db, files, made, readers, gold_readers, hashing)]
    parts += [part for part in (listener, worker) if part is not None]
    app = bare_app(counted, lifespan=_lifespan(parts))
    app.state.service = AppState(
        settings=settings,
        db=db,
        files=files,
        readiness=ReadinessChecker(settings, db, files),
        queue=worker.queue if worker is not None else enqueue_only_queue(settings),
        readers=ReaderPool(readers, turns),
        gold_readers=ReaderPool(gold_readers, ReaderQueue(GOLD_PROCESSES)),
        generated_files=made,
        notifier=notifier,
        board_cache=boards,
        figures=counted,
        request_limits=RequestLimits(settings),
        decoys=DecoyHashes(db, secret),
        hashing_pool=hashing,
        administrator=built_in,
        admin_token=secret,
    )
    return app


def _board_cache(db: Database) -> BoardCache:
    """Boards that hear of what this process writes, and on PostgreSQL have to hear of what others do."""
    boards = BoardCache(needs_notifications=not db.sqlite)
    db.tell(boards.invalidate)
    return boards


def _built_in_administrator(db: Database, *, migrated: bool) -> Caller:
    """The one built in; raises SchemaBehind where others should have migrated and did not."""
    if not migrated:
        require_head(db.engine())
    with db.write() as session:
        return get_or_create_administrator(session)


class ServiceComponent(Protocol):
    """A part that starts with the service and ends with it."""

    def start(self) -> None:
        """Begin to work in the background."""

    def stop(self) -> None:
        """End in order."""


class _CoreComponents(NamedTuple):
    """What all other parts build on: the files of this process, its readers, and the database."""

    db: Database
    files: FileStore
    generated_files: GeneratedFiles
    readers: ScoringProcessPool
    gold_readers: ScoringProcessPool
    hashing_pool: HashingPool

    def start(self) -> None:
        """Clear up what an earlier run left, and start readers."""
        self.generated_files.clear()
        self.files.clear_leftovers(older=0.0 if self.db.sqlite else MIN_ORPHAN_AGE_SECONDS)
        self.readers.warm_up(1)  # the others start when several callers ask at once
        self.gold_readers.warm_up()

    def stop(self) -> None:
        """End the hashing, the readers and the connections."""
        self.hashing_pool.close()
        self.readers.close()
        self.gold_readers.close()
        self.db.close()


def _lifespan(parts: Sequence[ServiceComponent]) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """The life of the service: its parts start in their order and end in the opposite one."""

    @asynccontextmanager
    async def alive(_app: FastAPI) -> AsyncIterator[None]:
        for part in parts:
            await run_in_threadpool(part.start)
        try:
            yield
        finally:
            for part in reversed(parts):
                await run_in_threadpool(part.stop)

    return alive


def serve(settings: Settings, *, scoring: bool = True) -> None:
    """Migrations, API and scoring in one process tree, until SIGINT or SIGTERM; with `scoring` off the API alone.

    Raises AlreadyServed, AddressTaken, FolderNotShared, migrate.SchemaBehind and bootstrap.WeakAdminToken.
    """
    os.umask(0o077)  # gold labels and hashes are for the service's own account only
    raise_limit()
    logging_setup.configure(settings, "serve" if scoring else "api")
    signal.signal(signal.SIGTERM, _exit_on_signal)
    with own_process_folder(settings) as work:
        listener = open_listening_socket(settings)
        if scoring:
            upgrade(settings)
        made_token = not (settings.data_dir / "admin-token").exists()
        app = build_app(settings, work=work, scoring=scoring)
        _announce_address(settings, listener.getsockname()[1], show_token=made_token and sys.stderr.isatty())
        GracefulServer(uvicorn_config(app, settings), app.state.service.notifier).run(sockets=[listener])


def _exit_on_signal(_signal: int, _frame: FrameType | None) -> NoReturn:
    """The web server hands a signal on once it has ended in order: a good end, with status 0."""
    raise SystemExit(0)


def _announce_address(settings: Settings, port: int, *, show_token: bool) -> None:
    """Where to find the service, on standard error; a token made just now is shown on a terminal, never in a log."""
    token, path = read_or_create_admin_token(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    if settings.log_format == "json":  # then every line is JSON
        log.info("listening", address=f"http://{host}:{port}", version=__version__, admin_token_file=path and str(path))
        return
    lines = [f"Assay {__version__} listens on http://{host}:{port}  (API documentation: /docs)"]
    if path is not None:
        lines.append(f"The administrator's token is in {path}" + (f": {token}" if show_token else ""))
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - for the person who started it
