"""Why files were rejected or failed, day by day."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app.actions.submissions.count_failures import DEFAULT_DAYS
from app.api.usage import DayShape, get_failures
from app.web.organize.frame import organizer_frame
from app.web.page import PageDep, page_router
from app.web.rendering import render
from app.web.svg import Bar, bars

router = page_router()

PERIODS = (7, 30, 90)
MAX_BARS = 15


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, and how many submissions had it on the days that the page shows."""

    kind: str
    """Rejected or failed."""
    code: str
    total: int
    latest: str
    """The last day on which it happened."""


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
    causes = _causes(counted.days)
    return render(
        page,
        "organize/failures.html",
        frame=frame,
        phase=phase or "",
        days=days,
        periods=PERIODS,
        rows=counted.days,
        causes=causes,
        chart=_chart(causes) if causes else None,
    )


def _causes(days: Iterable[DayShape]) -> list[Cause]:
    totals: Counter[tuple[str, str]] = Counter()
    latest: dict[tuple[str, str], str] = {}
    for day in days:  # newest first
        for kind, counts in (("rejected", day.rejected), ("failed", day.failed)):
            for code, count in counts.items():
                totals[kind, code] += count
                latest.setdefault((kind, code), day.day)
    return [Cause(kind, code, count, latest[kind, code]) for (kind, code), count in totals.most_common()]


def _chart(causes: list[Cause]) -> str:
    items = [Bar(cause.code, cause.total, str(cause.total)) for cause in causes[:MAX_BARS]]
    return bars(items, title="Submissions by cause", description="How many submissions each cause concerned.")
