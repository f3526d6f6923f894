"""Scores of one system."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.scoring.uncertainty.bootstrap_interval import Interval
from assay.inputs import Settings, Table, score_tables


@dataclass(frozen=True, slots=True)
class Scores(Mapping[str, Any]):
    """The value of each metric by the string that asked for it; None where the data define none.

    `reasons` says why a value is None, `notes` which conventions mattered. `intervals` is empty unless they were asked
    for. `data` holds what is not a single number, such as a curve or a table.
    """

    task: str
    instances: int
    classes: tuple[str, ...]
    values_by_metric: Mapping[str, float | None]
    reasons: Mapping[str, str]
    notes: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> float | None:
        return self.values_by_metric[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_metric)

    def __len__(self) -> int:
        return len(self.values_by_metric)


def score(
    gold: Table,
    predictions: Table,
    *,
    metrics: Sequence[str] | None = None,
    task: str | None = None,
    positive_label: str | None = None,
    classes: Sequence[Any] | None = None,
    options: Mapping[str, Any] | None = None,
    void: Sequence[Any] = (),
    ci: bool = False,
    draw_seed: str | int = "0",
    **metadata: Any,
) -> Scores:
    """Score predictions against gold; without `metrics`, by all that fit the data.

    Gold and predictions are lists, arrays, mappings from ids, or data frames (`assay.inputs.Table`). Further arguments
    are gold metadata: `folds`, `groups`, `train_frequencies`, `class_weights`, `hierarchy`, `cost_matrix`,
    `unknown_cells`. With `ci` each score has a 95 % interval. Raises InvalidInput.
    """
    settings = Settings(metrics, task, positive_label, classes, options or {}, void, metadata)
    (outcome,) = score_tables(gold, [predictions], settings)
    assert outcome.case is not None
    results = outcome.scores["all"]
    found = outcome.intervals(outcome.calls, str(draw_seed))["all"] if ci else {}
    notes = [*outcome.notes]
    for call in outcome.calls:
        notes += [f"{call.requested}: {note}" for note in results[call.text].notes]
    return Scores(
        task=outcome.case.spec.task,
        instances=outcome.case.gold.n,
        classes=tuple(outcome.case.spec.classes),
        values_by_metric={call.requested: results[call.text].value for call in outcome.calls if call.metric.scalar},
        reasons={
            call.requested: str(results[call.text].reason)
            for call in outcome.calls
            if results[call.text].value is None and results[call.text].data is None
        },
        notes=tuple(dict.fromkeys(notes)),
        data={call.requested: results[call.text].data for call in outcome.calls if not call.metric.scalar},
        intervals={call.requested: found[call.text] for call in outcome.calls if call.text in found},
    )
