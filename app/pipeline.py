"""Formats and scoring joined: two files in, scores out; the same for scoring child and command line."""

import gc
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent
from app.formats import gold_validation as gold_rules
from app.formats.columns import NormalizedTable, TooManyRows
from app.formats.decoding import to_nfc
from app.formats.detection import FileKind
from app.formats.infer_task import has_label_sets
from app.formats.normalize import SPLITS
from app.formats.problems import Problems, TooManyProblems
from app.formats.reader import read_table
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.size_limits import PhaseSize, limits_for_phase
from app.formats.table_validation import validate_table
from app.formats.vectorized.labels import LookupTables, read_labels
from app.formats.vectorized.scores import read_scores
from app.scoring.declaration.decision_rules import (
    ConfiguredDecisionRule,
    decide_labels_with_gold,
    describe_rule,
    redecide_subset,
)
from app.scoring.declaration.gold_metadata import build_grouping, build_task_spec
from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluate import BestAttainableValues, evaluate
from app.scoring.evaluation_input import EvaluationInput, Grouping, IdIndex, Labels, PredictionArrays
from app.scoring.string_table import StringTable

_UNSCORED = "not scored"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file and how to read it."""

    path: Path
    kind: FileKind


@dataclass(slots=True)
class Gold:
    """Gold that is ready to score with: n ids, their labels, and what the metrics need beside them.

    All of it is in the order of the ids' code points, so that nothing that anybody reads can follow the order of the
    file, which often tells labels or splits.
    """

    index: IdIndex
    spec: TaskSpec
    labels: Labels
    splits: NDArray[np.int8] | None = None
    """Per id 0 for public, 1 for private; None where the gold has no splits."""
    weights: NDArray[np.int64] | None = None
    """Per id its weight as a whole number of units; None where all weigh the same."""
    void: Collection[str] = frozenset()
    listed: Sequence[str] = ()
    """All ids of the file in the order of code points, those that are not scored too: what a template holds."""
    notes: list[str] = field(default_factory=list)
    folds: Grouping | None = None
    groups: Grouping | None = None
    ceilings: dict[str, BestAttainableValues] = field(default_factory=dict)
    """Per split, what scoring has found out about this gold alone."""
    tables: LookupTables | None = None
    """Ids and classes for the fast tier of reading; None where they do not fit into tables."""
    weight_unit: Fraction = Fraction(1)
    """What a weight of 1 stands for in the file of gold."""

    @property
    def ids(self) -> list[str]:
        """The ids, in the order of all arrays."""
        return self.index.ids

    def case(self, labels: Labels, scores: NDArray[np.float64] | None = None) -> EvaluationInput:
        """The case of predictions, in gold order."""
        beside = self.weights, self.folds, self.groups, self.weight_unit
        return EvaluationInput(self.spec, self.labels, labels, scores, *beside)

    def rows_by_split(self) -> dict[str, NDArray[np.int64] | None]:
        """Row numbers of each split that gets scores; None means all rows."""
        rows: dict[str, NDArray[np.int64] | None] = {"all": None}
        if self.splits is not None:
            rows |= {name: np.flatnonzero(self.splits == code) for code, name in enumerate(SPLITS)}
        return rows


@dataclass(slots=True)
class ScoringOutcome:
    """What became of a file of predictions: its problems, or its scores by split and canonical metric string."""

    problems: Problems
    notes: list[str]
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)


class FileMemoryError(MemoryError):
    """Reading and checking a file of predictions took more memory than there is."""


def build_lookup_tables(known: IdIndex, classes: Sequence[str]) -> LookupTables | None:
    """Ids and classes for the fast tier of reading, if they fit into tables."""
    codes = None if known.table is None else StringTable.build(classes)
    return None if known.table is None or codes is None else LookupTables(known.table, codes)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Switch the cyclic garbage collector off while many small objects are made that hold no cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def normalize_distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts in Unicode NFC, as all ids and labels are compared; raises InvalidContent where two become equal."""
    found = tuple(to_nfc(text, len(text)) for text in texts)
    if len(set(found)) != len(found):
        twice = Counter(found).most_common(1)[0][0]
        raise InvalidContent(f"'{twice}' is listed twice.", remedy="List each id or label once.")
    return found


