"""The bias-corrected percentile interval against a plain version written from Efron, and its properties."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from app.scoring.uncertainty.bootstrap_interval import percentile_interval
from tests.each_case import for_each

VALUES = st.lists(st.integers(0, 60), min_size=100, max_size=300)


def plain_interval(value: float, draws: list[float]) -> tuple[float, float]:
    """Efron 1981, section 7, with the usual order statistics of (R + 1) · share."""
    ordered, count = sorted(draws), len(draws)
    share = (sum(draw < value for draw in draws) + sum(draw == value for draw in draws) / 2) / count
    share = min(max(share, 0.5 / count), 1 - 0.5 / count)
    z0 = stats.norm.ppf(share)
    low = stats.norm.cdf(2 * z0 + stats.norm.ppf(0.025))
    above = stats.norm.sf(2 * z0 + stats.norm.ppf(0.975))
    first, last = (max(1, math.floor((count + 1) * tail + 1e-9)) for tail in (low, above))
    return ordered[min(first, count) - 1], ordered[count - min(last, count)]


@given(VALUES, st.floats(-0.2, 0.2))
def test_it_agrees_with_a_plain_version(draws: list[int], shift: float) -> None:
    value = round(float(np.mean(draws) + shift * np.std(draws)))
    found = percentile_interval(value, np.array(draws, dtype=float))
    spread = np.std(draws, ddof=1)
    assume(abs(abs(np.mean(draws) - value) - spread / 4) > 1e-9)
    assume(abs(np.mean(draws) - value) <= spread / 4)
    assert (found.low, found.high) == plain_interval(value, [float(draw) for draw in draws])
    assert found.method == "bias-corrected percentile bootstrap"
    assert found.standard_error == pytest.approx(spread, abs=1e-12)


@given(VALUES, st.integers(0, 60))
def test_negated_values_have_the_negated_interval(draws: list[int], value: int) -> None:
    plain = percentile_interval(value, np.array(draws, dtype=float), (0, 100))
    negated = percentile_interval(-value, -np.array(draws, dtype=float), (-100, 0))
    if plain.low is None or plain.high is None:
        assert (negated.low, negated.reason is None) == (None, False)
    else:
        assert negated.low == pytest.approx(-plain.high)
        assert negated.high == pytest.approx(-plain.low)


def test_1999_symmetric_draws_leave_out_the_first_and_the_last_49() -> None:
    draws = np.arange(1999, dtype=float)
    found = percentile_interval(999.0, draws)
    assert (found.low, found.high) == (49.0, 1949.0)  # the 50th and the 1,950th


def test_order_does_not_matter_and_null_draws_are_counted() -> None:
    draws = np.concatenate([np.arange(500.0), np.full(20, np.nan)])
    found = percentile_interval(250.0, draws)
    assert found == percentile_interval(250.0, draws[::-1])
    assert (found.draws, found.left_out) == (500, 20)
    assert found.notes == ("The metric is null in 20 of 520 resamples, which do not count.",)


def test_a_biased_bootstrap_shifts_the_percentiles_and_clips_them_to_the_range() -> None:
    draws = np.linspace(0.5, 0.9, 1999)  # mean 0.7, standard error 0.1155
    found = percentile_interval(0.75, draws, (0.0, 1.0))
    assert found.method == "shifted percentile bootstrap"
    assert found.bias == pytest.approx(-0.05)
    assert found.low == pytest.approx(0.5 + 0.1 + 0.4 * 49 / 1998)
    assert found.high == pytest.approx(1.0 - 0.4 * 49 / 1998)
    assert percentile_interval(0.75, draws, (0.0, 0.95)).high == 0.95
    assert "shifted" in found.notes[-1]


def test_where_resampling_moves_the_value_too_far_there_is_no_interval() -> None:
    found = percentile_interval(0.95, np.linspace(0.5, 0.9, 1999))
    assert (found.low, found.high) == (None, None)
    assert found.reason is not None
    assert found.reason.startswith("Resampling moves the value by -0.25")
    constant = percentile_interval(0.5, np.full(1999, 0.75))
    assert (constant.low, constant.reason is not None) == (None, True)


def test_an_interval_without_width_has_a_note() -> None:
    found = percentile_interval(1.0, np.ones(1999))
    assert (found.low, found.high) == (1.0, 1.0)
    assert "not certainty" in found.notes[0]


@for_each(
    "value, draws",
    [(float("nan"), [1.0] * 200), (1.0, []), (1.0, [0.5] * 99), (1.0, [float("nan")] * 300 + [1.0] * 150)],
)
def test_without_enough_values_there_is_a_reason(value: float, draws: list[float]) -> None:
    found = percentile_interval(value, np.array(draws))
    assert (found.low, found.high) == (None, None)
    assert found.reason
    assert found.to_dict()["reason"] == found.reason


def test_it_covers_the_mean_of_skewed_values_as_often_as_scipy() -> None:
    generator = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        sample = generator.exponential(size=60)
        draws = sample[generator.integers(0, 60, size=(999, 60))].mean(axis=1)
        found = percentile_interval(float(sample.mean()), draws)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1 <= found.high
        theirs = np.percentile(draws, [2.5, 97.5])
        assert found.low == pytest.approx(theirs[0], abs=0.12)
        assert found.high == pytest.approx(theirs[1], abs=0.12)
    assert 176 <= covered <= 196


def test_draws_that_equal_the_value_but_for_rounding_count_half() -> None:
    random = np.random.default_rng(4)
    value, draws = 0.3, random.integers(0, 7, 999) / 10
    noisy = draws + random.choice([-1, 1], 999) * 2.0**-53
    exact, found = percentile_interval(value, draws), percentile_interval(value, noisy)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_the_unit_of_the_values_does_not_matter() -> None:
    draws = np.random.default_rng(5).exponential(size=999)
    plain, small = percentile_interval(1.0, draws), percentile_interval(1e-15, draws * 1e-15)
    assert plain.low is not None
    assert plain.high is not None
    assert (small.low, small.high) == pytest.approx((plain.low * 1e-15, plain.high * 1e-15), rel=1e-9)
