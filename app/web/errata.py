"""The page of corrections: what switches to other gold, recipes or scorers changed on the boards of a challenge."""

import json
from collections import defaultdict
from typing import Annotated, Any, NamedTuple

from fastapi import Query
from starlette.responses import Response

from app.api.comparison_fields import BoardDifference, ComparedRow
from app.api.errata import ErratumShape, get_errata
from app.api.transparency_log import LogRecordShape, get_challenge_log
from app.errors import AssayError
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from app.web.board_cells import value_texts
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

    values: dict[str, Any] = {"board_after": board_after, "record_name": record_name}
    values |= {"names": {each.slug: each.name for each in frame.challenge.phases}, "most": MAX_INSTANCES}
    return render(page, "errata.html", frame=frame, errata=errata, records=records, moves_table=moves_table, **values)


def record_name(record: LogRecordShape) -> str:
    """What a record of the log fixes, with its number."""
    said = json.loads(record.record or "{}")
    texts = {
        "gold": "Commitment to gold {version}",
        "switch": "Switch {number}",
        "frozen_board": "Frozen board {number}",
    }
    return texts.get(record.kind, "Final release").format_map(defaultdict(str, said)).strip()


class MovesTable(NamedTuple):
    """Two boards beside each other as a table: the values of a metric have equally many decimals on both."""

    part: BoardDifference
    metrics: dict[str, str]
    """The names of the shown metrics by metric string."""
    texts: dict[tuple[str, int, bool], str]
    """The values by metric string, row and side."""

    def text(self, row: ComparedRow, metric: str, *, after: bool) -> str:
        """The value in a cell."""
        return self.texts[metric, id(row), after]


def moves_table(part: BoardDifference) -> MovesTable:
    """The table of a part of an erratum or of a preview."""
    metrics = _shown_metrics(part)
    names = {text: _metric_name(text) for text in metrics}
    twice = {name for name in names.values() if list(names.values()).count(name) > 1}
    heads = {text: f"{name} ({text})" if name in twice else name for text, name in names.items()}
    sides = [
        (id(row), is_after, row.after if is_after else row.before) for row in part.rows for is_after in (False, True)
    ]
    texts: dict[tuple[str, int, bool], str] = {}
    for metric in metrics:
        found = [None if side is None else side.scores.get(metric) for _, _, side in sides]
        cells = value_texts([{} if value is None else {"value": value.value} for value in found])
        texts |= {(metric, row, is_after): cell.text for (row, is_after, _), cell in zip(sides, cells, strict=True)}
    return MovesTable(part, heads, texts)


def _metric_name(text: str) -> str:
    """The name of a metric; one that this program no longer has is named by its string."""
    try:
        name = str(describe_call(parse_metric(text))["name"])
    except AssayError:
        return text
    return name[:1].upper() + name[1:]


def _shown_metrics(part: BoardDifference) -> list[str]:
    """The metrics that rank the boards, and the first others that both boards have."""
    before, after = (
        dict.fromkeys(name for row in part.rows if (side := getattr(row, which)) for name in side.scores)
        for which in ("before", "after")
    )
    common = [name for name in after if name in before]
    return list(dict.fromkeys([part.primary.after, part.primary.before, *common]))[:MAX_METRICS]
