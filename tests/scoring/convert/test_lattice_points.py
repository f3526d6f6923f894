"""Integer points of a region against looking at every point of it."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from app.analysis.convert.lattice_points import LatticeRegion, floor_sum

CUTS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(-20, 60)), max_size=5)


@given(st.integers(0, 30), st.integers(-40, 40), st.integers(-90, 90), st.integers(1, 30))
def test_a_floor_sum_is_the_sum_of_its_floors(terms: int, slope: int, shift: int, divisor: int) -> None:
    assert floor_sum(terms, slope, shift, divisor) == sum((slope * i + shift) // divisor for i in range(terms))


@given(st.integers(0, 12), st.integers(0, 12), CUTS)
def test_a_region_holds_exactly_the_points_inside_all_half_planes(
    width: int, height: int, cuts: list[tuple[int, int, int]]
) -> None:
    region = LatticeRegion.of(width, height, cuts)
    inside = [
        (x, y) for x in range(width + 1) for y in range(height + 1) if all(a * x + b * y <= c for a, b, c in cuts)
    ]
    assert list(region.points()) == inside
    assert region.count() == len(inside)
    assert sorted((x, y) for y, x in region.transposed().points()) == inside
    if inside:
        assert region.span() == (inside[0][0], inside[-1][0])
        assert [region.nth(place) for place in range(len(inside))] == inside


def test_a_thin_and_endless_strip_is_counted_without_walking_along_it() -> None:
    size = 10**15
    low, high = Fraction(812344, 1000000), Fraction(812345, 1000000)
    cuts = [
        (high.denominator - high.numerator, -high.numerator, 0),  # x / (x + y) at most high
        (low.numerator - low.denominator, low.numerator, 0),
    ]
    region = LatticeRegion.of(size, size, cuts)
    area = size * size * (1 / low - 1 / high) / 2
    assert abs(region.count() / area - 1) < 1e-6
    assert next(region.points()) == (0, 0)
