"""All challenges of the site, with their owners and what they use."""

from fastapi import Query
from starlette.responses import Response

from app.api.usage import get_usage
from app.web.administration.frame import require_admin, show
from app.web.page import PageDep, page_router

router = page_router()

ROWS = 50


@router.get("/administration/challenges")
def get_challenges(page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """Drafts and archived challenges too, newest first."""
    require_admin(page)
    rows = get_usage(page.account, page.state, limit=ROWS, cursor=cursor)
    return show(page, "challenges", "challenges.html", rows=rows.items, following=rows.next)
