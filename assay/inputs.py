"""Labels and scores as Python objects, written to files that the scorer reads with all its checks."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cli.input.gold_and_predictions import metric_chooser, wants_scores
from app.cli.terminal.output import CommandError
from app.errors import AssayError
from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.gold_metadata import GOLD_METADATA
from app.offline import Choose, OfflineOutcome, score_systems_offline
from app.pipeline import SourceFile, infer_task
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.scoring.declaration.metric_syntax import pluralize

METADATA = frozenset(kind.field for kind in GOLD_METADATA)
"""The names of what may accompany the gold, such as groups."""
_SHOWN = 3

Table = Any
"""Labels or scores of instances.

- A list, tuple or one-dimensional array: one label each, or a list of labels each. Instances are known by position.
- A mapping from ids to labels, lists of labels, or mappings from classes to scores.
- A two-dimensional array of scores, instances by `classes`.
- A data frame (pandas, polars, an Arrow table): a column `id` if there is one, `label`, `labels`, or a column
  of scores per class. A series: by position.
"""


class InvalidInput(ValueError):
    """What the scorer refuses, and how to mend it; `problems` has each fault of a table with its code and place."""

    def __init__(self, message: str, problems: Sequence[Mapping[str, Any]] = ()) -> None:
        self.problems = list(problems)
        super().__init__(message)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what the scorer raises for its own commands into InvalidInput."""
    try:
        yield
    except AssayError as error:
        raise InvalidInput(f"{error.detail} {error.advice}") from error
    except CommandError as error:
        raise InvalidInput(f"{error} {error.document.get('remedy', '')}".strip()) from error


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
        return metric_chooser(self.metric_names(), self.option_texts())

    def metric_names(self) -> Sequence[str]:
        """The metrics; a text is one metric."""
        return [self.metrics] if isinstance(self.metrics, str) else self.metrics or ()

    def option_texts(self) -> dict[str, str]:
        """The conventions as texts."""
        return {name: _option_text(value) for name, value in self.options.items()}


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def score_tables(gold: Table, predictions: Sequence[Table], settings: Settings) -> list[OfflineOutcome]:
    """The outcomes of several systems on one gold; raises InvalidInput for the first problems."""
    classes = None if settings.classes is None else [text_of(name) for name in settings.classes]
    for table in (gold, *predictions):
        _refuse_no_table(table)
    for table in predictions:
        _refuse_other_order(gold, table)
    with refusals(), _written([gold, *predictions], classes) as (gold_file, *files):
        task: Any = settings.task or infer_task(gold_file, settings.positive_label)
        outcomes = score_systems_offline(
            gold_file,
            files,
            settings.chooser(),
            task=task,
            classes=classes,
            positive_label=None if settings.positive_label is None else text_of(settings.positive_label),
            metadata=_metadata(settings.metadata, gold),
            void=[text_of(name) for name in settings.void],
            wants_scores=wants_scores(settings.metric_names()),
            options=settings.option_texts(),
        )
    for outcome in outcomes:
        _refuse("gold", outcome.gold_problems)
        _refuse("predictions", outcome.problems)
    return outcomes


def _refuse(what: str, problems: Problems) -> None:
    if not problems:
        return
    found = problems.to_dict()
    places: dict[str, list[str]] = {}
    for problem in found["problems"]:
        message = str(problem.get("message") or problem["code"])
        place = f"instance '{problem['instance_id']}'" if "instance_id" in problem else problem.get("pointer", "")
        is_named = f'"{problem.get("instance_id")}"' in message
        places.setdefault(message, []).append("" if is_named else place)
    sentences = " ".join(_place(message, places[message]) for message in list(places)[:_SHOWN])
    faults = sum(found["total"].values())
    count = f" ({faults:,} faults)" if faults > 1 else ""
    raise InvalidInput(f"The {what} cannot be used{count}: {sentences}", found["problems"])


def _place(message: str, places: Sequence[str]) -> str:
    shown = [place for place in places if place][:_SHOWN]
    more = ", …" if shown and len(places) > len(shown) else ""
    return f"{message} (at {', '.join(shown)}{more})" if shown else message


def _refuse_no_table(table: Table) -> None:
    """Refuse what has no instances; a text would count as a list of letters."""
    if isinstance(table, (str, bytes, Path)) or not hasattr(table, "__len__"):
        kinds = "a list, an array, a series, a mapping from ids or a data frame"
        remedy = f"Give {kinds}; the command line reads files."
        raise InvalidInput(f"Gold and predictions cannot be {type(table).__name__}: {str(table)[:40]!r}. {remedy}")


def _refuse_other_order(gold: Table, table: Table) -> None:
    """Refuse series and frames that would be matched by position although their index says otherwise."""
    wanted, given = index_of(gold), index_of(table)
    if wanted is None or given is None or wanted == given:
        return
    if sorted(map(text_of, wanted)) == sorted(map(text_of, given)):
        detail = "Gold and predictions have the same index in another order, and would be matched by position."
        raise InvalidInput(f"{detail} Reorder one: predictions.reindex(gold.index); or give frames with a column id.")


