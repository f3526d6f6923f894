"""The drawings of the page, by their elements."""

import gzip
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.drawing import charts

NAMES: dict[str, Any] = {"title": "A title", "description": "A description"}
AXES: dict[str, Any] = {"x_label": "false positive rate", "y_label": "true positive rate"}
HOSTILE = "<script>alert('&\"')</script>\x00\x1b"


def parse(markup: str) -> ET.Element:
    root = ET.fromstring(markup)
    assert root.tag == "svg"
    assert root.get("role") == "img"
    return root


def cells_of(matrix: np.ndarray) -> charts.Cells:
    rows, columns = np.nonzero(matrix)
    return charts.Cells(rows, columns, matrix[rows, columns].astype(float), matrix.sum(axis=1).astype(float))


def draw(matrix: np.ndarray, labels: list[str] | None = None) -> ET.Element:
    names = labels or [f"class {number}" for number in range(matrix.shape[1])]
    map_ = charts.heat_map(
        cells_of(matrix), names[: len(matrix)], names, **NAMES, row_axis="gold", column_axis="predicted"
    )
    return parse(map_)


def drawn_cells(root: ET.Element) -> dict[tuple[int, int], float]:
    """The cells that the paths cover, with their opacities, read as a browser reads them."""
    covered: dict[tuple[int, int], float] = {}
    for path in root.iter("path"):
        x = y = 0
        data = path.attrib["d"]
        commands = re.findall(r"([Mm])(-?\d+) (-?\d+)h(\d+)", data)
        assert "".join("{}{} {}h{}".format(*command) for command in commands) == data
        for kind, across, down, length in commands:
            x, y = (int(across), int(down)) if kind == "M" else (x + int(across), y + int(down))
            for column in range(x, x + int(length)):
                assert (y, column) not in covered
                covered[y, column] = float(path.attrib["stroke-opacity"])
            x += int(length)
    return covered


def test_every_chart_has_a_title_and_a_description_and_escapes_every_text() -> None:
    names: dict[str, Any] = {"title": HOSTILE, "description": HOSTILE}
    axes: dict[str, Any] = dict.fromkeys(AXES, HOSTILE)
    small = cells_of(np.array([[1]]))
    drawn = [
        charts.bars([charts.Bar(HOSTILE, 0.5, HOSTILE)], **names),
        charts.lines([charts.Series(HOSTILE, [(0, 0), (1, 1)])] * 2, **names, **axes),
        charts.scatter([charts.Point(0.5, 0.5, HOSTILE)], **names, **axes),
        charts.heat_map(small, [HOSTILE], [HOSTILE], **names, row_axis=HOSTILE, column_axis=HOSTILE),
    ]
    for chart in drawn:
        root = parse(chart)
        assert [child.tag for child in root][:2] == ["title", "desc"]
        assert root.findtext("title") == root.findtext("desc") == "<script>alert('&\"')</script>��"
        assert not list(root.iter("script"))
        assert "style=" not in chart


def test_bars_are_as_long_as_their_values() -> None:
    items = [charts.Bar("a", 1.0, "1.0"), charts.Bar("b", 0.25, "0.25"), charts.Bar("c", None, "undefined")]
    root = parse(charts.bars(items, **NAMES, maximum=1.0))
    assert [float(bar.attrib["width"]) for bar in root.iter("rect")] == [240, 60, 0]
    assert {"a", "0.25", "undefined"} <= {text.text for text in root.iter("text")}


def test_lines_go_through_their_points_and_differ_by_more_than_colour() -> None:
    series = [charts.Series(f"series {number}", [(0, 0), (0.5, 1), (1, 1)]) for number in range(charts.MAX_SERIES)]
    root = parse(charts.lines(series, **NAMES, **AXES, has_diagonal=True))
    drawn = list(root.iter("polyline"))
    assert drawn[0].get("points") == "48,310 198,10 348,10"
    assert len({line.get("stroke-dasharray") for line in drawn}) == charts.MAX_SERIES
    assert {one.name for one in series} <= {text.text for text in root.iter("text")}
    with pytest.raises(ValueError, match="at most 6 series"):
        charts.lines([*series, series[0]], **NAMES, **AXES)


