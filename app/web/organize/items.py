"""Item analysis: suspect instances, how far systems agree, near-duplicates, and what a relabelling would move."""

import csv
import io
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import Query
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.actions.items.analyze import AnalysisTooLarge
from app.actions.items.choose_systems import NothingToAnalyze
from app.api.item_fields import AgreementShape, ItemShape, RelabellingBody, RelabellingShape
from app.api.items import (
    Question,
    Select,
    Sort,
    current_item_reader,
    get_agreement,
    get_near_duplicates,
    post_corrected_gold,
    post_relabelling,
    read_items,
)
from app.drawing.charts import Cells, heat_map
from app.errors import InvalidRequest
from app.web.forms import Form, attempt_async
from app.web.organize.frame import OrganizerFrame, organizer_frame
from app.web.organize.release import likely_phase
from app.web.page import FormDep, PageContext, PageDep, page_router
from app.web.rendering import NO_FORM, render

router = page_router()

PAGE_ROWS = 25
MAX_DRAWN_SYSTEMS = 30
EMPTY_SET = "{}"
SELECTIONS = {
    "all": "All instances",
    "suspect": "More contradict than agree",
    "none_right": "No system right",
    "negative": "Better systems fail",
    "all_right": "All systems right",
}
SORTS = {
    "suspicion": "Most suspicious",
    "right": "Hardest",
    "discrimination": "Least discriminating",
    "agreement": "Most alike in errors",
    "id": "By id",
}


@router.get("/challenges/{slug}/organize/items")
async def get_item_page(
    slug: str,
    page: PageDep,
    *,
    phase: Annotated[str | None, Query(max_length=64)] = None,
    select: Select = "all",
    sort: Sort = "suspicion",
    cursor: Annotated[str | None, Query(max_length=20)] = None,
    fill: Annotated[bool, Query(description="Fill the form with the instances shown.")] = False,
) -> Response:
    """Shows the instances, the most suspicious first; the audit trail says who read their labels."""
    shown: dict[str, Any] = {"select": select, "sort": sort, "cursor": cursor, "fill": fill}
    return await _show(page, slug, phase, **shown)


@router.post("/challenges/{slug}/organize/items")
async def post_changes(slug: str, page: PageDep, form: FormDep) -> Response:
    """Shows what a relabelling would move, or sends the gold with the changes as a file."""
    phase, wanted = form.value("phase"), form.value("act")
    caller = await run_in_threadpool(current_item_reader, slug, phase, page.account, page.state)

    async def act() -> Response:
        body = parse_changes(form)
        if wanted in {"gold", "csv"}:
            return await post_corrected_gold(
                slug, phase, body, caller, page.state, form="gold" if wanted == "gold" else "csv"
            )
        moves = await post_relabelling(slug, phase, body, caller, page.state)
        return await run_in_threadpool(_render_moves, page, slug, phase, form, moves)

    return await attempt_async(
        form, act, lambda refused, status: _render_moves(page, slug, phase, refused, None, status)
    )


def parse_changes(form: Form) -> RelabellingBody:
    """The changes of the form: one instance a line, its id and then its labels, separated by commas as in CSV."""
    changes: list[dict[str, Any]] = []
    for row in csv.reader(io.StringIO(form.value("changes"))):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        labels = [cell for cell in cells[1:] if cell]
        given = {"labels": [] if labels == [EMPTY_SET] else labels} if labels else {"label": None}
        changes.append({"id": cells[0]} | given)
    if not changes:
        detail = "needs at least one line, such as: t1,cat"
        raise InvalidRequest(detail, errors=[{"pointer": "/changes", "detail": detail}])
    return RelabellingBody.model_validate({"changes": changes})


