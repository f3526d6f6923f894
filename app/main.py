"""Builds the web app: the only place where routes, pages, stores and queue meet."""

import fcntl
import math
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import structlog
import uvicorn
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from app import __version__, logs
from app.actions.bootstrap import admin_token, administrator
from app.actions.sweep_files import sweep_files
from app.api import (
    accounts,
    catalogue,
    challenges,
    docs,
    document,
    gold,
    health,
    leaderboards,
    phases,
    problems,
    quotas,
    registrations,
    reports,
    submissions,
    submit,
)
from app.api.deps import Limiter, Notifier, Service
from app.api.made_files import MadeFiles
from app.api.middleware import Envelope
from app.files.folder import FolderFiles
from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import Database
from app.worker import READER_CHILDREN, Worker, child_pool

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
    reports,
    quotas,
    leaderboards,
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
    {"name": "health", "description": "Is it alive, can it serve."},
]


class AddressTaken(RuntimeError):
    """Another program listens there, or the address is not of this machine."""


class AlreadyServed(RuntimeError):
    """Another service uses this data folder."""


def describe_api(app: FastAPI) -> None:
    """Routes, errors and shapes of the API, without any part that does work."""
    problems.install(app)
    for module in ROUTERS:
        app.include_router(module.router, prefix="/api/v1")
    app.include_router(health.router)
    app.include_router(docs.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            made.update(document.completed(FastAPI.openapi(app)))
        return made

    app.openapi = openapi  # type: ignore[method-assign]


def bare_app(**options: Any) -> FastAPI:
    """The app with its routes, not yet joined to any part that does work."""
    app = FastAPI(
        title="Assay",
        version=__version__,
        description=DESCRIPTION,
        openapi_tags=TAGS,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the Host header, which anybody may set
        generate_unique_id_function=lambda route: route.name,
        **options,
    )
    describe_api(app)
    app.add_middleware(Envelope)
    return app


def build(settings: Settings) -> FastAPI:
    """The whole service on the embedded default, ready to be served."""
    db = Database(settings)
    files = FolderFiles(settings)
    notifier = Notifier()
    worker = Worker(settings, db, files, notifier.settled)
    readers = child_pool(settings, READER_CHILDREN)
    made = MadeFiles(settings.data_dir / "made")
    with db.write() as session:
        built_in = administrator(session)
    token, _ = admin_token(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        files.clear_leftovers()
        made.clear()
        swept = await run_in_threadpool(sweep_files, db, files)
        if swept:
            log.info("orphan_files_removed", count=swept)
        readers.warm_up()
        worker.start()
        try:
            yield
        finally:
            await run_in_threadpool(worker.stop)
            readers.close()
            db.close()

    app = bare_app(lifespan=lifespan)
    app.state.service = Service(
        settings=settings,
        db=db,
        files=files,
        queue=worker.queue,
        readers=readers,
        made=made,
        notifier=notifier,
        limiter=Limiter(settings),
        administrator=built_in,
        admin_token=token,
    )
    return app


@contextmanager
def sole_service(data_dir: Path) -> Iterator[None]:
    """Hold the data folder; raises AlreadyServed while another service does."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (data_dir / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            msg = f"another service uses the data folder {data_dir}"
            raise AlreadyServed(msg) from held
        yield


def serve(settings: Settings) -> None:
    """Migrations, API and scoring in one process tree, until SIGINT or SIGTERM.

    Raises AlreadyServed, AddressTaken and bootstrap.WeakAdminToken.
    """
    os.umask(0o077)  # gold labels and hashes are for the service's own account only
    logs.configure(settings)
    signal.signal(signal.SIGTERM, _end)
    with sole_service(settings.data_dir):
        listener = _listen(settings)
        upgrade(settings)
        made_token = not (settings.data_dir / "admin-token").exists()
        app = build(settings)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies,
            http="h11",  # the one that bounds the size of headers
            h11_max_incomplete_event_size=64 * 1024,
        )
        _announce(settings, listener.getsockname()[1], show_token=made_token and sys.stderr.isatty())
        uvicorn.Server(config).run(sockets=[listener])


def _listen(settings: Settings) -> socket.socket:
    """The socket to serve on; raises AddressTaken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as refused:
        msg = f"cannot listen on {settings.host} port {settings.port}: {refused.strerror or refused}"
        raise AddressTaken(msg) from refused


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    """The web server hands a signal on once it has ended in order: a good end, with status 0."""
    raise SystemExit(0)


def _announce(settings: Settings, port: int, *, show_token: bool) -> None:
    """Where to find the service, on standard error; a token made just now is shown on a terminal, never in a log."""
    token, path = admin_token(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    lines = [f"Assay {__version__} listens on http://{host}:{port}  (API documentation: /docs)"]
    if path is not None:
        lines.append(f"The administrator's token is in {path}" + (f": {token}" if show_token else ""))
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - for the person who started it
