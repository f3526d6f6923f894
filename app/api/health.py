"""Health: is the process alive, and can it serve."""

import asyncio
from typing import Literal

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from app.actions.operations.check_readiness import OK
from app.api.dependencies import app_state
from app.api.field_types import reply_example
from app.api.json_body import api_router
from app.api.openapi import examples
from app.api.problems import json_examples

router = api_router("health", base="")


class Health(BaseModel):
    """The process answers."""

    model_config = reply_example(examples.HEALTH)

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether each part works; what is wrong is said in place of 'ok'."""

    model_config = reply_example(examples.READY)

    status: Literal["ready", "unready"]
    checks: dict[str, str]


@router.get("/healthz", summary="Is the process alive")
async def healthz() -> Health:
    """Answers as long as the process does."""
    return Health()


@router.get(
    "/readyz",
    summary="Can it serve",
    response_model=Readiness,
    responses={
        503: {"model": Readiness, "description": "Not ready; `checks` says why."}
        | json_examples(unready=examples.UNREADY)
    },
)
async def readyz(request: Request) -> JSONResponse:
    """Database, schema, files and free space; never the backlog."""
    # None of the threads that requests share: when all of those wait, this process is busy, not unready.
    checks = await asyncio.to_thread(app_state(request).readiness.checks)
    ready = all(state == OK for state in checks.values())
    body = Readiness(status="ready" if ready else "unready", checks=checks)
    return JSONResponse(body.model_dump(), status_code=200 if ready else 503)
