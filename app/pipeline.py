"""Connects formats and scoring: two files in, scores out, in the scoring process as on the command line."""

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
from app.formats.column_data import NormalizedTable, TooManyRows
from app.formats.content.format_detection import FileKind
from app.formats.content.utf8_decoding import to_nfc
from app.formats.label_set_detection import has_label_sets
from app.formats.normalize import SPLITS
from app.formats.phase_size_limits import PhaseSize, limits_for_phase
from app.formats.problems import Problems, TooManyProblems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.strict_reader import read_table
from app.formats.validation import gold_validation as gold_rules
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.labels import LookupTables, read_labels
from app.formats.vectorized.scores import read_scores
from app.scoring.declaration import decision_rules
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule
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
    """Gold that is ready for scoring: n ids, their labels, and what else the metrics need.

    Everything is in the order of the ids' code points, so that no output can reveal the order of the file, which often
    depends on labels or splits.
    """

    index: IdIndex
    spec: TaskSpec
    labels: Labels
    splits: NDArray[np.int8] | None = None
    """Per id 0 for public, 1 for private; None without splits."""
    weights: NDArray[np.int64] | None = None
    """Per id its weight as an integer number of units; None where all weights are the same."""
    void: Collection[str] = frozenset()
    template_ids: Sequence[str] = ()
    """All ids of the file, including those that are not scored, in the order of code points: the ids of a template."""
    notes: list[str] = field(default_factory=list)
    folds: Grouping | None = None
    groups: Grouping | None = None
    ceilings: dict[str, BestAttainableValues] = field(default_factory=dict)
    """Per split, values that depend on this gold alone and have been computed already."""
    tables: LookupTables | None = None
    """Ids and classes for the vectorized readers; None where they do not fit into lookup tables."""
    weight_unit: Fraction = Fraction(1)
    """The weight in the gold file that one unit of `weights` stands for."""

    @property
    def ids(self) -> list[str]:
        """The ids, in the order of all arrays."""
        return self.index.ids

    def case(self, labels: Labels, scores: NDArray[np.float64] | None = None) -> EvaluationInput:
        """The evaluation input of predictions, in gold order."""
        divisions = self.weights, self.folds, self.groups, self.weight_unit
        return EvaluationInput(self.spec, self.labels, labels, scores, *divisions)

    def rows_by_split(self) -> dict[str, NDArray[np.int64] | None]:
        """The row numbers of each split that gets scores; None means all rows."""
        rows: dict[str, NDArray[np.int64] | None] = {"all": None}
        if self.splits is not None:
            rows |= {name: np.flatnonzero(self.splits == code) for code, name in enumerate(SPLITS)}
        return rows


@dataclass(slots=True)
class ScoringOutcome:
    """The outcome of a file of predictions: its problems, or its scores by split and canonical metric string."""

    problems: Problems
    notes: list[str]
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)


class FileMemoryError(MemoryError):
    """Reading and validating a file of predictions took more memory than is available."""


def build_lookup_tables(index: IdIndex, classes: Sequence[str]) -> LookupTables | None:
    """Ids and classes for the vectorized readers; None where they do not fit into lookup tables."""
    codes = None if index.table is None else StringTable.build(classes)
    return None if index.table is None or codes is None else LookupTables(index.table, codes)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector while many small objects without cycles are created."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def normalize_distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts in Unicode NFC, in which ids and labels are compared; raises InvalidContent if two become equal."""
    normalized = tuple(to_nfc(text, len(text)) for text in texts)
    if len(set(normalized)) != len(normalized):
        repeated = Counter(normalized).most_common(1)[0][0]
        raise InvalidContent(f"'{repeated}' is listed twice.", remedy="List each id or label once.")
    return normalized


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
    """Read the table of a file; its problems are added to `problems`."""
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
    metadata: Mapping[str, Any] | None = None,
    void: Iterable[str] = (),
    rules: ReadingRules | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Gold | None, Problems]:
    """Read gold and validate it; the gold is None exactly where there are problems.

    Without `classes`, the sorted label set of the gold becomes the vocabulary. `metadata` holds canonical gold metadata
    by field (app.scoring.declaration.gold_metadata). `void` ids are not scored, nor are those that the file marks so.
    Of `rules` only `duplicates` applies to gold. Raises InvalidContent if `classes` or `void` list something twice, and
    if folds or groups lack an id.
    """
    problems, gold = Problems(), None
    with garbage_collection_paused(), suppress(TooManyProblems):
        spec = normalized_task_spec(task, classes, positive_label, metadata or {})
        table = read_source(source, spec, gold=True, problems=problems, limits=limits, declared=classes is not None)
        void_ids = find_void_ids(table, task, normalize_distinct(void))
        if classes is None:
            spec = replace(spec, classes=gold_rules.label_set(table, void_ids))
            labels = f"the sorted labels of the gold ({len(spec.classes)})"
            table.notes.append(f"no classes were declared: {labels} are the vocabulary")
        gold_rules.check_not_empty(table, void_ids, problems)
        gold_rules.check_vocabulary(table, spec, declared=classes is not None, limits=limits, problems=problems)
        gold = build_gold(table, spec, void_ids, rules or ReadingRules(), problems)
        if gold is not None:
            assign_groupings(gold, metadata or {})
    return gold, problems


