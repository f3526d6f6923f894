"""Labels and scores as Python objects, written to files that the scorer reads with all its checks."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cli.input.gold_and_predictions import metric_chooser, wants_scores
from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.offline import Choose, OfflineOutcome, score_systems_offline
from app.pipeline import SourceFile, infer_task

Table = Any
"""Labels or scores of instances.

- A list, tuple or one-dimensional array: one label each, or a list of labels each. Instances are known by position.
- A mapping from ids to labels, lists of labels, or mappings from classes to scores.
- A two-dimensional array of scores, instances by `classes`.
- A data frame (pandas, polars, an Arrow table): a column `id` if there is one, `label`, `labels`, or a column
  of scores per class. A series: by position.
"""


class InvalidInput(ValueError):
    """Gold or predictions that the scorer refuses; `problems` has each with its code and a sentence."""

    def __init__(self, what: str, problems: Mapping[str, Any]) -> None:
        self.problems = list(problems["problems"])
        sentences = [str(problem.get("message") or problem["code"]) for problem in self.problems[:3]]
        super().__init__(f"The {what} cannot be used: {' '.join(sentences)}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known of the task besides gold and predictions; the options are those of `assay score`."""

    metrics: Sequence[str] | None = None
    task: str | None = None
    positive_label: str | None = None
    classes: Sequence[Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    void: Sequence[Any] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def chooser(self) -> Choose:
        """Returns the metrics for the task and what the data meet."""
        return metric_chooser(self.metrics or (), self.option_texts())

    def option_texts(self) -> dict[str, str]:
        """The conventions as texts."""
        return {name: _option_text(value) for name, value in self.options.items()}


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def score_tables(gold: Table, predictions: Sequence[Table], settings: Settings) -> list[OfflineOutcome]:
    """The outcomes of several systems on one gold; raises InvalidInput for the first problems."""
    classes = None if settings.classes is None else [_text(name) for name in settings.classes]
    with _written([gold, *predictions], classes) as (gold_file, *files):
        task: Any = settings.task or infer_task(gold_file, settings.positive_label)
        outcomes = score_systems_offline(
            gold_file,
            files,
            settings.chooser(),
            task=task,
            classes=classes,
            positive_label=None if settings.positive_label is None else _text(settings.positive_label),
            metadata=_metadata(settings.metadata, gold),
            void=[_text(name) for name in settings.void],
            wants_scores=wants_scores(settings.metrics or ()),
            options=settings.option_texts(),
        )
    for outcome in outcomes:
        _refuse("gold", outcome.gold_problems)
        _refuse("predictions", outcome.problems)
    return outcomes


def _refuse(what: str, problems: Problems) -> None:
    if problems:
        raise InvalidInput(what, problems.to_dict())


def _metadata(given: Mapping[str, Any], gold: Table) -> dict[str, Any]:
    """Folds and groups may also be given by position, like the gold."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        by_id = value if isinstance(value, Mapping) else dict(zip(_ids(gold), _items(value), strict=True))
        if name in {"folds", "groups"}:
            by_id = {_text(key): _text(part) for key, part in by_id.items()}
        found[name] = by_id
    return found


@contextmanager
def _written(tables: Sequence[Table], classes: Sequence[str] | None) -> Iterator[list[SourceFile]]:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        files = []
        for at, table in enumerate(tables):
            path = Path(folder) / f"{at}.json"
            path.write_text(json.dumps(_columns(table, classes), default=_plain), encoding="utf-8")
            files.append(SourceFile(path, FileKind("json")))
        yield files


def _columns(table: Table, classes: Sequence[str] | None) -> Any:
    """The JSON of a table: records for scores by class, else columns."""
    if hasattr(table, "columns"):
        return _frame(table)
    if isinstance(table, Mapping):
        values = list(table.values())
        if values and all(isinstance(value, Mapping) for value in values):
            return [{"id": _text(name), "scores": dict(value)} for name, value in table.items()]
        return {"ids": _ids(table), "labels": [_label(value) for value in values]}
    values = _items(table)
    if getattr(table, "ndim", 1) == 2:
        if classes is None:
            raise ValueError("A matrix of scores needs `classes`, the names of its columns.")
        return {"ids": _ids(table), "classes": list(classes), "scores": values}
    return {"ids": _ids(table), "labels": [_label(value) for value in values]}


def _frame(frame: Any) -> Any:
    columns = {str(name): _items(frame[name]) for name in _column_names(frame)}
    size = len(next(iter(columns.values()), []))
    ids = [_text(value) for value in columns.pop("id", range(size))]
    for name in ("labels", "label"):
        if name in columns:
            return {"ids": ids, "labels": [_label(value) for value in columns[name]]}
    rows = zip(*columns.values(), strict=True)
    return {"ids": ids, "classes": list(columns), "scores": [list(row) for row in rows]}


def _column_names(frame: Any) -> list[Any]:
    """The names of the columns: Arrow keeps them apart from the columns."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _ids(table: Table) -> list[str]:
    if isinstance(table, Mapping):
        return [_text(name) for name in table]
    if hasattr(table, "columns") and "id" in map(str, _column_names(table)):
        return [_text(value) for value in _items(table["id"])]
    return [str(at) for at in range(len(table))]


def _items(values: Any) -> list[Any]:
    """The values as Python objects: of a list, an array or a series."""
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _label(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, set, frozenset)) or getattr(value, "ndim", 0) == 1:
        return [_plain(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else _items(value))]
    return _plain(value)


def _text(value: Any) -> str:
    return str(_plain(value))


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; everything else stays, and the reader checks it."""
    return value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
