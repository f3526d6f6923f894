"""Why files were rejected or failed, by cause and day."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated

import numpy as np
from fastapi import Query
from markupsafe import Markup
from starlette.responses import Response

from app.actions.submissions.count_failures import DEFAULT_DAYS
from app.api.usage import DayShape, get_failures
from app.drawing.charts import Bar, Cells, bars, heat_map
from app.formats.problems import PROBLEM_CODES
from app.web.organize.frame import organizer_frame
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()

PERIODS = (7, 30, 90)
MAX_ROWS = 15
"""How many causes the chart shows."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, and how many submissions had it on the days that the page shows."""

    kind: str
    """Rejected or failed."""
    code: str
    total: int
    latest: date
    """The last day on which it happened."""

    @property
    def meaning(self) -> str:
        """The cause of a rejection as a sentence; empty for a failure."""
        return PROBLEM_CODES.get(self.code, "")


@router.get("/challenges/{slug}/organize/failures")
def get_causes(
    slug: str,
    page: PageDep,
    phase: Annotated[str | None, Query(max_length=64)] = None,
    days: Annotated[int, Query(ge=1, le=max(PERIODS))] = DEFAULT_DAYS,
) -> Response:
    """The causes of rejections and failures, the most frequent first, and what became of each day's submissions."""
    frame = organizer_frame(page, slug)
    counted = get_failures(slug, page.account, page.state, phase=phase or None, days=days)
    causes = find_causes(counted.days)
    return render(
        page,
        "organize/failures.html",
        frame=frame,
        phase=phase or "",
        days=days,
        periods=PERIODS,
        rows=[(date.fromisoformat(day.day), day) for day in counted.days],
        causes=causes,
        chart=draw_causes(causes, counted.days) if causes else None,
    )


def find_causes(days: Iterable[DayShape]) -> list[Cause]:
    """The causes of these days, newest first, and how many submissions had each; the most frequent first."""
    totals: Counter[tuple[str, str]] = Counter()
    latest: dict[tuple[str, str], date] = {}
    for day in days:  # newest first
        for kind, counts in (("rejected", day.rejected), ("failed", day.failed)):
            for code, count in counts.items():
                totals[kind, code] += count
                latest.setdefault((kind, code), date.fromisoformat(day.day))
    return [Cause(kind, code, count, latest[kind, code]) for (kind, code), count in totals.most_common()]


def draw_causes(causes: list[Cause], days: Sequence[DayShape]) -> Markup:
    """Which cause concerned how many submissions on which day; of a single day, a bar for each cause."""
    shown, last = causes[:MAX_ROWS], date.fromisoformat(days[0].day)
    first = date.fromisoformat(days[-1].day)
    title = "Submissions by cause"
    if first == last:
        items = [Bar(cause.code, cause.total, str(cause.total)) for cause in shown]
        return bars(items, title=title, description="How many submissions each cause concerned.")
    counts = np.zeros((len(shown), (last - first).days + 1))
    for day in days:
        at = (date.fromisoformat(day.day) - first).days
        for row, cause in enumerate(shown):
            counts[row, at] = (day.rejected if cause.kind == "rejected" else day.failed).get(cause.code, 0)
    rows, columns = np.nonzero(counts)
    return heat_map(
        Cells(rows, columns, counts[rows, columns], np.full(len(shown), counts.max())),
        [cause.code for cause in shown],
        [f"{each.day} {each:%b}" for each in (first + timedelta(days=n) for n in range(counts.shape[1]))],
        title=title,
        description="How many submissions each cause concerned on each day.",
        row_axis="cause",
        column_axis="day (UTC)",
    )
