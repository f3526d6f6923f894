"""Formats and scoring joined: two files in, scores out; the same for scoring child and command line."""

import gc
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent
from app.formats import gold as gold_rules
from app.formats.check import check
from app.formats.columns import Table
from app.formats.guess import holds_sets
from app.formats.kinds import FileKind
from app.formats.problem import Problems
from app.formats.reader import read_table
from app.formats.rules import DEFAULT_LIMITS, Limits, Rules
from app.formats.tidy import SPLITS
from app.scoring.align import Case, IdIndex, Labels
from app.scoring.evaluate import Ceilings, evaluate
from app.scoring.metric import Result
from app.scoring.recipe import MetricCall
from app.scoring.task import Task, TaskSpec

_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True)
class Source:
    """A file and how to read it."""

    path: Path
    kind: FileKind


@dataclass(slots=True)
class Gold:
    """Gold that is ready to score with: n ids, their labels, and what the metrics need beside them."""

    ids: list[str]
    index: IdIndex
    spec: TaskSpec
    labels: Labels
    splits: NDArray[np.int8] | None = None
    """Per id 0 for public, 1 for private; None where the gold has no splits."""
    void: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    ceilings: dict[str, Ceilings] = field(default_factory=dict)
    """Per split, what scoring has found out about this gold alone."""

    def rows_by_split(self) -> dict[str, NDArray[np.int64] | None]:
        """Row numbers of each split that gets scores; None means all rows."""
        rows: dict[str, NDArray[np.int64] | None] = {"all": None}
        if self.splits is not None:
            rows |= {name: np.flatnonzero(self.splits == code) for code, name in enumerate(SPLITS)}
        return rows


@dataclass(slots=True)
class Outcome:
    """What became of a file of predictions: its problems, or its scores by split and canonical metric string."""

    problems: Problems
    notes: list[str]
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)


@dataclass(slots=True)
class OfflineOutcome:
    """What `assay score` shows: the case besides the scores, and the problems of each of the two files."""

    gold_problems: Problems
    problems: Problems
    notes: list[str]
    calls: Sequence[MetricCall] = ()
    case: Case | None = None
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)


@contextmanager
def collector_off() -> Iterator[None]:
    """Switch the cyclic garbage collector off while many small objects are made that hold no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def normalized(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts in Unicode NFC, as all ids and labels are compared; raises InvalidContent where two become equal."""
    found = tuple(unicodedata.normalize("NFC", text) for text in texts)
    if len(set(found)) != len(found):
        twice = Counter(found).most_common(1)[0][0]
        raise InvalidContent(f"'{twice}' is listed twice.", remedy="List each id or label once.")
    return found


def _read(source: Source, task: Task, *, gold: bool, problems: Problems, limits: Limits) -> Table:
    with source.path.open("rb") as stream:
        return read_table(
            stream, source.kind, multilabel=task == "multilabel", gold=gold, problems=problems, limits=limits
        )


def load_gold(
    source: Source,
    *,
    task: Task,
    classes: Sequence[str] | None = None,
    positive_label: str | None = None,
    train_frequencies: Mapping[str, int] | None = None,
    class_weights: Mapping[str, float] | None = None,
    void: Iterable[str] = (),
    rules: Rules | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Gold | None, Problems]:
    """Read gold and check it against itself; None exactly where there are problems.

    Without `classes`, the sorted label set of the gold becomes the vocabulary. `void` ids are dropped. Of `rules` only
    `duplicates` concerns gold. Raises InvalidContent where `classes` or `void` list something twice.
    """
    problems = Problems()
    with collector_off():
        table = _read(source, task, gold=True, problems=problems, limits=limits)
        spec = _spec(task, classes, positive_label, train_frequencies, class_weights)
        voided = frozenset(normalized(void))
        if classes is None:
            spec = _with_classes(spec, gold_rules.label_set(table, voided))
            table.notes.append(
                f"no classes were declared: the sorted labels of the gold ({len(spec.classes)}) are the vocabulary"
            )
        gold_rules.check_not_empty(table, voided, problems)
        gold_rules.check_vocabulary(table, spec, declared=classes is not None, problems=problems)
        gold = _build_gold(table, spec, voided, rules or Rules(), problems)
    return gold, problems


