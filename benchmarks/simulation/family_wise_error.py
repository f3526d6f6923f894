"""How often a board of equally good systems shows any difference at 5 %, with the bootstrap alone and with exact tests.

Run `python -m benchmarks.simulation.family_wise_error --json docs/family_wise_error.json`; the figures are in
docs/uncertainty.md.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.uncertainty.board import board_draws, board_of
from app.scoring.uncertainty.board_tests import BoardTests
from app.scoring.uncertainty.draws import unit_draws
from app.scoring.uncertainty.pair_tests import McNemarTests, SignFlipTests
from app.scoring.uncertainty.rank_sets import Board, rank_sets
from app.scoring.uncertainty.seeds import RandomSource, derive_seed, random_source
from benchmarks.simulation.populations import Population

DRAWS = 1_999
SEED = 20_26
_EVERY_SAMPLE_IS_LARGE = 10**9


@dataclass(frozen=True, slots=True)
class Setting:
    """A kind of board: what is measured, and its size. `groups` is None where instances are drawn one by one."""

    metric: str
    teams: int
    instances: int
    groups: int | None = None
    classes: int | None = None


_FIELDS = tuple(Setting.__dataclass_fields__)
GRID = (
    *(Setting("accuracy", teams, n) for teams in (10, 30) for n in (100, 300, 1_000, 2_000)),
    *(Setting("accuracy", teams, groups * 20, groups=groups) for teams in (10, 30) for groups in (10, 50, 100, 1_000)),
    *(Setting("mean", teams, n) for teams in (10, 30) for n in (100, 1_000)),
    *(Setting("f1_macro", teams, n, classes=20) for teams in (10, 30) for n in (100, 300, 1_000, 2_000)),
)


def make_board(setting: Setting, generator: np.random.Generator, run: int) -> Board:
    """A board of exchangeable systems, so that every difference that it shows is an error."""
    source = random_source(derive_seed(str(run), "board", setting.metric))
    if setting.metric == "f1_macro":
        return _macro_f1(setting, generator, run)
    values = _values(setting, generator)
    if setting.groups is not None:
        return _board_of_totals(values.reshape(setting.teams, setting.groups, -1).sum(axis=2), setting, source)
    board = _board_of_totals(values, setting, source)
    return replace(board, confirm=McNemarTests(values.astype(np.int64))) if setting.metric == "accuracy" else board


def _values(setting: Setting, generator: np.random.Generator) -> NDArray[np.float64]:
    """Teams by instances; instances are easy or hard for all, and with groups each team has easy and hard groups."""
    shape = setting.teams, setting.instances
    if setting.metric == "mean":
        return generator.exponential(1.0, shape) + generator.exponential(1.0, setting.instances)
    rates = generator.beta(2.1, 0.9, setting.instances)
    if setting.groups is not None:
        size = setting.instances // setting.groups
        logits = np.log(rates / (1 - rates))
        rates = 1 / (
            1 + np.exp(-(logits + np.repeat(generator.normal(0, 1, (setting.teams, setting.groups)), size, 1)))
        )
    return (generator.random(shape) < rates).astype(np.float64)


def _board_of_totals(totals: NDArray[np.float64], setting: Setting, source: RandomSource) -> Board:
    counts = unit_draws(source, totals.shape[1], DRAWS).astype(np.float64)
    return Board(
        totals.sum(axis=1) / setting.instances,
        totals @ counts / setting.instances,
        np.array([(totals != row).sum(axis=1) for row in totals]),
        setting.instances,
        groups=setting.groups,
        confirm=SignFlipTests(totals, derive_seed("0", "pair", setting.metric)),
    )


def _macro_f1(setting: Setting, generator: np.random.Generator, run: int) -> Board:
    """Labels over Zipf classes: of each instance the systems have 70 % right, and else guess by the shares."""
    assert setting.classes is not None
    population, call = (
        Population.of(setting.classes, "zipf", 0.7),
        parse_metric("f1_macro", options={}, task="multiclass"),
    )
    shares = population.probabilities.sum(axis=1)
    gold = generator.choice(setting.classes, setting.instances, p=shares).astype(np.int32)
    guesses = generator.choice(setting.classes, (setting.teams, setting.instances), p=shares).astype(np.int32)
    labels = np.where(generator.random(guesses.shape) < 0.7, gold, guesses)
    cases = [EvaluationInput(population.spec, Labels(gold), Labels(row)) for row in labels]
    results = [evaluate(case, [call])[call.text].value for case in cases]
    draws = board_draws(cases, [call], derive_seed(str(run), "board", "all", call.text), DRAWS)[call.text]
    ids = [f"{row:06}" for row in range(setting.instances)]
    tests = BoardTests(cases, ids, call, draw_seed=str(run), split="all")
    return board_of(cases, call, results, draws, tests.test)


def simulate(
    setting: Setting, runs: int, make: Callable[[Setting, np.random.Generator, int], Board] = make_board
) -> dict[str, Any]:
    """The numbers of boards, of `runs`, that show any difference: by the bootstrap alone, and by the rank sets."""
    generator = np.random.Generator(np.random.PCG64([SEED, *map(ord, repr(setting))]))
    alone = ruled = 0
    for run in range(runs):
        board = make(setting, generator, run)
        large = replace(board, instances=_EVERY_SAMPLE_IS_LARGE, groups=None, rare_classes=False, confirm=None)
        if rank_sets(large).better.any():
            alone += 1
            ruled += bool(rank_sets(board).better.any())
    return {**asdict(setting), "runs": runs, "bootstrap_alone": alone, "rank_sets": ruled}


def main(words: Sequence[str] | None = None) -> None:
    """Simulate the grid and print it, or store it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--metric", choices=sorted({setting.metric for setting in GRID}))
    parser.add_argument("--instances", type=int, help="only settings with so many")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(words)
    rows: list[dict[str, Any]] = []
    for setting in GRID:
        if options.metric in {None, setting.metric} and options.instances in {None, setting.instances}:
            start = time.perf_counter()
            rows.append(simulate(setting, options.runs))
            if options.json is not None:
                _store(options.json, rows)
            print(rows[-1], f"{time.perf_counter() - start:.0f} s", flush=True)


def _store(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Store rows in the order of the grid; those of settings that were not simulated now stay."""
    before = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    by_setting = {Setting(**{name: row[name] for name in _FIELDS}): row for row in [*before, *rows]}
    kept = [by_setting[setting] for setting in GRID if setting in by_setting]
    head = {"draws": DRAWS, "seed": SEED, "level": 0.05}
    path.write_text(json.dumps({**head, "rows": kept}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
