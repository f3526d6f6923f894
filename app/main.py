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
from app.actions.accounts.bootstrap import admin_token, administrator
from app.actions.accounts.passwords import Decoys
from app.actions.operations.check_readiness import Readiness
from app.actions.operations.sweep_files import DAY
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
from app.api.caching.board_cache import Entry, KeptBoards
from app.api.caching.cached_board_app import MadeReplies, QuickApp
from app.api.caching.generated_files import MadeFiles
from app.api.dependencies import Notifier, Service
from app.api.limits.password_hashing import HashingPool
from app.api.limits.reader_queue import Readers, Turns
from app.api.limits.request_limits import Limiter
from app.api.middleware import Envelope
from app.api.openapi import docs_page, document
from app.files import Files
from app.runtime import logging_setup
from app.runtime.data_folder import open_files, own_place
from app.runtime.open_file_limit import raise_limit
from app.runtime.telemetry import Figures
from app.settings import Settings
from app.store.migrate import require_head, upgrade
from app.store.notifications import Listener
from app.store.session import Database
from app.web_server import Server, configured, listening
from app.worker.process_pool import ChildPool
from app.worker.worker import (
    GOLD_CHILDREN,
    KEPT_READERS,
    READER_CHILDREN,
    Worker,
    all_figures,
    child_pool,
    reading_seconds,
    sending_queue,
)

log = structlog.get_logger()

STATIC = Path(__file__).parent / "web" / "static"
ROUTERS = (
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
DESCRIPTION = """\
A centralized challenge-scoring service. Organizers upload gold labels, participants POST predictions with instance
ids, a worker computes the agreed metrics by explicit equations, and a leaderboard shows them.

Errors are RFC 9457 problem documents with a stable `code` and a `remedy`.
"""
TAGS = [
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


def describe_api(app: FastAPI) -> None:
    """Routes, errors and shapes of the API, without any part that does work."""
    problems.install(app)
    for module in ROUTERS:
        # Taken as they are: `include_router` would build each route a second time, 0.2 s of every start.
        app.router.routes.extend(module.router.routes)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")

    @cache
    def openapi() -> dict[str, Any]:
        return document.completed(FastAPI.openapi(app))

    @cache
    def kept() -> Entry:
        return Entry.of(bytes(JSONResponse(openapi()).body), "application/json", marks=frozenset(), until=math.inf)

    making = threading.Lock()  # the document is corrected in place

    def get_openapi(request: Request) -> Response:
        with making:
            entry = kept()
        return entry.response(",".join(request.headers.getlist("accept-encoding")))

    app.openapi = openapi  # type: ignore[method-assign]
    app.add_route("/api/v1/openapi.json", get_openapi, include_in_schema=False)


def bare_app(counted: Figures | None = None, **options: Any) -> FastAPI:
    """The app with its routes, not yet joined to any part that does work."""
    app = QuickApp(
        title="Assay",
        version=__version__,
        description=DESCRIPTION,
        openapi_tags=TAGS,
        openapi_url=None,  # describe_api has a route that keeps its bytes
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the Host header, which anybody may set
        generate_unique_id_function=lambda route: route.name,
        **options,
    )
    describe_api(app)
    app.add_middleware(MadeReplies)
    app.add_middleware(Envelope, figures=counted or Figures())
    return app


def build(
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
    files = open_files(settings, work)
    notifier = Notifier()
    boards = _kept_boards(db)
    counted = all_figures(settings, db)
    worker = Worker(settings, db, files, work, settled=notifier.settled, figures=counted) if scoring else None
    listener = None if db.sqlite else Listener(settings, notifier.settled, notifier.missed, boards)
    readers = child_pool(settings, READER_CHILDREN, work, seconds=reading_seconds(settings))
    gold_readers = child_pool(settings, GOLD_CHILDREN, work)
    turns = Turns(READER_CHILDREN, KEPT_READERS)
    made, hashing = MadeFiles(work / "made", turns), HashingPool()
    built_in, secret = _administrator(db, migrated=scoring), admin_token(settings)[0]

    parts: list[Living] = [_Base(db, files, made, readers, gold_readers, hashing)]
    parts += [part for part in (listener, worker) if part is not None]
    app = bare_app(counted, lifespan=_alive(parts))
    app.state.service = Service(
        settings=settings,
        db=db,
        files=files,
        readiness=Readiness(settings, db, files),
        queue=worker.queue if worker is not None else sending_queue(settings),
        readers=Readers(readers, turns),
        gold_readers=Readers(gold_readers, Turns(GOLD_CHILDREN)),
        made=made,
        notifier=notifier,
        boards=boards,
        figures=counted,
        limiter=Limiter(settings),
        decoys=Decoys(db, secret),
        hashing=hashing,
        administrator=built_in,
        admin_token=secret,
    )
    return app


def _kept_boards(db: Database) -> KeptBoards:
    """Boards that hear of what this process writes, and on PostgreSQL have to hear of what others do."""
    boards = KeptBoards(hears=not db.sqlite)
    db.tell(boards.drop)
    return boards


def _administrator(db: Database, *, migrated: bool) -> Caller:
    """The one built in; raises SchemaBehind where others should have migrated and did not."""
    if not migrated:
        require_head(db.engine())
    with db.write() as session:
        return administrator(session)


class Living(Protocol):
    """A part that starts with the service and ends with it."""

    def start(self) -> None:
        """Begin to work in the background."""

    def stop(self) -> None:
        """End in order."""


class _Base(NamedTuple):
    """What all other parts build on: the files of this process, its readers, and the database."""

    db: Database
    files: Files
    made: MadeFiles
    readers: ChildPool
    gold_readers: ChildPool
    hashing: HashingPool

    def start(self) -> None:
        """Clear up what an earlier run left, and start readers."""
        self.made.clear()
        self.files.clear_leftovers(older=0.0 if self.db.sqlite else DAY)
        self.readers.warm_up(1)  # the others start when several callers ask at once
        self.gold_readers.warm_up()

    def stop(self) -> None:
        """End the hashing, the readers and the connections."""
        self.hashing.close()
        self.readers.close()
        self.gold_readers.close()
        self.db.close()


def _alive(parts: Sequence[Living]) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
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
    signal.signal(signal.SIGTERM, _end)
    with own_place(settings) as work:
        listener = listening(settings)
        if scoring:
            upgrade(settings)
        made_token = not (settings.data_dir / "admin-token").exists()
        app = build(settings, work=work, scoring=scoring)
        _announce(settings, listener.getsockname()[1], show_token=made_token and sys.stderr.isatty())
        Server(configured(app, settings), app.state.service.notifier).run(sockets=[listener])


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    """The web server hands a signal on once it has ended in order: a good end, with status 0."""
    raise SystemExit(0)


def _announce(settings: Settings, port: int, *, show_token: bool) -> None:
    """Where to find the service, on standard error; a token made just now is shown on a terminal, never in a log."""
    token, path = admin_token(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    if settings.log_format == "json":  # then every line is JSON
        log.info("listening", address=f"http://{host}:{port}", version=__version__, admin_token_file=path and str(path))
        return
    lines = [f"Assay {__version__} listens on http://{host}:{port}  (API documentation: /docs)"]
    if path is not None:
        lines.append(f"The administrator's token is in {path}" + (f": {token}" if show_token else ""))
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - for the person who started it
