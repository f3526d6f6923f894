"""How often a 95 % interval contains the true value, over classes, instances and balance."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.bootstrap_interval import Interval
from app.scoring.uncertainty.intervals import intervals
from benchmarks.simulation.populations import Balance, Population

ACCURACY = 0.7
METRICS = ("f1_macro", "f1_weighted", "mcc", "accuracy")


@dataclass(frozen=True, slots=True)
class Setting:
    """One population and a number of instances."""

    classes: int
    balance: Balance
    instances: int


GRID = tuple(
    Setting(classes, balance, instances)
    for classes in (2, 20, 50, 100)
    for balance in ("equal", "zipf")
    for instances in (100, 1_000, 5_000)
    if classes * instances <= 250_000
)


def simulate(setting: Setting, samples: int, seed: int) -> Iterator[dict[str, Any]]:
    """For each metric: the share of intervals that contain the true value, and how many had which method."""
    calls = [parse_metric(text, options={}, task="multiclass") for text in METRICS]
    population = Population.of(setting.classes, setting.balance, ACCURACY)
    random = np.random.Generator(np.random.PCG64(seed))
    tallies = {call.text: _Tally(population.true_value(call)) for call in calls}
    for at in range(samples):
        case = population.sample(random, setting.instances)
        for text, interval in _intervals(case, calls, draw_seed=f"{seed} {at}").items():
            tallies[text].add(interval)
    for text, tally in tallies.items():
        yield {**asdict(setting), "metric": text, "samples": samples, **tally.to_dict()}


def _intervals(case: EvaluationInput, calls: list[MetricCall], *, draw_seed: str) -> dict[str, Interval]:
    values = {text: result.value for text, result in evaluate(case, calls).items()}
    ids = [f"{row:06}" for row in range(case.gold.n)]
    return intervals(case, calls, values, ids, draw_seed=draw_seed, split="all")


@dataclass(slots=True)
class _Tally:
    truth: float
    covered: int = 0
    widths: list[float] = field(default_factory=list)
    methods: Counter[str] = field(default_factory=Counter)

    def add(self, interval: Interval) -> None:
        """Count one interval."""
        if interval.low is None or interval.high is None:
            self.methods["none"] += 1
            return
        self.methods[interval.method] += 1
        self.covered += interval.low <= self.truth <= interval.high
        self.widths.append(interval.high - interval.low)

    def to_dict(self) -> dict[str, Any]:
        """The figures of a row of the table."""
        width = round(float(np.mean(self.widths)), 4) if self.widths else None
        given = len(self.widths)
        return {"intervals": given, "covered": self.covered, "mean_width": width, "methods": dict(self.methods)}


def main() -> None:
    """Print a line for each setting and metric; with --json keep all of them."""
    parser = argparse.ArgumentParser(description="Measures how often intervals contain the true value.")
    parser.add_argument("--samples", type=int, default=500, help="samples of each population")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    options = parser.parse_args()
    rows = []
    for at, setting in enumerate(GRID):
        for row in simulate(setting, options.samples, options.seed + at):
            rows.append(row)
            print(json.dumps(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"seed": options.seed, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
