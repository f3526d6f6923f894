"""The page of corrections: what switches to other gold, recipes or scorers changed on the boards of a challenge."""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from app.api.comparison_fields import BoardDifference
from app.api.errata import ErratumShape, get_errata
from app.api.transparency_log import get_challenge_log
from app.web.board_query import BoardQuery
from app.web.challenge_frame import read_frame
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()
MAX_METRICS = 3
"""Columns of a table of moves beside the ranks: more would not be read."""
MAX_INSTANCES = 500
MAX_RECORDS = 50


@router.get("/challenges/{slug}/errata")
def show_errata(slug: str, page: PageDep, cursor: Annotated[str | None, Query(max_length=100)] = None) -> Response:
    """Shows what corrections changed, as this reader may see it."""
    with page.state.db.read() as session:
        frame = read_frame(page, session, slug)
    errata = get_errata(slug, page.caller, page.state, 5, cursor)
    records = [] if cursor is not None else get_challenge_log(slug, page.caller, page.state, MAX_RECORDS).items

    def board_after(each: ErratumShape) -> str:
        at = None if each.switched_at is None else each.switched_at.isoformat().replace("+00:00", "Z")
        return BoardQuery(each.phase, as_of=at).address(slug)

    values: dict[str, Any] = {"board_after": board_after}
    values |= {"names": {each.slug: each.name for each in frame.challenge.phases}, "most": MAX_INSTANCES}
    return render(
        page, "errata.html", frame=frame, errata=errata, records=records, shown_metrics=shown_metrics, **values
    )


def shown_metrics(part: BoardDifference) -> list[str]:
    """The metrics that rank the boards, and the first others that both boards have."""
    before, after = (
        dict.fromkeys(name for row in part.rows if (side := getattr(row, which)) for name in side.scores)
        for which in ("before", "after")
    )
    common = [name for name in after if name in before]
    return list(dict.fromkeys([part.primary.after, part.primary.before, *common]))[:MAX_METRICS]