def read_source(
    source: SourceFile,
    spec: TaskSpec,
    *,
    gold: bool,
    problems: Problems,
    limits: Limits,
    declared: bool = True,
    wants_scores: bool = False,
) -> NormalizedTable:
    """The table that a file holds; its faults are added to `problems`."""
    with source.path.open("rb") as stream:
        return read_table(
            stream,
            source.kind,
            task=spec.task,
            gold=gold,
            problems=problems,
            classes=spec.classes if declared else None,
            wants_scores=wants_scores,
            limits=limits,
        )


def load_gold(
    source: SourceFile,
    *,
    task: TaskKind,
    classes: Sequence[str] | None = None,
    positive_label: str | None = None,
    beside: Mapping[str, Any] | None = None,
    void: Iterable[str] = (),
    rules: ReadingRules | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Gold | None, Problems]:
    """Read gold and check it against itself; None exactly where there are problems.

    Without `classes`, the sorted label set of the gold becomes the vocabulary. `beside` holds canonical accessories by
    field (app.scoring.declaration.gold_metadata). `void` ids are not scored, nor are those that the file marks so. Of `rules` only
    `duplicates` concerns gold. Raises InvalidContent where `classes` or `void` list something twice, and where folds or
    groups lack an id.
    """
    problems, gold = Problems(), None
    with garbage_collection_paused(), suppress(TooManyProblems):
        spec = normalized_task_spec(task, classes, positive_label, beside or {})
        table = read_source(source, spec, gold=True, problems=problems, limits=limits, declared=classes is not None)
        voided = find_void_ids(table, task, normalize_distinct(void))
        if classes is None:
            spec = replace(spec, classes=gold_rules.label_set(table, voided))
            table.notes.append(
                f"no classes were declared: the sorted labels of the gold ({len(spec.classes)}) are the vocabulary"
            )
        gold_rules.check_not_empty(table, voided, problems)
        gold_rules.check_vocabulary(table, spec, declared=classes is not None, limits=limits, problems=problems)
        gold = build_gold(table, spec, voided, rules or ReadingRules(), problems)
        if gold is not None:
            assign_groupings(gold, beside or {})
    return gold, problems


def assign_groupings(gold: Gold, beside: Mapping[str, Any]) -> None:
    """Divide the instances into their folds and groups, where those are given."""
    gold.folds = build_grouping(beside.get("folds"), "folds", gold.ids)
    gold.groups = build_grouping(beside.get("groups"), "groups", gold.ids)


def find_void_ids(table: NormalizedTable, task: TaskKind, void: Iterable[str]) -> frozenset[str]:
    """The ids that are not scored: those named beside the gold, and those that the gold itself leaves out (noted)."""
    voided = set(void)
    for reason, names in gold_rules.unscored_ids(table, task).items():
        voided.update(names)
        table.notes.append(f"{pluralize(len(names), 'instance is', 'instances are')} {_UNSCORED}: {reason}")
    return frozenset(voided)


def is_fully_scored(notes: Iterable[str]) -> bool:
    """Whether all instances of a gold file are scored, by the notes on it."""
    return not any(_UNSCORED in note for note in notes)


def infer_task(gold: SourceFile, positive_label: str | None = None, limits: Limits = DEFAULT_LIMITS) -> TaskKind:
    """Tell the task from a gold file when nobody says it: sets of labels, a positive label, or else one label each."""
    if positive_label is not None:
        return "binary"
    with gold.path.open("rb") as stream, garbage_collection_paused():
        return "multilabel" if has_label_sets(stream, gold.kind, limits) else "multiclass"


def normalized_task_spec(
    task: TaskKind,
    classes: Sequence[str] | None,
    positive_label: str | None,
    beside: Mapping[str, Any],
) -> TaskSpec:
    """The task with labels in NFC; raises InvalidContent where a class is listed twice."""
    positive = None if positive_label is None else normalize_distinct([positive_label])[0]
    return build_task_spec(task, normalize_distinct(classes or ()), positive, beside)


