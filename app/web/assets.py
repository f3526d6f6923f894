"""The style sheet and scripts of the pages, held in memory, compressed once, at addresses that change with them."""

import hashlib
import math
import mimetypes
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from app.api.caching.cached_reply import CachedReply

FOLDER = Path(__file__).parent / "static"
NAMES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_file()))
router = APIRouter(include_in_schema=False)


@cache
def _reply(name: str) -> CachedReply:
    media = mimetypes.guess_type(name)[0] or "application/octet-stream"
    text = "; charset=utf-8" if media.startswith("text/") else ""
    return CachedReply.build((FOLDER / name).read_bytes(), media + text, marks=frozenset(), expires_at=math.inf)


@cache
def asset_version(name: str) -> str:
    """A short hash of a file."""
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]


@cache
def asset_url(name: str) -> str:
    """The address of a file; another version has another one, so browsers may keep it for good."""
    return f"/static/{name}?v={asset_version(name)}"


@router.get("/static/{name}")
async def get_asset(name: str, request: Request, v: str | None = None) -> Response:
    """A file of the pages."""
    if name not in NAMES:
        raise HTTPException(404)
    response = _reply(name).response(",".join(request.headers.getlist("accept-encoding")))
    if v == asset_version(name):
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response
