"""Health checks: whether the process is alive, and whether it can serve."""

import asyncio
from typing import Literal

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import JSONResponse

from app.actions.operations.check_readiness import OK
from app.api.dependencies import app_state
from app.api.field_types import reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import json_examples
from app.api.openapi import examples

router = api_router("health", base="")


class Health(BaseModel):
    """The process is alive."""

    model_config = reply_example(examples.HEALTH)

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """The state of each part: `ok`, or what is wrong with it."""

    model_config = reply_example(examples.READY)

    status: Literal["ready", "unready"]
    checks: dict[str, str]


@router.get("/healthz", summary="Check that the process is alive")
async def healthz() -> Health:
    """Returns 200 while the process is able to answer. It checks nothing else."""
    return Health()


@router.get(
    "/readyz",
    summary="Check that the service is ready",
    response_model=Readiness,
    responses={
        503: {"model": Readiness, "description": "Not ready; `checks` gives the reason."}
        | json_examples(unready=examples.UNREADY)
    },
)
async def readyz(request: Request) -> JSONResponse:
    """Checks the database, its schema, the file store and free disk space.

    A long queue does not make the service unready.
    """
    # Not in a thread of the pool that requests share: if all of those are in use, the process is busy, not unready.
    checks = await asyncio.to_thread(app_state(request).readiness.checks)
    ready = all(state == OK for state in checks.values())
    body = Readiness(status="ready" if ready else "unready", checks=checks)
    return JSONResponse(body.model_dump(), status_code=200 if ready else 503)
