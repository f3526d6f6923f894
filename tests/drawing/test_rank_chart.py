"""The chart of ranks over time, by its lines."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest

from app.drawing.charts import MAX_SERIES
from app.drawing.rank_chart import RankLine, rank_chart

BEGIN = datetime(2027, 3, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=4)


def day(number: int) -> datetime:
    return BEGIN + timedelta(days=number)


def paths(*lines: RankLine) -> list[str]:
    chart = ET.fromstring(rank_chart(lines, BEGIN, END, title="Ranks", description="Of teams"))
    assert chart.get("role") == "img"
    return [path.get("d", "") for path in chart.iter("path")]


def test_a_line_steps_from_rank_to_rank_and_ends_at_the_end() -> None:
    first, second = paths(
        RankLine("Blue", [(day(0), 1), (day(1), 2), (day(2), 1)]), RankLine("Green", [(day(1), 1), (day(2), 2)])
    )
    assert first == "M48 20H188V244H328V20H608"
    assert second == "M188 20H328V244H608"


def test_a_line_has_a_gap_while_its_team_had_no_rank() -> None:
    (path,) = paths(RankLine("Blue", [(day(0), 1), (day(1), None), (day(2), 1)]))
    assert path == "M48 20H188M328 20H608"


def test_names_are_escaped_and_too_many_lines_are_refused() -> None:
    chart = rank_chart([RankLine("<b>", [(day(0), 1)])], BEGIN, BEGIN, title="<i>", description="&")
    assert "<b>" not in chart
    assert "<i>" not in chart
    with pytest.raises(ValueError, match="at most"):
        rank_chart([RankLine("Blue", [])] * (MAX_SERIES + 1), BEGIN, END, title="", description="")
