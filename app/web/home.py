"""The first page: the challenges that the caller may see."""

from fastapi import Query
from starlette.responses import Response

from app.actions.challenges.manage_challenge import list_challenges
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()

ROWS = 50


@router.get("/")
def show_home(page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """All challenges that are visible to the caller."""
    with page.state.db.read() as session:
        rows, following = list_challenges(session, page.caller, limit=ROWS, cursor=cursor)
        return render(page, "home.html", challenges=rows, following=following)
