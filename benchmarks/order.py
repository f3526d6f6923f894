"""Rank sets of whole boards and `assay order`, compared with the same tests written plainly in numpy."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.analysis.order.matrix import ResultMatrix, read_matrix
from app.analysis.order.order_report import order_systems
from app.scoring.uncertainty.draws import unit_draws
from app.scoring.uncertainty.rank_sets import Board, rank_sets
from app.scoring.uncertainty.seeds import derive_seed, random_source
from benchmarks.figures import Measured
from benchmarks.measure import Way, timed
from benchmarks.sizes import Sizes

Floats = NDArray[np.float64]
PLAIN = "numpy, all pairs at once, step by step"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure the order of a table of right and wrong, one of values, and the pairs of a board with given draws."""
    del folder
    tiny = sizes.board_teams[0] < 10
    systems, instances, draws = (8, 60, 199) if tiny else (134, 500, 10_000)
    found = Measured()
    for kind in ("right or wrong", "values"):
        text = _csv(systems, instances, is_right=kind == "right or wrong")
        ways: dict[str, Way] = {
            "assay order": partial(_order, text),
            "the draws of all means in numpy": partial(_plain_draws, read_matrix(text), draws),
        }
        spent = timed(ways, repetitions=sizes.repetitions)
        found.ways(f"{systems} systems, {instances} instances, {kind}", spent, "ms")
        found.at_most(
            f"order of {systems} systems, {instances} instances, {kind}", 10, spent["assay order"] / 1000, "s"
        )
    teams = 5 if tiny else 100
    board = _board(teams, draws)
    ways = {"rank sets": partial(rank_sets, board), PLAIN: partial(_plain_step_down, board.values, board.draws)}
    spent = timed(ways, repetitions=sizes.repetitions, once={PLAIN})
    found.ways(f"{teams} teams, {draws:,} draws, all pairs", spent, "ms")
    found.at_most(f"rank sets of {teams} teams, {draws:,} draws", 10, spent["rank sets"] / 1000, "s")
    return found


def _csv(systems: int, instances: int, *, is_right: bool) -> str:
    generator = np.random.default_rng(0)
    values = np.linspace(0.75, 0.2, systems)[:, None] + generator.normal(0, 0.2, (systems, instances))
    if is_right:
        values = (generator.random(values.shape) < values).astype(int)
    lines = [",".join(["system", *(f"i{at}" for at in range(instances))])]
    lines += [",".join([f"s{at}", *map(str, row.tolist())]) for at, row in enumerate(values)]
    return "\n".join(lines)


def _order(text: str) -> object:
    return order_systems(read_matrix(text))


def _plain_draws(table: ResultMatrix, draws: int) -> Floats:
    generator = np.random.default_rng(0)
    n = table.values.shape[1]
    weights = generator.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
    means: Floats = table.values @ weights.T / n
    return means


def _board(teams: int, draws: int) -> Board:
    generator = np.random.default_rng(0)
    right = (generator.random((teams, 2_000)) < np.linspace(0.9, 0.6, teams)[:, None]).astype(np.float64)
    counts = unit_draws(random_source(derive_seed("0", "board")), 2_000, draws).astype(np.float64)
    differing = np.array([(right != row).sum(axis=1) for row in right])
    return Board(right.mean(axis=1), right @ counts / 2_000, differing, 2_000)


def _plain_step_down(values: Floats, draws: Floats) -> int:
    """Romano-Wolf over all ordered pairs, with an array of pairs by draws; the number of rejected hypotheses."""
    first, second = np.triu_indices(len(values), 1)
    table = draws[first] - draws[second]
    errors = table.std(axis=1, ddof=1)
    differences = values[first] - values[second]
    table = np.concatenate([(table - differences[:, None]) / errors[:, None]] * 2)
    table[len(errors) :] *= -1
    statistics = np.concatenate([differences / errors, -differences / errors])
    left = np.ones(len(statistics), dtype=bool)
    while left.any():
        newly = left & (statistics > np.quantile(table[left].max(axis=0), 0.95))
        if not newly.any():
            break
        left &= ~newly
    return int((~left).sum())
