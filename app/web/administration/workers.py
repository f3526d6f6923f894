"""The queue, the workers, and the checks of `assay doctor`."""

from starlette.responses import Response

from app.api.usage import get_queue
from app.web.administration.checks import CheckRun, CheckRunner
from app.web.administration.frame import require_admin, show
from app.web.page import FormDep, PageContext, PageDep, page_router

router = page_router()

MAX_WAIT_SECONDS = 25.0
"""Browsers and proxies wait longer for a reply; what is not known by then is shown by the next press."""


@router.get("/administration/workers")
def get_workers(page: PageDep) -> Response:
    """The queue and the workers."""
    return show_workers(page, None)


def show_workers(page: PageContext, run: CheckRun | None) -> Response:
    """The page, with the findings of a run of the checks."""
    require_admin(page)
    queue = get_queue(page.account, page.state)
    return show(page, "workers", "workers.html", queue=queue, run=run, scores_itself=page.state.db.sqlite)


@router.post("/administration/workers/checks")
def post_checks(page: PageDep, form: FormDep) -> Response:  # noqa: ARG001 - the form proves that the page asks
    """Run the checks of the doctor; while they run, everybody who asks waits for the same run."""
    require_admin(page)
    runner: CheckRunner = page.request.app.state.doctor
    return show_workers(page, runner.run(MAX_WAIT_SECONDS))