def guess_task(gold: Source, positive_label: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Task:
    """Tell the task from a gold file when nobody says it: sets of labels, a positive label, or else one label each."""
    if positive_label is not None:
        return "binary"
    with gold.path.open("rb") as stream, collector_off():
        return "multilabel" if holds_sets(stream, gold.kind, limits) else "multiclass"


def _spec(
    task: Task,
    classes: Sequence[str] | None,
    positive_label: str | None,
    train_frequencies: Mapping[str, int] | None,
    class_weights: Mapping[str, float] | None,
) -> TaskSpec:
    return TaskSpec(
        task,
        normalized(classes or ()),
        None if positive_label is None else normalized([positive_label])[0],
        None if train_frequencies is None else _keys_normalized(train_frequencies),
        None if class_weights is None else _keys_normalized(class_weights),
    )


def _keys_normalized(values: Mapping[str, _N]) -> dict[str, _N]:
    return dict(zip(normalized(values), values.values(), strict=True))


def _with_classes(spec: TaskSpec, classes: Sequence[str]) -> TaskSpec:
    return TaskSpec(spec.task, tuple(classes), spec.positive_label, spec.train_frequencies, spec.class_weights)


def _build_gold(table: Table, spec: TaskSpec, void: frozenset[str], rules: Rules, problems: Problems) -> Gold | None:
    ids = gold_rules.kept_ids(table, void)
    index = IdIndex(ids)
    labels = check(table, index, spec.classes, rules=Rules(duplicates=rules.duplicates), void=void, problems=problems)
    if labels is None or problems:
        return None
    return Gold(ids, index, spec, labels, gold_rules.split_codes(table, void), void, table.notes)


def validate(
    ids: Sequence[str] | IdIndex,
    spec: TaskSpec,
    predictions: Source,
    *,
    rules: Rules | None = None,
    void: Iterable[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Labels | None, Problems, list[str]]:
    """Read predictions and check them; the labels (in the order of `ids`) are None exactly where there are problems.

    Needs no gold labels, and answers the same with and without them. Of `ids` given as a list, `void` ones are
    dropped; an IdIndex is taken to be without them. Raises InvalidContent where an id is listed twice.
    """
    voided = frozenset(normalized(void))
    known = ids if isinstance(ids, IdIndex) else IdIndex([name for name in normalized(ids) if name not in voided])
    problems = Problems()
    with collector_off():
        table = _read(predictions, spec.task, gold=False, problems=problems, limits=limits)
        labels = check(table, known, spec.classes, rules=rules or Rules(), void=voided, problems=problems)
    return labels, problems, table.notes


def score(
    gold: Gold,
    predictions: Source,
    calls: Sequence[MetricCall],
    *,
    rules: Rules | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Outcome:
    """Score predictions against gold, per split; without `rules`, the strictest of the metrics apply."""
    rules = rules or Rules.strictest(calls)
    labels, problems, notes = validate(gold.index, gold.spec, predictions, rules=rules, void=gold.void, limits=limits)
    if labels is None:
        return Outcome(problems, notes)
    return Outcome(problems, notes, score_labels(gold, labels, calls))


def score_labels(gold: Gold, labels: Labels, calls: Sequence[MetricCall]) -> dict[str, dict[str, Result]]:
    """Scores of predicted labels (in gold order): `all`, and `public` and `private` where the gold has splits."""
    scores = {}
    for split, rows in gold.rows_by_split().items():
        if rows is None:
            case = Case(gold.spec, gold.labels, labels)
        else:
            case = Case(gold.spec, gold.labels.take(rows), labels.take(rows))
        if split not in gold.ceilings:
            gold.ceilings[split] = Ceilings(case.spec, case.gold)
        scores[split] = evaluate(case, calls, gold.ceilings[split])
    return scores


def score_offline(
    gold: Source,
    predictions: Source,
    choose: Callable[[TaskSpec], Sequence[MetricCall]],
    *,
    task: Task,
    classes: Sequence[str] | None = None,
    positive_label: str | None = None,
    train_frequencies: Mapping[str, int] | None = None,
    class_weights: Mapping[str, float] | None = None,
    void: Iterable[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> OfflineOutcome:
    """Score two files without a server: `choose` names the metrics once the vocabulary is known.

    Without `classes` the vocabulary is the sorted union of the labels in both files, and a note says so. Raises
    InvalidContent where `classes` or `void` list something twice, and whatever `choose` raises.
    """
    outcome = OfflineOutcome(Problems(), Problems(), [])
    voided = frozenset(normalized(void))
    spec = _spec(task, classes, positive_label, train_frequencies, class_weights)
    with collector_off():
        truth = _read(gold, task, gold=True, problems=outcome.gold_problems, limits=limits)
        answers = _read(predictions, task, gold=False, problems=outcome.problems, limits=limits)
        outcome.notes = list(dict.fromkeys((*truth.notes, *answers.notes)))
        if classes is None:
            spec = _with_classes(spec, _union(truth, answers, task, voided))
            size = len(spec.classes)
            outcome.notes.append(
                f"no classes were declared: the sorted labels of gold and predictions ({size}) are the vocabulary"
            )
        declared = classes is not None
        gold_rules.check_not_empty(truth, voided, outcome.gold_problems)
        gold_rules.check_vocabulary(truth, spec, declared=declared, problems=outcome.gold_problems)
        if not outcome.gold_problems:  # without sound gold there is nothing to hold the predictions against
            outcome.calls = choose(spec)
            _score_tables(outcome, truth, answers, spec, voided)
    return outcome


def _score_tables(outcome: OfflineOutcome, truth: Table, answers: Table, spec: TaskSpec, void: frozenset[str]) -> None:
    rules = Rules.strictest(outcome.calls)
    gold = _build_gold(truth, spec, void, rules, outcome.gold_problems)
    known = gold.index if gold else IdIndex(gold_rules.kept_ids(truth, void))
    labels = check(answers, known, spec.classes, rules=rules, void=void, problems=outcome.problems)
    if gold is not None and labels is not None:
        outcome.case = Case(spec, gold.labels, labels)
        outcome.scores = score_labels(gold, labels, outcome.calls)


def _union(truth: Table, answers: Table, task: Task, void: Collection[str]) -> tuple[str, ...]:
    """Gold and predicted labels; in a binary task at most two, gold's first, so that a third is an unknown label."""
    own = gold_rules.label_set(truth, void)
    both = tuple(sorted({*own, *gold_rules.label_set(answers, void)}))
    return own if task == "binary" and len(both) > 2 else both
