"""Frozen boards: freeze the final board of a phase, list frozen ones, and read one in any form."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from app import errors
from app.actions.access import Caller
from app.actions.history.citations import cite, cite_as_bibtex
from app.actions.history.frozen_boards import (
    FrozenView,
    freeze_board,
    list_frozen_boards,
    metric_names,
    read_frozen_board,
)
from app.actions.history.frozen_content import board_of
from app.api.board_tables import csv_pieces, latex_pieces
from app.api.caching.board_cache import BoardFormat
from app.api.dependencies import AppState, AppStateDep, CallerDep, Cursor, Limit, OrganizerDep, paginate
from app.api.field_types import Body, Moment, Page, Reason, Shape, reply_example, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.leaderboards import MEDIA_TYPES
from app.api.openapi import history_examples
from app.api.openapi.examples import named_examples
from app.text.latex import latex_comment

router = api_router("leaderboards", prefix="/challenges/{slug}/phases/{phase}/frozen-boards")

READ_ERRORS = (errors.InsufficientScope, errors.LeaderboardHidden, errors.NotFound)


class NewFrozenBoard(Body):
    """Why a board is frozen, and its title."""

    model_config = request_example(title="Final results of Pets 2027", reason="All objections were decided.")

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="By default the names of challenge and phase."
    )
    reason: Reason


class FrozenBoardHead(Shape):
    """A frozen board without its content."""

    model_config = reply_example(history_examples.FROZEN_HEAD)

    number: int
    title: str
    reason: str
    challenge: str
    phase: str
    frozen_at: Moment
    sha256: str = Field(description="SHA-256 over the canonical form (RFC 8785) of `content`, in hexadecimal.")
    superseded_by: int | None = Field(description="The newest frozen board of the phase; null for that one.")
    address: str = Field(description="Its page.")


class FrozenBoardLog(Shape):
    """The record of the freeze in the transparency log: its entry is SHA-256 over `salt` and `record`."""

    origin: str | None = Field(description="Null until the log has a position for it, within seconds.")
    position: int | None
    entry: str
    salt: str | None
    record: str | None


class FrozenBoard(FrozenBoardHead):
    """A frozen board."""

    model_config = reply_example(history_examples.FROZEN)

    checkpoint: str | None = Field(description="The newest checkpoint of the transparency log before the freeze.")
    log: FrozenBoardLog | None
    citation: str
    bibtex: str
    content: dict[str, Any] = Field(description="What the board shows, without anything that depends on this service.")


def _head(state: AppState, request: Request, view: FrozenView) -> dict[str, Any]:
    row, slug = view.row, view.phase.challenge.slug
    origin = state.settings.public_url or str(request.base_url)
    path = f"challenges/{quote(slug, safe='')}/phases/{quote(view.phase.slug, safe='')}/frozen-boards/{row.number}"
    return {
        "number": row.number,
        "title": row.title,
        "reason": row.reason,
        "challenge": slug,
        "phase": view.phase.slug,
        "frozen_at": row.created_at,
        "sha256": row.sha256,
        "superseded_by": view.superseded_by,
        "address": f"{origin.rstrip('/')}/{path}",
    }


def whole_frozen_board(state: AppState, request: Request, view: FrozenView) -> FrozenBoard:
    """A frozen board with its content, in the shape of the API."""
    head = _head(state, request, view)
    cited = {"citation": cite(view.row, head["address"]), "bibtex": cite_as_bibtex(view.row, head["address"])}
    rest = {"checkpoint": view.row.checkpoint, "log": view.log, "content": view.content}
    return FrozenBoard.model_validate(head | rest | cited)


@router.post(
    "",
    status_code=201,
    summary="Freeze the final board",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.NotFreezable, errors.AlreadyFrozen),
)
def post_frozen_board(
    request: Request, slug: str, phase: str, caller: OrganizerDep, state: AppStateDep, body: NewFrozenBoard
) -> FrozenBoard:
    """Stores the board as participants see it, to be cited. Requires an organizer; it cannot be undone.

    Refused before the close, before the release of a phase with splits, and while something that the board shows is
    still being computed. After a correction freeze it again: the new frozen board supersedes the old one, which stays.
    """
    with state.db.write() as session:
        frozen = freeze_board(session, caller, slug, phase, title=body.title, reason=body.reason)
        return whole_frozen_board(state, request, frozen)


@router.get(
    "",
    summary="List frozen boards",
    responses=error_responses(errors.BadCursor, *READ_ERRORS),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_frozen_boards(
    request: Request,
    slug: str,
    phase: str,
    caller: CallerDep,
    state: AppStateDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[FrozenBoardHead]:
    """Returns the frozen boards of a phase, the newest first: it supersedes all others."""
    with state.db.read() as session:
        found = list_frozen_boards(session, caller, slug, phase)
        rows, following = paginate(found, lambda view: view.row.number, limit=limit, cursor=cursor)
        heads = [FrozenBoardHead.model_validate(_head(state, request, view)) for view in rows]
        return Page(items=heads, next=following)


@router.get(
    "/{key}",
    summary="Read a frozen board",
    response_model=FrozenBoard,
    responses=success_response(
        "The frozen board.",
        {
            "text/csv": named_examples(board=history_examples.FROZEN_CSV),
            "application/x-latex": named_examples(board=history_examples.FROZEN_LATEX),
        },
    )
    | error_responses(*READ_ERRORS),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_frozen_board(
    request: Request,
    slug: str,
    phase: str,
    key: str,
    caller: CallerDep,
    state: AppStateDep,
    board_format: Annotated[
        BoardFormat, Query(alias="format", description="`csv` and `latex` have the rows alone.")
    ] = "json",
) -> Response:
    """Returns a frozen board by its number, or by its hash. `content` never changes.

    To check it, remove nothing and reorder nothing: SHA-256 over the canonical JSON (RFC 8785) of `content` is `sha256`.
    """
    found, names = find_frozen_board(request, slug, phase, key, caller, state)
    if board_format == "json":
        return JSONResponse(found.model_dump(mode="json"))
    board = board_of(found.content, names) | {"as_of": found.frozen_at}
    pieces = [*csv_pieces(board)]
    if board_format == "latex":
        origin = f"Frozen board {found.number} of {found.address}, SHA-256 of its content {found.sha256}."
        pieces = [f"{latex_comment(origin)}\n".encode(), *latex_pieces(board)]
    return Response(b"".join(pieces), media_type=MEDIA_TYPES[board_format])


def find_frozen_board(
    request: Request, slug: str, phase: str, key: str, caller: Caller, state: AppState
) -> tuple[FrozenBoard, dict[str, str]]:
    """A frozen board as this caller may read it, and the names of its metrics by key."""
    with state.db.read() as session:
        view = read_frozen_board(session, caller, slug, phase, key)
        return whole_frozen_board(state, request, view), metric_names(session, view)
