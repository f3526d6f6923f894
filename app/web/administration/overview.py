"""The first page of the administrator's desk: the state of the service in a few sentences."""

from fastapi import APIRouter
from starlette.responses import Response

from app.actions.operations.check_readiness import OK
from app.api.usage import get_queue
from app.web.administration.frame import require_admin, show
from app.web.page import PageDep, page_router

router: APIRouter = page_router()


@router.get("/administration")
def get_overview(page: PageDep) -> Response:
    """Whether the service is ready, how long its queue is, and where to go from here."""
    require_admin(page)
    checks = page.state.readiness.checks()
    queue = get_queue(page.account, page.state)
    return show(
        page,
        "",
        "overview.html",
        checks=checks,
        faults={name: state for name, state in checks.items() if state != OK},
        queue=queue,
        scores_itself=page.state.db.sqlite,
    )
