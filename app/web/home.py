"""The first page: open, coming and past challenges that the caller may see."""

from typing import Annotated

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.actions.challenges.list_by_stage import ListedChallenge, list_by_stage
from app.store.session import ReadSession
from app.web.challenge_rights import may_create_challenge
from app.web.leaders import Leaders
from app.web.page import PageContext, PageDep, page_router
from app.web.rendering import render
from app.web.stages import FIRST_STAGES, STAGES, ShownStage, Stage

router = page_router()

ROWS = 20
_leaders = Leaders()


@router.get("/")
async def show_home(
    page: PageDep,
    show: Annotated[Stage | None, Query()] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The newest challenges of each stage, or with `show` all of one stage in pages."""
    stages = await run_in_threadpool(_read_stages, page, show, cursor)
    listed = [row for stage in stages for row in stage.rows]
    leaders = await _leaders.read(page.state, listed)
    creator = may_create_challenge(page)
    return await run_in_threadpool(
        render, page, "home.html", stages=stages, shown=show, leaders=leaders, may_create=creator, titles=STAGES
    )


def _read_stages(page: PageContext, show: Stage | None, cursor: str | None) -> list[ShownStage]:
    with page.state.db.read() as session:
        if show is not None:
            return [ShownStage(show, *_rows(session, page, show, cursor))]
        return [ShownStage(stage, *_rows(session, page, stage, None)) for stage in FIRST_STAGES]


def _rows(
    session: ReadSession, page: PageContext, stage: Stage, cursor: str | None
) -> tuple[list[ListedChallenge], str | None]:
    return list_by_stage(session, page.caller, stage, limit=ROWS, cursor=cursor)
