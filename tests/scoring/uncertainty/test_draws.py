"""Samplers: the numbers do not depend on blocks, and have the distributions that they claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.scoring.uncertainty.draws import cell_draws, swap_draws, unit_draw_blocks, unit_draws
from app.scoring.uncertainty.seeds import RandomSource, derive_seed, random_source


def source(name: str = "") -> RandomSource:
    return random_source(derive_seed("0", "interval", name))


@given(st.integers(1, 40), st.integers(0, 30), st.integers(1, 31))
def test_blocks_of_any_size_have_the_same_numbers(units: int, draws: int, block: int) -> None:
    whole = unit_draws(source(), units, draws)
    assert whole.shape == (units, draws)
    parts = list(unit_draw_blocks(source(), units, draws, block))
    assert np.array_equal(np.concatenate([np.empty((units, 0), whole.dtype), *parts], axis=1), whole)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6).filter(any), st.integers(1, 9), st.integers(1, 9))
def test_draws_of_cells_continue_the_stream(counts: list[int], first: int, second: int) -> None:
    cells = np.array(counts)
    for sampler in (cell_draws, swap_draws):
        random = source()
        parts = [sampler(random, cells, first), sampler(random, cells, second)]
        assert np.array_equal(np.concatenate(parts, axis=1), sampler(source(), cells, first + second))


def test_large_tables_are_made_in_steps_that_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([1, 70, 0, 5])
    whole = unit_draws(source(), 7, 50), swap_draws(source(), counts, 50)
    monkeypatch.setattr("app.scoring.uncertainty.draws._BLOCK_NUMBERS", 20)
    assert np.array_equal(unit_draws(source(), 7, 50), whole[0])
    assert np.array_equal(swap_draws(source(), counts, 50), whole[1])


def test_every_draw_has_as_many_instances_as_there_are() -> None:
    assert (unit_draws(source(), 13, 50).sum(axis=0) == 13).all()
    assert (cell_draws(source(), np.array([3, 0, 10]), 50).sum(axis=0) == 13).all()
    assert (cell_draws(source(), np.array([3, 0, 10]), 50)[1] == 0).all()
    assert cell_draws(source(), np.array([0, 0]), 3).tolist() == [[0] * 3] * 2


def test_more_units_than_uint16_can_count_get_wider_numbers() -> None:
    assert unit_draws(source(), 65_535, 1).dtype == np.uint16
    assert unit_draws(source(), 65_536, 1).dtype == np.uint32


def test_cells_have_the_distribution_of_instances_drawn_one_by_one() -> None:
    counts = np.array([5, 40, 155])
    cells = cell_draws(source("cells"), counts, 4_000)
    units = unit_draws(source("units"), 200, 4_000)
    merged = np.add.reduceat(units.astype(np.int64), [0, 5, 45], axis=0)
    for cell in range(3):
        assert stats.ks_2samp(cells[cell], merged[cell]).pvalue > 0.01
        assert np.isclose(cells[cell].var(), counts[cell] * (1 - counts[cell] / 200), rtol=0.1)
    weights = np.array([1, 2, 5])
    assert stats.ks_2samp(weights @ cells, weights @ merged).pvalue > 0.01


def test_swaps_are_binomial_with_probability_one_half() -> None:
    counts = np.array([1, 9, 64, 500])
    drawn = swap_draws(source("swaps"), counts, 4_000)
    for row, count in zip(drawn, counts, strict=True):
        values = np.arange(count + 1)
        expected = stats.binom.pmf(values, count, 0.5) * 4_000
        seen = np.bincount(row, minlength=count + 1)
        kept = expected > 5
        pooled = np.append(seen[kept], seen[~kept].sum()), np.append(expected[kept], expected[~kept].sum())
        usable = pooled[1] > 0
        assert stats.chisquare(pooled[0][usable], pooled[1][usable]).pvalue > 0.01
