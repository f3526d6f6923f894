"""The requests of item analysis: how systems answer each instance, and what a relabelling would move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.pipeline import SourceFile
from app.prepared.gold_source import GoldSource

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ItemSystem:
    """A system of an item analysis: the stored predictions of a submission; `key` is its id."""

    key: str
    team: str
    predictions: SourceFile
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class AnalyzeItems:
    """Analyse the answers of systems instance by instance; the reply is FileWritten or a Refusal.

    `part` is `items` (JSON Lines: the summary, then one instance a line in the order `sort`; or CSV), `agreement` or
    `near_duplicates` (one JSON object).
    """

    gold: GoldSource
    recipe: JsonObject
    split: str
    systems: Sequence[ItemSystem]
    part: str
    target: Path
    sort: str = "suspicion"
    select: str = "all"
    as_csv: bool = False


@dataclass(frozen=True, slots=True)
class TryRelabelling:
    """Score systems before and after some changes of the gold; the reply is an AnalysisResult or a Refusal."""

    gold: GoldSource
    recipe: JsonObject
    split: str
    systems: Sequence[ItemSystem]
    changes: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class WriteCorrectedGold:
    """Write the gold with some changes, or the list of changes, to `target`; the reply is FileWritten or a Refusal."""

    gold: GoldSource
    changes: Sequence[JsonObject]
    form: str
    """`gold` (JSON Lines), or the changes alone as `jsonl` or `csv`."""
    target: Path