def build_gold(
    table: NormalizedTable, spec: TaskSpec, void: frozenset[str], rules: ReadingRules, problems: Problems
) -> Gold | None:
    """Gold of a table that was read, in the order of its ids; None where it has problems."""
    index = IdIndex(gold_rules.scored_ids(table, void))
    gold_rules.check_void_ids_distinct(table, void, problems)
    found = validate_table(
        table, index, spec, rules=ReadingRules(duplicates=rules.duplicates), void=void, problems=problems
    )
    weights = gold_rules.integer_weights(table, void, problems)
    if found is None or found.labels is None or problems:
        return None
    listed = sorted(name for name in set(table.ids) if name is not None)
    if spec.task != "multilabel" and table.counts is not None:
        table.notes.append(
            "the gold gives sets of acceptable answers: only metrics that are defined for them have values"
        )
    splits = gold_rules.split_codes(table, void)
    splits = None if splits is None else gold_rules.align_to_index(splits, table, void, index)
    if splits is not None and splits.all():
        table.notes.append("no instance is public: until the phase's final release nobody but organizers sees a score")
    if weights is not None:
        table.notes.append("the instances have weights: all counts are sums of them")
    tables = build_lookup_tables(index, spec.classes)
    whole = None if weights is None else gold_rules.align_to_index(weights[0], table, void, index)
    unit = Fraction(1) if weights is None else weights[1]
    return Gold(index, spec, found.labels, splits, whole, void, listed, table.notes, tables=tables, weight_unit=unit)


