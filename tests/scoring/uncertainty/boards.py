"""Boards for tests: right and wrong answers, their draws, and a plain Romano-Wolf test written from the paper."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.scoring.uncertainty.draws import unit_draws
from app.scoring.uncertainty.pair_tests import McNemarTests
from app.scoring.uncertainty.rank_sets import Board
from app.scoring.uncertainty.seeds import derive_seed, random_source

Floats = NDArray[np.float64]


def right_and_wrong(rates: list[float], n: int, seed: int) -> NDArray[np.int64]:
    """Systems by instances of 0 and 1, by these rates."""
    generator = np.random.default_rng(seed)
    return (generator.random((len(rates), n)) < np.array(rates)[:, None]).astype(np.int64)


def board_of(right: NDArray[np.int64], *, draws: int = 999, seed: str = "") -> Board:
    """The board of accuracies of systems by instances."""
    n = right.shape[1]
    counts = unit_draws(random_source(derive_seed("0", "board", seed)), n, draws).astype(np.int64)
    return Board(
        right.sum(axis=1) / n,
        (right @ counts) / n,
        (right[:, None] != right[None]).sum(axis=2),
        n,
        confirm=McNemarTests(right),
    )


def large(board: Board) -> Board:
    """The same board, as if its sample were large: the bootstrap alone decides."""
    return replace(board, instances=2_000)


def plain_step_down(values: Floats, draws: Floats, allowed: NDArray[np.bool_]) -> set[tuple[int, int]]:
    """Romano & Wolf 2005, algorithm 4.2: all ordered pairs (better, worse) that are rejected at 5 %, step by step."""
    count = draws.shape[1]
    observed, centred = {}, {}
    for first in range(len(values)):
        for second in range(len(values)):
            if first != second and allowed[first, second]:
                differences = draws[first] - draws[second]
                error = float(np.std(differences, ddof=1))
                if error > 1e-12:
                    difference = values[first] - values[second]
                    observed[first, second] = difference / error
                    centred[first, second] = (differences - difference) / error
    rejected: set[tuple[int, int]] = set()
    family = set(observed)
    rank = math.floor((count + 1) / 20)
    while family and rank:
        largest = np.sort(np.max([centred[pair] for pair in family], axis=0))
        critical = max(0.0, largest[count - rank])
        newly = {pair for pair in family if observed[pair] > critical + 1e-12 * max(1, critical)}
        if not newly:
            break
        rejected |= newly
        family -= newly
    return rejected
