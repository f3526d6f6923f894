"""Item analysis of a board with many systems, beside reading their predictions, with which every analysis begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from app.formats import Limits, ReadingRules
from app.pipeline import Gold, predicted_case
from app.prepared.gold_source import GoldSource
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring_processes.item_requests import AnalyzeItems, ItemSystem, TryRelabelling
from app.worker.items import analyze_items, try_relabelling
from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.measure import timed
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes

INSTANCES, CLASSES, RELABELLED = 10_000, 10, 12
FEW, GROWTH = 4, 5
PARTS = {"items": "instances", "agreement": "agreement", "near_duplicates": "near-duplicates"}
MOST_SECONDS = 20.0  # of CPU time, which an analysis may take
MOST_GROWTH = 1.5


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure CPU time of each analysis, and of one of few systems on more instances."""
    found, n = Measured(), min(INSTANCES, sizes.records)
    board = _Board.of(folder / "many", n, sizes.board)
    ways: dict[str, Callable[[], object]] = {"the predictions read": board.read}
    ways |= {f"assay, {name}": partial(board.analyze, part) for part, name in PARTS.items()}
    ways[f"assay, {RELABELLED} instances relabelled"] = board.relabel
    spent = timed(ways, repetitions=sizes.repetitions)
    work = f"item analysis of {sizes.board:,} systems, {n:,} instances"
    found.ways(work, spent, "ms")
    found.at_most(
        f"{work}: the slowest, which may take {MOST_SECONDS:g} s", MOST_SECONDS, max(spent.values()) / 1000, "s"
    )

    _measure_growth(found, sizes, folder, n)
    return found


def _measure_growth(found: Measured, sizes: Sizes, folder: Path, n: int) -> None:
    """A thousand instances among more of them: what is done for each must not look at all of them."""
    few = {size: _Board.of(folder / str(size), size, FEW) for size in (n, GROWTH * n)}
    ways = {f"assay, {size:,} instances": partial(board.analyze, "items") for size, board in few.items()}
    spent = timed(ways, repetitions=sizes.repetitions)
    of_thousand = {name: 1000 * spent[name] / size for name, size in zip(spent, few, strict=True)}
    found.ways(f"a thousand instances of {FEW} systems", of_thousand, "ms")
    smaller, larger = of_thousand.values()
    found.at_most(f"a thousand instances among {GROWTH} times as many", MOST_GROWTH, larger / smaller)


@dataclass(frozen=True)
class _Board:
    """The gold and the systems of a board, and a file for what is written about them."""

    gold: Gold
    recipe: ScoringRecipe
    systems: Sequence[ItemSystem]
    target: Path

    @classmethod
    def of(cls, folder: Path, instances: int, systems: int) -> "_Board":
        """Draw systems that are right on four of five instances, each by itself."""
        folder.mkdir(parents=True)
        drawn, chance = records.drawn(instances, CLASSES), np.random.default_rng(1)
        gold = records.loaded(records.as_columns(folder / "gold.json", drawn, gold=True), drawn.names)
        sent = []
        for number in range(systems):
            other = chance.integers(0, CLASSES, instances)
            predicted = np.where(chance.random(instances) < 0.8, drawn.truth, other)
            file = records.as_columns(folder / f"{number}.json", replace(drawn, predicted=predicted))
            sent.append(ItemSystem(f"system-{number}", f"team-{number}", file))
        recipe = parse_recipe(RECIPE, gold.spec.task)
        return cls(gold, recipe, sent, folder / "made")

    def read(self) -> None:
        """Read all predictions, one file after the other."""
        rules = ReadingRules.strictest(self.recipe.metrics, self.recipe.primary).of_accepted_file()
        for system in self.systems:
            predicted_case(self.gold, system.predictions, rules)

    def analyze(self, part: str) -> None:
        """Write a part of the analysis, as a scoring process does."""
        analyze_items(self.gold, self.recipe, AnalyzeItems(**self._asked(), part=part, target=self.target), Limits())

    def relabel(self) -> None:
        """Score all systems before and after a relabelling."""
        names = self.gold.spec.classes
        changes = [
            {"id": each, "labels": [names[at % len(names)]]} for at, each in enumerate(self.gold.ids[:RELABELLED])
        ]
        try_relabelling(self.gold, self.recipe, TryRelabelling(**self._asked(), changes=changes), Limits())

    def _asked(self) -> dict[str, Any]:
        return {"gold": GoldSource("gold"), "recipe": RECIPE, "split": "all", "systems": self.systems}