def validate_predictions(
    ids: Sequence[str] | IdIndex,
    spec: TaskSpec,
    predictions: SourceFile,
    *,
    rules: ReadingRules | None = None,
    void: Collection[str] = (),
    tables: LookupTables | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[PredictionArrays | None, Problems, list[str]]:
    """Read predictions and check them; what they say (in the order of `ids`) is None exactly where there are problems.

    Needs no gold labels, and answers the same with and without them. Of `ids` given as a list, `void` ones are
    dropped; an IdIndex is taken to be without them. With `tables` (of these ids and classes) the fast tier reads files
    that are beyond doubt. Raises InvalidContent where an id is listed twice, and FileTooHeavy.
    """
    rules = rules or ReadingRules()
    problems = Problems()
    wanted = rules.scores != "ignored"
    try:
        with garbage_collection_paused():
            if not isinstance(ids, IdIndex):
                void = frozenset(normalize_distinct(void))
                ids = IdIndex([name for name in normalize_distinct(ids) if name not in void])
            texts = (ids.ids, spec.classes) if tables is None else (tables.ids, tables.classes)
            pairs = predictions.kind.layout == "long" and spec.task == "multilabel"
            limits = limits_for_phase(PhaseSize.of(*texts, void=void), limits, pairs=pairs)
            labels = (
                None
                if rules.scores == "due" or tables is None
                else _read_labels_vectorized(predictions, spec, tables, limits)
            )
            if labels is not None:
                return PredictionArrays(labels), problems, []
            scores = _read_scores_vectorized(predictions, spec, tables, rules, limits)
            if scores is not None:
                return PredictionArrays(None, scores), problems, []
            table = read_source(predictions, spec, gold=False, problems=problems, limits=limits, wants_scores=wanted)
            found = validate_table(
                table, ids, spec, rules=rules, void=frozenset(normalize_distinct(void)), problems=problems
            )
    except TooManyRows as refused:
        problems.stop(refused.found)
        return None, problems, []
    except MemoryError as lack:
        raise FileMemoryError from lack
    return found, problems, table.notes


def _read_labels_vectorized(
    predictions: SourceFile, spec: TaskSpec, tables: LookupTables, limits: Limits
) -> Labels | None:
    """The labels as the fast tier reads them; None where it does not. Raises TooManyRows."""
    with predictions.path.open("rb") as stream:
        return read_labels(stream, predictions.kind, tables, sets=spec.task == "multilabel", limits=limits)


def _read_scores_vectorized(
    predictions: SourceFile, spec: TaskSpec, tables: LookupTables | None, rules: ReadingRules, limits: Limits
) -> NDArray[np.float64] | None:
    """The scores of a file without labels as the fast tier reads them; None where it does not."""
    if tables is None:
        return None
    with predictions.path.open("rb") as stream:
        return read_scores(stream, predictions.kind, tables.ids, spec, rules=rules, limits=limits)


def score_predictions(
    gold: Gold,
    predictions: SourceFile,
    calls: Sequence[MetricCall],
    *,
    primary: str | None = None,
    decision: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
    rules: ReadingRules | None = None,
    limits: Limits = DEFAULT_LIMITS,
    checked: Callable[[], None] | None = None,
) -> ScoringOutcome:
    """Score predictions against gold, per split; without `rules`, the strictest of the metrics apply.

    `primary` is the canonical string of the metric that must have what it needs; hard labels that the file does not
    give follow from its scores by `decision`, as a recipe has it, under the recipe's `options`. `checked` is called once the
    file has been read and checked, before anything is computed from it. Raises FileTooHeavy.
    """
    rules = rules or ReadingRules.strictest(calls, primary)
    found, problems, notes = validate_predictions(
        gold.index, gold.spec, predictions, rules=rules, void=gold.void, tables=gold.tables, limits=limits
    )
    if checked is not None:
        checked()
    if found is None:
        return ScoringOutcome(problems, notes)
    labels, rule, said = hard_labels(gold, found, decision, options or {})
    return ScoringOutcome(problems, [*notes, *said], score_labels(gold, labels, calls, found.scores, rule))


def predicted_case(
    gold: Gold,
    predictions: SourceFile,
    rules: ReadingRules,
    *,
    split: str = "all",
    decision: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> EvaluationInput:
    """The case of a file of predictions that was scored before, on one split; raises ValueError where it has problems."""
    found, problems, _ = validate_predictions(
        gold.index, gold.spec, predictions, rules=rules, void=gold.void, tables=gold.tables, limits=limits
    )
    if found is None:
        raise ValueError(f"stored predictions no longer read: {problems.to_dict()['total']}")
    labels, rule, _ = hard_labels(gold, found, decision, options or {})
    whole, rows = gold.case(labels, found.scores), gold.rows_by_split()[split]
    return whole if rows is None else redecide_subset(rule, whole.take(rows))


def hard_labels(
    gold: Gold, found: PredictionArrays, decision: Mapping[str, Any] | None, options: Mapping[str, str]
) -> tuple[Labels, ConfiguredDecisionRule | None, list[str]]:
    """The labels that a file gives, or those that follow from its scores, by which rule, and a note that says so."""
    if found.labels is not None:
        return found.labels, None, []
    assert found.scores is not None
    rule = ConfiguredDecisionRule.from_recipe(gold.spec, decision, single=found.scores.shape[1] == 1, options=options)
    labels = decide_labels_with_gold(rule, gold.spec, gold.labels, found.scores, gold.weights)
    return labels, rule, [f"hard labels follow from the scores: {describe_rule(rule)}"]


def score_labels(
    gold: Gold,
    labels: Labels,
    calls: Sequence[MetricCall],
    scores: NDArray[np.float64] | None = None,
    rule: ConfiguredDecisionRule | None = None,
) -> dict[str, dict[str, Result]]:
    """Scores of predictions (in gold order): `all`, and `public` and `private` where the gold has splits.

    With the `rule` by which the labels follow from the scores, a split is decided by its own rows. All rows come last,
    as what was counted for the splits serves them; no split goes by another.
    """
    whole, rows_of = gold.case(labels, scores), gold.rows_by_split()
    found, common = {}, dict[Hashable, Any]()
    for split, rows in reversed(rows_of.items()):
        case = whole if rows is None else redecide_subset(rule, whole.take(rows))
        if split not in gold.ceilings:
            gold.ceilings[split] = BestAttainableValues(case)
        found[split] = evaluate(case, calls, gold.ceilings[split], common)
    return {split: found[split] for split in rows_of}