def test_points_are_where_their_shares_say() -> None:
    root = parse(charts.scatter([charts.Point(0, 1, "first", 1.0), charts.Point(1, 0, "second", 0.0)], **NAMES, **AXES))
    places = [(float(point.attrib["cx"]), float(point.attrib["cy"])) for point in root.iter("circle")]
    assert places == [(48, 10), (348, 310)]
    assert [point.findtext("title") for point in root.iter("circle")] == ["first", "second"]
    first, second = (float(point.attrib["r"]) for point in root.iter("circle"))
    assert first > second


def test_a_small_heat_map_has_a_readable_number_in_each_cell() -> None:
    root = draw(np.array([[8, 0, 1], [0, 5, 0], [2, 0, 3]]))
    numbers = [text.text for text in root.iter("text") if (text.get("class") or "").startswith("cell-text")]
    assert numbers == ["8", "1", "5", "2", "3"]
    assert "class 2 → class 0: 2" in {title.text for title in root.iter("title")}
    for group in root.iter("g"):
        square, number = group.find("rect"), group.find("text")
        assert square is not None
        assert number is not None
        is_dark = float(square.attrib["fill-opacity"]) > 0.5
        assert (number.get("class") == "cell-text on") == is_dark


@given(st.integers(0, 2**32 - 1), st.sampled_from([31, 40, 57]), st.floats(0, 1))
def test_the_paths_of_a_large_heat_map_cover_exactly_the_cells_that_are_not_0(
    seed: int, size: int, density: float
) -> None:
    random = np.random.default_rng(seed)
    matrix = random.integers(1, 100, (size, size)) * (random.random((size, size)) < density)
    covered = drawn_cells(draw(matrix))
    rows, columns = np.nonzero(matrix)
    assert set(covered) == set(zip(rows.tolist(), columns.tolist(), strict=True))
    shares = {cell: matrix[cell] / matrix[cell[0]].sum() for cell in covered}
    for lower, higher in pairwise(sorted(covered, key=shares.__getitem__)):
        assert covered[lower] <= covered[higher]  # a larger share is never drawn lighter


def test_a_thousand_classes_have_few_labels_and_the_largest_shares_within_the_weight_of_a_page() -> None:
    random = np.random.default_rng(1)
    matrix = random.integers(1, 1000, (1000, 1000))  # the heaviest: no cell is 0
    np.fill_diagonal(matrix, 100_000)
    map_ = charts.heat_map(
        cells_of(matrix),
        [f"class {number}" for number in range(1000)],
        [f"class {number}" for number in range(1000)],
        **NAMES,
        row_axis="gold",
        column_axis="predicted",
    )
    root = parse(map_)
    covered = drawn_cells(root)
    assert len(covered) == charts.MAX_DRAWN_CELLS
    assert all((at, at) in covered for at in range(1000))
    assert len(list(root.iter("text"))) <= 2 * 40 + 2
    assert len(gzip.compress(map_.encode())) < 250_000


def test_the_largest_shares_are_those_of_their_rows_not_the_largest_counts() -> None:
    cells = cells_of(np.array([[1, 0], [60, 40]]))
    kept = charts.largest_shares(cells, most=2)
    assert list(zip(kept.rows.tolist(), kept.columns.tolist(), strict=True)) == [(0, 0), (1, 0)]


def test_the_key_names_every_shade() -> None:
    root = parse(charts.shade_key())
    assert len(list(root.iter("rect"))) == len(charts.SHADE_LIMITS) + 1
    assert {"under 0.5 %", "2 to 5 %", "50 % and more"} <= {text.text for text in root.iter("text")}