def assign_groupings(gold: Gold, metadata: Mapping[str, Any]) -> None:
    """Assign the instances to their folds and groups, where these are given."""
    gold.folds = build_grouping(metadata.get("folds"), "folds", gold.ids)
    gold.groups = build_grouping(metadata.get("groups"), "groups", gold.ids)


def find_void_ids(table: NormalizedTable, task: TaskKind, void: Iterable[str]) -> frozenset[str]:
    """The ids that are not scored: those given separately, and those that the gold file excludes (noted)."""
    void_ids = set(void)
    for reason, names in gold_rules.unscored_ids(table, task).items():
        void_ids.update(names)
        table.notes.append(f"{pluralize(len(names), 'instance is', 'instances are')} {_UNSCORED}: {reason}")
    return frozenset(void_ids)


def is_fully_scored(notes: Iterable[str]) -> bool:
    """Whether all instances of a gold file are scored, judging from its notes."""
    return not any(_UNSCORED in note for note in notes)


def infer_task(gold: SourceFile, positive_label: str | None = None, limits: Limits = DEFAULT_LIMITS) -> TaskKind:
    """Infer the task from a gold file: sets of labels, a positive label, or otherwise one label each."""
    if positive_label is not None:
        return "binary"
    with gold.path.open("rb") as stream, garbage_collection_paused():
        return "multilabel" if has_label_sets(stream, gold.kind, limits) else "multiclass"


def normalized_task_spec(
    task: TaskKind, classes: Sequence[str] | None, positive_label: str | None, metadata: Mapping[str, Any]
) -> TaskSpec:
    """The task with labels in NFC; raises InvalidContent if a class is listed twice."""
    positive = None if positive_label is None else normalize_distinct([positive_label])[0]
    return build_task_spec(task, normalize_distinct(classes or ()), positive, metadata)


def build_gold(
    table: NormalizedTable, spec: TaskSpec, void: frozenset[str], rules: ReadingRules, problems: Problems
) -> Gold | None:
    """Build gold from a table, in the order of its ids; None if it has problems."""
    index = IdIndex(gold_rules.scored_ids(table, void))
    gold_rules.check_void_ids_distinct(table, void, problems)
    reading_rules = ReadingRules(duplicates=rules.duplicates)
    arrays = validate_table(table, index, spec, rules=reading_rules, void=void, problems=problems)
    weights = gold_rules.integer_weights(table, void, problems)
    if arrays is None or arrays.labels is None or problems:
        return None
    ids = sorted(name for name in set(table.ids) if name is not None)
    if spec.task != "multilabel" and table.counts is not None:
        limitation = "only metrics that are defined for them have values"
        table.notes.append(f"the gold gives sets of acceptable answers: {limitation}")
    splits = gold_rules.split_codes(table, void)
    splits = None if splits is None else gold_rules.align_to_index(splits, table, void, index)
    if splits is not None and splits.all():
        table.notes.append("no instance is public: until the final release of the phase, only organizers see scores")
    if weights is not None:
        table.notes.append("the instances have weights: all counts are sums of weights")
    tables = build_lookup_tables(index, spec.classes)
    exact_weights = None if weights is None else gold_rules.align_to_index(weights[0], table, void, index)
    unit = Fraction(1) if weights is None else weights[1]
    labels, notes = arrays.labels, table.notes
    return Gold(index, spec, labels, splits, exact_weights, void, ids, notes, tables=tables, weight_unit=unit)


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
    """Read and validate predictions; the arrays, in the order of `ids`, are None exactly where there are problems.

    It needs no gold labels, and gives the same answer with and without them. `void` ids are dropped from a list of ids;
    an IdIndex must not contain them. With `tables` (of these ids and classes) the vectorized readers are tried first.
    Raises InvalidContent if an id is listed twice, and FileMemoryError.
    """
    rules = rules or ReadingRules()
    problems = Problems()
    wants = rules.scores != "ignored"
    try:
        with garbage_collection_paused():
            if not isinstance(ids, IdIndex):
                void = frozenset(normalize_distinct(void))
                ids = IdIndex([name for name in normalize_distinct(ids) if name not in void])
            texts = (ids.ids, spec.classes) if tables is None else (tables.ids, tables.classes)
            pairs = predictions.kind.layout == "long" and spec.task == "multilabel"
            limits = limits_for_phase(PhaseSize.of(*texts, void=void), limits, pairs=pairs)
            arrays = None if tables is None else _read_vectorized(predictions, spec, tables, rules, limits)
            if arrays is not None:
                return arrays, problems, []
            table = read_source(predictions, spec, gold=False, problems=problems, limits=limits, wants_scores=wants)
            void = frozenset(normalize_distinct(void))
            arrays = validate_table(table, ids, spec, rules=rules, void=void, problems=problems)
    except TooManyRows as error:
        problems.stop(error.problem)
        return None, problems, []
    except MemoryError as error:
        raise FileMemoryError from error
    return arrays, problems, table.notes


