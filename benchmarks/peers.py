"""Comparable routes on the same web server with the same settings: `python -m benchmarks.peers`."""

import argparse
import asyncio
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict
from sqlalchemy import ForeignKey, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload
from starlette.types import Receive, Scope, Send

from app.web_server import KEEP_ALIVE_SECONDS
from benchmarks.typed import Records

TRIVIAL = {"status": "ok"}


class Base(DeclarativeBase):
    """The tables of the route `/page`."""


class Entry(Base):
    """A row of the board."""

    __tablename__ = "entries"
    id: Mapped[int] = mapped_column(primary_key=True)
    rank: Mapped[int | None]
    team: Mapped[str]
    method: Mapped[str]
    submission: Mapped[str]
    submitted_at: Mapped[str]
    entries: Mapped[int]
    scores: Mapped[list["Value"]] = relationship()


class Value(Base):
    """A score of a row."""

    __tablename__ = "scores"
    id: Mapped[int] = mapped_column(primary_key=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("entries.id"), index=True)
    metric: Mapped[str]
    value: Mapped[float]


class ValueShape(BaseModel):
    """A score as it is sent."""

    model_config = ConfigDict(from_attributes=True)
    metric: str
    value: float


class EntryShape(BaseModel):
    """A row as it is sent."""

    model_config = ConfigDict(from_attributes=True)
    rank: int | None
    team: str
    method: str
    submission: str
    submitted_at: str
    entries: int
    scores: list[ValueShape]


class Item(BaseModel):
    """A record as a body model."""

    id: str
    label: str


class Body(BaseModel):
    """A file of records as a body model."""

    predictions: list[Item]


def filled(folder: Path, board: dict[str, Any]) -> Any:
    """A database that holds the rows of a board."""
    engine = create_engine(f"sqlite:///{folder}/peers.sqlite3")
    Base.metadata.create_all(engine)
    plain = ("rank", "method", "submission", "submitted_at", "entries")
    with Session(engine) as session:
        for row in board["rows"]:
            scores = [Value(metric=name, value=score["value"]) for name, score in row["scores"].items()]
            session.add(Entry(team=row["team"]["name"], scores=scores, **{name: row[name] for name in plain}))
        session.commit()
    return engine


def made(folder: Path, board: dict[str, Any]) -> FastAPI:
    """The routes."""
    app, engine, decoder = FastAPI(), filled(folder, board), msgspec.json.Decoder(Records)

    @app.get("/trivial")
    async def trivial() -> dict[str, str]:
        return TRIVIAL

    @app.get("/page", response_model=list[EntryShape])
    def page() -> Any:
        with Session(engine) as session:
            return session.scalars(select(Entry).options(selectinload(Entry.scores)).order_by(Entry.rank)).all()

    @app.post("/body", status_code=202)
    async def body(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @app.post("/file", status_code=202)
    async def file(request: Request) -> dict[str, str]:
        return await _kept(request, folder, durable=False)

    @app.post("/durable", status_code=202)
    async def durable(request: Request) -> dict[str, str]:
        return await _kept(request, folder, durable=True)

    @app.post("/pydantic", status_code=202)
    async def pydantic(sent: Body) -> dict[str, int]:
        return {"records": len(sent.predictions)}

    @app.post("/msgspec", status_code=202)
    async def typed(request: Request) -> dict[str, int]:
        return {"records": len(decoder.decode(await request.body()).predictions)}

    return app


async def _kept(request: Request, folder: Path, *, durable: bool) -> dict[str, str]:
    """Stream a body to a file; `durable` adds SHA-256 and fsync.

    The file stays, as in the service. A route that removed it would write the next body to the same memory again.
    """
    path, digest = folder / f"{os.urandom(8).hex()}.upload", hashlib.sha256()
    with path.open("wb") as out:
        async for chunk in request.stream():
            out.write(chunk)
            if durable:
                digest.update(chunk)
        if durable:
            out.flush()
            await asyncio.to_thread(os.fsync, out.fileno())
    return {"sha256": digest.hexdigest()}


class Bare:
    """An ASGI function in front of the app, which sends a prepared board or a few bytes."""

    def __init__(self, app: FastAPI, board: bytes) -> None:
        self._app = app
        self._ready = {"/bare": json.dumps(TRIVIAL).encode(), "/bare-board": board}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or let the app answer."""
        body = self._ready.get(scope.get("path", ""))
        if body is None:
            await self._app(scope, receive, send)
        else:
            await Response(body, media_type="application/json")(scope, receive, send)


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder for its files")
    parser.add_argument("--board", type=Path, required=True, help="the board whose rows are served, as JSON")
    given = parser.parse_args()
    board = given.board.read_bytes()
    config = uvicorn.Config(
        Bare(made(given.folder, json.loads(board)), board),
        port=given.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        http="h11",
        h11_max_incomplete_event_size=64 * 1024,
    )
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
