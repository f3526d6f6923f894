"""The pages of frozen boards: the list, one to cite, and the form that freezes the final board."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from app.api.caching.board_cache import BoardFormat
from app.api.dependencies import current_organizer
from app.api.frozen_boards import (
    FrozenBoardHead,
    NewFrozenBoard,
    find_frozen_board,
    get_frozen_board,
    get_frozen_boards,
)
from app.api.frozen_boards import post_frozen_board as freeze
from app.errors import LeaderboardHidden
from app.web.challenge_frame import read_frame
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, for_this_reader, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
PATH = "/challenges/{slug}/phases/{phase}/frozen-boards"
FROZEN = notice("board-frozen", "The board is frozen.")


@router.get(PATH)
def list_frozen(slug: str, phase: str, page: PageDep) -> Response:
    """The frozen boards of a phase."""
    return show_list(page, slug, phase)


def show_list(page: PageContext, slug: str, phase: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The list, with a form that was refused."""
    with page.state.db.read() as session:
        frame = read_frame(page, session, slug)
    boards: list[FrozenBoardHead] = []
    refusal = None
    try:
        boards = get_frozen_boards(page.request, slug, phase, page.caller, page.state, 200).items
    except LeaderboardHidden as fault:
        refusal = fault.detail
    path = PATH.format(slug=slug, phase=phase)
    name = next((each.name for each in frame.challenge.phases if each.slug == phase), phase)
    values = {"boards": boards, "refusal": refusal, "phase_slug": phase, "phase_name": name, "path": path}
    return render(page, "frozen_boards.html", status=status, form=form, frame=frame, tab="leaderboard", **values)


@router.get(PATH + "/{key}")
def show_frozen(slug: str, phase: str, key: str, page: PageDep) -> Response:
    """A frozen board, with how to cite and to verify it."""
    with page.state.db.read() as session:
        frame = read_frame(page, session, slug)
    board, names = find_frozen_board(page.request, slug, phase, key, page.caller, page.state)
    path = PATH.format(slug=slug, phase=phase)
    data = f"{path}/{key}/data?" if page.is_logged_in else f"/api/v1{path}/{key}?"
    metrics = sorted(
        (metric["key"] for metric in board.content["metrics"]), key=lambda each: each != board.content["primary"]
    )
    values: dict[str, Any] = {
        "at": datetime.fromisoformat,
        "board": board,
        "names": names,
        "metrics": metrics,
        "data": data,
        "path": path,
        "phase_slug": phase,
    }
    return render(page, "frozen_board.html", frame=frame, tab="leaderboard", **values)


@router.get(PATH + "/{key}/data")
def get_frozen_data(
    slug: str, phase: str, key: str, page: PageDep, board_format: Annotated[BoardFormat, Query(alias="format")] = "json"
) -> Response:
    """The same in a form of the API, for an account by its session."""
    reply = get_frozen_board(page.request, slug, phase, key, page.caller, page.state, board_format)
    return for_this_reader(reply)


@router.post(PATH)
def post_frozen_board(slug: str, phase: str, page: PageDep, form: FormDep) -> Response:
    """Freeze the final board."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state)
        body = form.body(NewFrozenBoard, title=form.text("title"), reason=form.text("reason"))
        frozen = freeze(page.request, slug, phase, caller, page.state, body)
        return redirect(page, f"{PATH.format(slug=slug, phase=phase)}/{frozen.number}", done=FROZEN)

    return attempt(form, act, lambda refused, status: show_list(page, slug, phase, refused, status))