def _read_vectorized(
    source: SourceFile, spec: TaskSpec, tables: LookupTables, rules: ReadingRules, limits: Limits
) -> PredictionArrays | None:
    """The labels or scores of a file, if a vectorized reader supports it; else None. Raises TooManyRows."""
    labels, scores = None, None
    if rules.scores != "due":
        with source.path.open("rb") as stream:
            labels = read_labels(stream, source.kind, tables, sets=spec.task == "multilabel", limits=limits)
    if labels is None:
        with source.path.open("rb") as stream:
            scores = read_scores(stream, source.kind, tables.ids, spec, rules=rules, limits=limits)
    return None if labels is None and scores is None else PredictionArrays(labels, scores)


def _validate_against_gold(
    gold: Gold, predictions: SourceFile, rules: ReadingRules, limits: Limits
) -> tuple[PredictionArrays | None, Problems, list[str]]:
    index, void, tables = gold.index, gold.void, gold.tables
    return validate_predictions(index, gold.spec, predictions, rules=rules, void=void, tables=tables, limits=limits)


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
    on_validated: Callable[[], None] | None = None,
) -> ScoringOutcome:
    """Score predictions against gold, per split; without `rules`, the strictest of the metrics apply.

    `primary` is the canonical string of the metric whose needs must be met. Hard labels that the file does not give
    follow from its scores by `decision`, as declared in a recipe, under the recipe's `options`. `on_validated` is called
    once the file has been validated, before any score is computed. Raises FileMemoryError.
    """
    rules = rules or ReadingRules.strictest(calls, primary)
    arrays, problems, notes = _validate_against_gold(gold, predictions, rules, limits)
    if on_validated is not None:
        on_validated()
    if arrays is None:
        return ScoringOutcome(problems, notes)
    labels, rule, decision_notes = hard_labels(gold, arrays, decision, options or {})
    return ScoringOutcome(problems, [*notes, *decision_notes], score_labels(gold, labels, calls, arrays.scores, rule))


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
    """The evaluation input of stored predictions on one split; raises ValueError if they have problems."""
    arrays, problems, _ = _validate_against_gold(gold, predictions, rules, limits)
    if arrays is None:
        raise ValueError(f"stored predictions can no longer be read: {problems.to_dict()['total']}")
    labels, rule, _ = hard_labels(gold, arrays, decision, options or {})
    all_rows, rows = gold.case(labels, arrays.scores), gold.rows_by_split()[split]
    return all_rows if rows is None else decision_rules.redecide_subset(rule, all_rows.take(rows))


def hard_labels(
    gold: Gold, arrays: PredictionArrays, decision: Mapping[str, Any] | None, options: Mapping[str, str]
) -> tuple[Labels, ConfiguredDecisionRule | None, list[str]]:
    """The labels of a file, or those that follow from its scores, with the decision rule and a note that says so."""
    if arrays.labels is not None:
        return arrays.labels, None, []
    assert arrays.scores is not None
    rule = ConfiguredDecisionRule.from_recipe(gold.spec, decision, single=arrays.scores.shape[1] == 1, options=options)
    labels = decision_rules.decide_labels_with_gold(rule, gold.spec, gold.labels, arrays.scores, gold.weights)
    return labels, rule, [f"hard labels follow from the scores: {decision_rules.describe_rule(rule)}"]


def score_labels(
    gold: Gold,
    labels: Labels,
    calls: Sequence[MetricCall],
    scores: NDArray[np.float64] | None = None,
    rule: ConfiguredDecisionRule | None = None,
) -> dict[str, dict[str, Result]]:
    """The scores of predictions (in gold order): `all`, and `public` and `private` where the gold has splits.

    If a decision `rule` derived the labels from scores, it is applied again to each split with the rows of that split
    alone. All rows come last and reuse the counts of the splits; no split depends on another.
    """
    all_rows, rows_by_split = gold.case(labels, scores), gold.rows_by_split()
    results, shared_counts = {}, dict[Hashable, Any]()
    for split, rows in reversed(rows_by_split.items()):
        case = all_rows if rows is None else decision_rules.redecide_subset(rule, all_rows.take(rows))
        if split not in gold.ceilings:
            gold.ceilings[split] = BestAttainableValues(case)
        results[split] = evaluate(case, calls, gold.ceilings[split], shared_counts)
    return {split: results[split] for split in rows_by_split}