def index_of(table: Table) -> list[Any] | None:
    """The index of a pandas series, or of a frame without ids; None for all else."""
    index = getattr(table, "index", None)
    if index is None or callable(index) or (hasattr(table, "columns") and "id" in map(str, column_names(table))):
        return None
    return items(index)


def _metadata(given: Mapping[str, Any], gold: Table) -> dict[str, Any]:
    """Folds and groups may also be given by position, like the gold."""
    found: dict[str, Any] = {}
    unknown = sorted(given.keys() - METADATA)
    if unknown:
        raise TypeError(f"There is no argument '{unknown[0]}'. Metadata of the gold are {', '.join(sorted(METADATA))}.")
    for name, value in given.items():
        if value is None:
            continue
        if name in {"folds", "groups"}:
            by_id = value if isinstance(value, Mapping) else by_position(name, value, _ids(gold))
            content = parts_by_id(by_id)
        else:
            content = value
        kind = GOLD_METADATA_KINDS[name.replace("_", "-")]
        with refusals():
            found[name] = kind.parse(json.loads(json.dumps(content, default=_json)))
    return found


def parts_by_id(given: Mapping[Any, Any]) -> dict[str, str | None]:
    """Groups or folds by id; None for a missing one, which is refused later with its place."""
    return {text_of(key): None if _is_missing(part) else text_of(part) for key, part in given.items()}


def _is_missing(value: Any) -> bool:
    """Whether it is None, NaN or a missing value of pandas, which all differ from themselves or have no answer."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124 - NaN is the value that is not itself
    except TypeError:
        return True


def by_position(name: str, values: Any, ids: Sequence[str]) -> dict[str, Any]:
    """What is given in the order of the instances, by their ids."""
    listed = items(values)
    if len(listed) != len(ids):
        detail = f"`{name}` has {pluralize(len(listed), 'value')} for {pluralize(len(ids), 'instance')}."
        raise InvalidInput(f"{detail} Give one for each instance, in their order, or a mapping from ids.")
    return dict(zip(ids, listed, strict=True))


@contextmanager
def _written(tables: Sequence[Table], classes: Sequence[str] | None) -> Iterator[list[SourceFile]]:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        files = []
        for at, table in enumerate(tables):
            path = Path(folder) / f"{at}.json"
            path.write_text(json.dumps(_columns(table, classes), default=_json), encoding="utf-8")
            files.append(SourceFile(path, FileKind("json")))
        yield files


def _columns(table: Table, classes: Sequence[str] | None) -> Any:
    """The JSON of a table: records for scores by class, else columns."""
    if hasattr(table, "columns"):
        return _frame(table)
    if isinstance(table, Mapping):
        values = list(table.values())
        if values and all(isinstance(value, Mapping) for value in values):
            return [{"id": text_of(name), "scores": dict(value)} for name, value in table.items()]
        return {"ids": _ids(table), "labels": [_label(value) for value in values]}
    values = items(table)
    if getattr(table, "ndim", 1) == 2:
        if classes is None:
            raise InvalidInput("A matrix of scores needs `classes`, the names of its columns.")
        return {"ids": _ids(table), "classes": list(classes), "scores": values}
    return {"ids": _ids(table), "labels": [_label(value) for value in values]}


def _frame(frame: Any) -> Any:
    columns = {str(name): items(frame[name]) for name in column_names(frame)}
    size = len(next(iter(columns.values()), []))
    ids = [text_of(value) for value in columns.pop("id", range(size))]
    for name in ("labels", "label"):
        if name in columns:
            return {"ids": ids, "labels": [_label(value) for value in columns[name]]}
    rows = zip(*columns.values(), strict=True)
    return {"ids": ids, "classes": list(columns), "scores": [list(row) for row in rows]}


def column_names(frame: Any) -> list[Any]:
    """The names of the columns: Arrow keeps them apart from the columns."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _ids(table: Table) -> list[str]:
    if isinstance(table, Mapping):
        return [text_of(name) for name in table]
    if hasattr(table, "columns") and "id" in map(str, column_names(table)):
        return [text_of(value) for value in items(table["id"])]
    return [str(at) for at in range(len(table))]


def items(values: Any) -> list[Any]:
    """The values as Python objects: of a list, an array or a series."""
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _label(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, set, frozenset)) or getattr(value, "ndim", 0) == 1:
        return [_plain(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else items(value))]
    return _plain(value)


def text_of(value: Any) -> str:
    """A label, id or group as text."""
    return str(_plain(value))


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; everything else stays, and the reader checks it."""
    return value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value


def _json(value: Any) -> Any:
    """What JSON does not know: a number of numpy. A missing value or a date is no label, and no number."""
    plain = _plain(value)
    if plain is value:
        detail = f"{type(value).__name__} is neither text nor a number: {str(value)[:40]}."
        raise InvalidInput(f"{detail} Give labels as text, and fill missing values first.")
    return plain