def changes_text(items: Sequence[ItemShape]) -> str:
    """Lines that give each instance the most frequent wrong answer."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for item in items:
        rival = next((each.labels for each in item.answers if not each.right and each.labels is not None), None)
        if rival is not None:
            writer.writerow([item.id, *(rival or [EMPTY_SET])])
    return out.getvalue().rstrip("\n")


async def _show(page: PageContext, slug: str, phase: str | None, **shown: Any) -> Response:
    frame = await run_in_threadpool(organizer_frame, page, slug)
    chosen = phase or likely_phase(frame.challenge.phases)
    values: dict[str, Any] = {"phase": chosen, "found": None} | shown
    if chosen is not None:
        with suppress(NothingToAnalyze):
            values |= await _read(
                page, slug, chosen, select=shown["select"], sort=shown["sort"], cursor=shown["cursor"]
            )
    filled = changes_text(values["found"].items) if shown["fill"] and values["found"] else ""
    return await run_in_threadpool(_render, page, frame, values | {"filled": filled}, NO_FORM, 200)


async def _read(
    page: PageContext, slug: str, phase: str, *, select: str, sort: str, cursor: str | None
) -> dict[str, Any]:
    """The parts of the page by name; `missing` has the error of each part that exceeds the limits of an analysis."""
    caller, state = page.account, page.state
    shown: dict[str, Any] = {"select": select, "sort": sort, "limit": PAGE_ROWS, "cursor": cursor}
    parts: dict[str, Callable[[], Awaitable[Any]]] = {
        "found": partial(read_items, state, caller, Question(slug, phase), **shown),
        "agreement": partial(get_agreement, slug, phase, caller, state),
        "near": partial(get_near_duplicates, slug, phase, caller, state),
    }
    values: dict[str, Any] = {}
    missing: dict[str, AnalysisTooLarge] = {}
    for part, read in parts.items():
        try:
            values[part] = await read()
        except AnalysisTooLarge as error:  # the other parts need less, and say more than an error page
            missing[part] = error
    agreement = values.get("agreement")
    drawings = {} if agreement is None or len(agreement.systems) < 2 else draw_agreement(agreement)
    return values | {"missing": missing, "drawings": drawings}


def draw_agreement(agreement: AgreementShape) -> dict[str, Markup]:
    """How far the first systems agree, and how far their errors overlap, in percent."""
    count = min(len(agreement.systems), MAX_DRAWN_SYSTEMS)
    names = [f"{at + 1} {each.team.name}"[:24] for at, each in enumerate(agreement.systems[:count])]
    tables = {"agreement": np.full((count, count), 100.0), "error_overlap": np.full((count, count), 100.0)}
    for pair in agreement.pairs:
        if pair.a < count and pair.b < count:
            for name, table in tables.items():
                table[pair.a, pair.b] = table[pair.b, pair.a] = round(100 * (getattr(pair, name) or 0.0))
    titles = {"agreement": "Equal answers in percent", "error_overlap": "Overlap of errors in percent"}
    return {name: _draw(table, names, titles[name]) for name, table in tables.items()}


def _draw(table: Any, names: Sequence[str], title: str) -> Markup:
    rows, columns = np.nonzero(table)
    cells = Cells(rows, columns, table[rows, columns], np.full(len(names), 100.0))
    numbers = [str(at + 1) for at in range(len(names))]
    about = "Each cell compares the system of its row with that of its column."
    return heat_map(cells, names, numbers, title=title, description=about, row_axis="system", column_axis="system")


def _render_moves(
    page: PageContext, slug: str, phase: str, form: Form, moves: RelabellingShape | None, status: int = 200
) -> Response:
    values: dict[str, Any] = {"phase": phase, "found": None, "moves": moves, "select": "all", "sort": "suspicion"}
    return _render(page, organizer_frame(page, slug), values, form, status)


def _render(page: PageContext, frame: OrganizerFrame, values: dict[str, Any], form: Form, status: int) -> Response:
    choices = {"selections": SELECTIONS, "sorts": SORTS}
    shown: dict[str, Any] = {
        "moves": None,
        "near": None,
        "agreement": None,
        "drawings": {},
        "missing": {},
        "filled": "",
        "cursor": None,
    }
    return render(page, "organize/items.html", status=status, form=form, frame=frame, **shown | choices | values)
