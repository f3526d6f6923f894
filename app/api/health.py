"""Health: is the process alive, and can it serve."""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import JSONResponse

from app.api import examples
from app.api.deps import Service, ServiceDep
from app.api.problems import showing
from app.api.shapes import shown
from app.errors import AssayError
from app.store.migrate import require_head

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """The process answers."""

    model_config = shown(examples.HEALTH)

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether each part works; what is wrong is said in place of 'ok'."""

    model_config = shown(examples.READY)

    status: Literal["ready", "unready"]
    checks: dict[str, str]


@router.get("/healthz", summary="Is the process alive")
async def healthz() -> Health:
    """Answers as long as the process does."""
    return Health()


def _check_schema(parts: Service) -> None:
    with parts.db.read() as session:
        require_head(session.connection())


@router.get(
    "/readyz",
    summary="Can it serve",
    response_model=Readiness,
    responses={
        503: {"model": Readiness, "description": "Not ready; `checks` says why."} | showing(unready=examples.UNREADY)
    },
)
def readyz(parts: ServiceDep) -> JSONResponse:
    """Database, schema and files; never the backlog."""
    checks = {}
    for name, check in (
        ("database", parts.db.ping),
        ("schema", lambda: _check_schema(parts)),
        ("files", parts.files.check),
    ):
        try:
            check()
            checks[name] = "ok"
        except AssayError as fault:
            checks[name] = f"{fault.detail} {fault.advice}"
    ready = all(state == "ok" for state in checks.values())
    body = Readiness(status="ready" if ready else "unready", checks=checks)
    return JSONResponse(body.model_dump(), status_code=200 if ready else 503)
