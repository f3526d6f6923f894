"""Drawings of how sure an order is: what they draw is inside them, and where it says."""

import re
from itertools import pairwise

import pytest

from app.drawing.uncertainty import RankRange, Shares, Slope, interval_bar, podium, rank_ranges, rank_ticks, slopes
from tests.each_case import for_each


def _numbers(drawing: str, tag: str, name: str, css: str = "") -> list[float]:
    found = re.findall(rf"<{tag} [^>]*>", drawing)
    return [float(each) for element in found if css in element for each in re.findall(rf' {name}="([-\d.]+)"', element)]


@for_each("value, point", [(0.5, "<circle"), (0.1, 'points="0,'), (0.95, 'points="96,')])
def test_a_value_outside_the_scale_is_an_arrowhead_at_its_end(value: float, point: str) -> None:
    bar = str(interval_bar(value, value - 0.02, value + 0.02, least=0.3, most=0.8))
    assert point in bar
    assert ('class="range"' in bar) == (point == "<circle")


def test_long_names_of_metrics_are_whole_and_inside_the_drawing() -> None:
    names = ["accuracy", "F1 of macro precision and recall", "Matthews correlation coefficient"]
    drawn = str(slopes(names, [Slope("Blue", [1, 1, 2]), Slope("Red", [2, 2, 1])], title="Ranks", description=""))
    for line in ("F1 of macro", "precision and", "recall", "Matthews", "correlation", "coefficient"):
        assert f">{line}<" in drawn
    heads = _numbers(drawn, "text", "y", 'class="axis"')
    assert min(heads) >= 10  # the height of a letter
    assert max(heads) < min(_numbers(drawn, "circle", "cy")) - 10


def test_a_bar_of_shares_covers_its_share_of_the_line_of_all_draws() -> None:
    drawn = str(podium([Shares("Blue", [0.75], "75.0 %")], ["stands first"], title="First", description=""))
    ends = _numbers(drawn, "line", "x2", "grid")[0] - _numbers(drawn, "line", "x1", "grid")[0]
    assert _numbers(drawn, "rect", "width") == [pytest.approx(0.75 * ends, abs=0.1)]
    assert "stands first" not in drawn


def _ranges(total: int) -> str:
    rows = [RankRange("Neighbours", rank, 1, total, "") for rank in range(1, total + 1)]
    return str(rank_ranges(rows, total, title="Ranks", description=""))


def test_a_short_board_fits_on_a_phone_and_a_long_one_has_more_room() -> None:
    widths = [_numbers(_ranges(total), "svg", "width")[0] for total in (5, 60)]
    assert widths[0] < 330 < widths[1]


@for_each("total", [*range(2, 61), 100, 101, 119, 200])
def test_no_two_numbers_of_the_axis_touch(total: int) -> None:
    places = _numbers(_ranges(total), "text", "x", "middle")
    ticks = rank_ticks(total)
    assert (ticks[0], ticks[-1]) == (1, total)
    for (rank, x), (later, next_x) in pairwise(zip(ticks, places, strict=True)):
        assert next_x - x > 7 * (len(str(rank)) + len(str(later))) / 2
