"""Scores without a server: two files in, scores and the problems of both files out."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.formats.column_data import NormalizedTable, TooManyRows
from app.formats.phase_size_limits import PhaseSize, limits_for_phase
from app.formats.problems import Problems, TooManyProblems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.source_file import SourceFile, read_source
from app.formats.strict_reader import read_table
from app.formats.validation import gold_validation as gold_rules
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.labels import WideningJoin, sorted_classes
from app.formats.vectorized.prediction_reader import read_predictions
from app.gold import (
    Gold,
    assign_instance_metadata,
    build_gold,
    find_void_ids,
    garbage_collection_paused,
    load_plain_gold,
    normalize_distinct,
    normalized_task_spec,
    vocabulary_note,
)
from app.pipeline import hard_labels, score_labels
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule, redecide_subset
from app.scoring.declaration.metric import ACCEPTABLE_SETS, UNKNOWN_CELLS, MetricCall, Result
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.requirements import needs_met, require_unknown_cells_option
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import EvaluationInput, IdIndex, PredictionArrays
from app.scoring.probability_rows import are_probabilities
from app.scoring.uncertainty.bootstrap_interval import Interval
from app.scoring.uncertainty.intervals import intervals
from app.scoring.uncertainty.paired import PairComparison, compare_systems
from app.scoring.uncertainty.resampling import in_order_of

BOTH_FILES = "gold and predictions"
ALL_FILES = "the gold and all predictions"
Choose = Callable[[TaskSpec, frozenset[str]], Sequence[MetricCall]]
"""Returns the metrics for a task and the needs that are met."""


@dataclass(slots=True)
class OfflineOutcome:
    """The result of `assay score`: scores, their evaluation input, and the problems of each of the two files."""

    gold_problems: Problems
    problems: Problems
    notes: list[str]
    calls: Sequence[MetricCall] = ()
    case: EvaluationInput | None = None
    gold: Gold | None = None
    rule: ConfiguredDecisionRule | None = None
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)

    def intervals(self, calls: Sequence[MetricCall], draw_seed: str) -> dict[str, dict[str, Interval]]:
        """The intervals of those scores that are single numbers, by split and canonical metric string."""
        assert self.case is not None
        assert self.gold is not None
        found, ids = {}, self.gold.ids
        calls = [call for call in calls if call.metric.scalar]
        for split, rows in self.gold.rows_by_split().items():
            case = self.case if rows is None else redecide_subset(self.rule, self.case.take(rows))
            values = {text: result.value for text, result in self.scores[split].items()}
            names = ids if rows is None else [ids[row] for row in rows]
            found[split] = intervals(case, calls, values, names, draw_seed=draw_seed, split=split)
        return found


def score_offline(
    gold: SourceFile,
    predictions: SourceFile,
    choose: Choose,
    *,
    task: TaskKind,
    classes: Sequence[str] | None = None,
    positive_label: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    void: Iterable[str] = (),
    wants_scores: bool = True,
    options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> OfflineOutcome:
    """Score two files without a server; `choose` gets the vocabulary and the needs met, and returns the metrics.

    Without `classes` the vocabulary is the sorted union of the labels of both files, and a note says so. Raises
    InvalidContent if `classes` or `void` list something twice, and any error of `choose`.
    """
    task_of = _OfflineTask(
        normalized_task_spec(task, classes, positive_label, metadata or {}),
        classes is not None,
        metadata or {},
        normalize_distinct(void),
        options or {},
        wants_scores,
        limits,
    )
    with garbage_collection_paused():
        return _score_plain_files(gold, predictions, choose, task_of) or _score_strictly(
            gold, predictions, choose, task_of
        )


def score_systems_offline(
    gold: SourceFile,
    predictions: Sequence[SourceFile],
    choose: Choose,
    *,
    task: TaskKind,
    classes: Sequence[str] | None = None,
    **settings: Any,
) -> list[OfflineOutcome]:
    """Score several files of predictions against one gold; the settings are those of `score_offline`.

    Without `classes` the vocabulary is the sorted union of the labels of all files, and a note says so. If one of the
    files has problems, no common vocabulary is made.
    """

    def score(source: SourceFile, names: Sequence[str] | None) -> OfflineOutcome:
        return score_offline(gold, source, choose, task=task, classes=names, **settings)

    outcomes = [score(source, classes) for source in predictions]
    specs = [outcome.case.spec for outcome in outcomes if outcome.case is not None]
    if classes is not None or len(outcomes) == 1 or len(specs) < len(outcomes):
        return outcomes
    union = _union_of_vocabularies([spec.classes for spec in specs], task)
    found = []
    for outcome, spec, source in zip(outcomes, specs, predictions, strict=True):
        common = outcome if spec.classes == union else score(source, union)
        own = vocabulary_note(spec, BOTH_FILES)
        general = vocabulary_note(replace(spec, classes=union), ALL_FILES)
        found.append(replace(common, notes=[general, *(note for note in common.notes if note != own)]))
    return found


def compare_outcomes(
    outcomes: Sequence[OfflineOutcome],
    calls: Sequence[MetricCall],
    *,
    draw_seed: str,
    rounds: int | None,
    progress: Callable[[int, int], None],
) -> dict[str, PairComparison]:
    """The comparison of two valid outcomes of `score_systems_offline` on all instances, by canonical metric string."""
    (first, first_ids), (second, second_ids) = (in_id_order(outcome) for outcome in outcomes)
    assert first_ids == second_ids
    return compare_systems(
        first, second, calls, first_ids, draw_seed=draw_seed, split="all", rounds=rounds, progress=progress
    )


def in_id_order(outcome: OfflineOutcome) -> tuple[EvaluationInput, list[str]]:
    """The evaluation input of an outcome with its rows in the order of their ids, and the ids."""
    assert outcome.case is not None
    assert outcome.gold is not None
    ids = outcome.gold.ids
    return in_order_of(outcome.case, ids), sorted(ids)


def _union_of_vocabularies(vocabularies: Sequence[Sequence[str]], task: TaskKind) -> tuple[str, ...]:
    """The labels of all vocabularies; in a binary task those that all have if there are more than two in total."""
    union = set[str]().union(*vocabularies)
    if task == "binary" and len(union) > 2:
        union = union.intersection(*vocabularies)
    return tuple(sorted(union))


@dataclass(frozen=True, slots=True)
class _OfflineTask:
    """What is known besides the two files; `declared`: the classes of `spec` were declared."""

    spec: TaskSpec
    declared: bool
    metadata: Mapping[str, Any]
    void: Sequence[str]
    options: Mapping[str, str]
    wants_scores: bool
    limits: Limits

    def needs_met(self, spec: TaskSpec, *, scores: bool, acceptable: bool) -> frozenset[str]:
        """The needs that two files and the gold metadata meet, and whether the gold gives acceptable answers."""
        parts = {name: self.metadata.get(name) is not None for name in ("folds", "groups")}
        needs = needs_met(spec, scores=scores, **parts)
        marks = {ACCEPTABLE_SETS: acceptable, UNKNOWN_CELLS: self.metadata.get("unknown_cells") is not None}
        return needs | {mark for mark, holds in marks.items() if holds}


def _score_plain_files(
    gold_source: SourceFile, predictions: SourceFile, choose: Choose, of: _OfflineTask
) -> OfflineOutcome | None:
    """The outcome of two files that the vectorized readers accept; None where the strict reader must read them."""
    gold = None
    if not of.void:
        # No score depends on the order of the instances, so they need not be sorted.
        gold = load_plain_gold(gold_source, of.spec, declared=of.declared, limits=of.limits, sort=False)
    read = None if gold is None else _read_plain_predictions(predictions, gold, of)
    if gold is None or read is None:
        return None
    arrays, classes, reading_notes = read
    if not of.declared:
        arrays = _widen_vocabulary(gold, arrays, classes)
        if not gold_rules.is_valid_vocabulary(gold.spec, of.limits):
            return None
    acceptable = gold.spec.task != "multilabel" and gold.labels.offsets is not None
    calls = choose(gold.spec, of.needs_met(gold.spec, scores=arrays.scores is not None, acceptable=acceptable))
    if ReadingRules.strictest(calls).probabilities and not _are_probabilities(arrays.scores, gold.spec):
        return None
    notes = [*gold.reading_notes, *reading_notes]
    notes += [] if of.declared else [vocabulary_note(gold.spec, BOTH_FILES)]
    outcome = OfflineOutcome(Problems(), Problems(), list(dict.fromkeys((*notes, *gold.notes))), calls)
    assign_instance_metadata(gold, of.metadata)
    _score(outcome, gold, arrays, of.options)
    return outcome


def _read_plain_predictions(
    source: SourceFile, gold: Gold, of: _OfflineTask
) -> tuple[PredictionArrays, Sequence[str], Sequence[str]] | None:
    """The arrays of predictions, the classes that their codes count, and notes; None where the strict reader must read them."""
    tables = gold.tables
    assert tables is not None
    pairs = source.kind.layout == "long" and gold.spec.task == "multilabel"
    limits = limits_for_phase(PhaseSize.of(tables.ids, tables.classes), of.limits, pairs=pairs)
    join = None if of.declared else WideningJoin(tables, limits=limits)
    rules, notes = ReadingRules(scores="used"), list[str]()
    with source.path.open("rb") as stream, suppress(TooManyRows):
        arrays = read_predictions(
            stream, source.kind, tables, gold.spec, rules=rules, limits=limits, join=join, notes=notes
        )
        if arrays is not None:
            classes = gold.spec.classes if arrays.labels is None or join is None else join.classes()
            return arrays, classes, notes
    return None


def _are_probabilities(scores: NDArray[np.float64] | None, spec: TaskSpec) -> bool:
    """Whether the scores of a file, if there are any, are valid for metrics that need probabilities."""
    if scores is None:
        return True
    # Probabilities of labels that do not exclude each other sum to anything.
    return are_probabilities(scores.reshape(-1, 1) if spec.task == "multilabel" else scores)


def _widen_vocabulary(gold: Gold, predicted: PredictionArrays, classes: Sequence[str]) -> PredictionArrays:
    """Make the sorted `classes`, which begin with those of the gold, its vocabulary; the predictions with these codes."""
    if len(classes) == len(gold.spec.classes):
        return predicted
    in_order, codes = sorted_classes(classes)
    gold.spec, gold.labels = replace(gold.spec, classes=in_order), replace(gold.labels, codes=codes[gold.labels.codes])
    assert predicted.labels is not None
    return PredictionArrays(replace(predicted.labels, codes=codes[predicted.labels.codes]))


def _score(outcome: OfflineOutcome, gold: Gold, arrays: PredictionArrays, options: Mapping[str, str]) -> None:
    if gold.unknown is not None:
        require_unknown_cells_option(outcome.calls)
        count = len(gold.unknown.codes)
        outcome.notes.append(
            f"{pluralize(count, 'gold cell is', 'gold cells are')} unknown and left out of every count"
        )
    labels, rule, decision_notes = hard_labels(gold, arrays, None, options)
    outcome.notes += decision_notes
    outcome.case, outcome.gold, outcome.rule = gold.case(labels, arrays.scores), gold, rule
    outcome.scores = score_labels(gold, labels, outcome.calls, arrays.scores, rule)


def _score_strictly(gold: SourceFile, predictions: SourceFile, choose: Choose, of: _OfflineTask) -> OfflineOutcome:
    """The outcome of any two files, with all problems."""
    outcome, spec, limits = OfflineOutcome(Problems(), Problems(), []), of.spec, of.limits
    with suppress(TooManyProblems):
        gold_table = read_source(
            gold, spec, gold=True, problems=outcome.gold_problems, limits=limits, declared=of.declared
        )
        void = find_void_ids(gold_table, spec.task, of.void)
        index = IdIndex(gold_rules.scored_ids(gold_table, void))
        known_classes: Sequence[str] = ()
        if not outcome.gold_problems:
            known_classes = spec.classes if of.declared else gold_rules.label_set(gold_table, void)
            pairs = predictions.kind.layout == "long" and spec.task == "multilabel"
            limits = limits_for_phase(PhaseSize.of(index.ids, known_classes, void=void), limits, pairs=pairs)
        settings: dict[str, Any] = {"declared": of.declared, "wants_scores": of.wants_scores, "limits": limits}
        settings["known_classes"] = known_classes
        prediction_table = read_source(predictions, spec, gold=False, problems=outcome.problems, **settings)
        outcome.notes = list(dict.fromkeys((*gold_table.notes, *prediction_table.notes)))
        if not of.declared:
            spec = replace(spec, classes=_union_of_classes(gold_table, prediction_table, spec.task, void))
            outcome.notes.append(vocabulary_note(spec, BOTH_FILES))
        problems = outcome.gold_problems
        gold_rules.check_not_empty(gold_table, void, problems)
        gold_rules.check_vocabulary(gold_table, spec, declared=of.declared, limits=limits, problems=problems)
        if not problems:  # without valid gold the predictions cannot be validated
            acceptable = spec.task != "multilabel" and gold_table.counts is not None
            has_scores = prediction_table.scores is not None
            outcome.calls = choose(spec, of.needs_met(spec, scores=has_scores, acceptable=acceptable))
            _score_tables(outcome, gold_table, prediction_table, of, spec=spec, index=index, void=void)
    return outcome


def _score_tables(
    outcome: OfflineOutcome,
    gold_table: NormalizedTable,
    prediction_table: NormalizedTable,
    of: _OfflineTask,
    *,
    spec: TaskSpec,
    index: IdIndex,
    void: frozenset[str],
) -> None:
    rules = ReadingRules.strictest(outcome.calls)
    gold = build_gold(gold_table, index, spec, void=void, rules=rules, problems=outcome.gold_problems)
    arrays = validate_table(prediction_table, index, spec, rules=rules, void=void, problems=outcome.problems)
    # Validation has added notes to both tables.
    gold_notes = gold_table.notes if gold is None else gold.notes
    outcome.notes = list(dict.fromkeys((*outcome.notes, *gold_notes, *prediction_table.notes)))
    if gold is not None and arrays is not None:
        assign_instance_metadata(gold, of.metadata)
        _score(outcome, gold, arrays, of.options)


def _union_of_classes(
    gold_table: NormalizedTable, prediction_table: NormalizedTable, task: TaskKind, void: Collection[str]
) -> tuple[str, ...]:
    """The labels of gold and predictions; in a binary task those of gold if there are more than two in total."""
    gold_labels = gold_rules.label_set(gold_table, void)
    all_labels = tuple(sorted({*gold_labels, *gold_rules.label_set(prediction_table, void)}))
    return gold_labels if task == "binary" and len(all_labels) > 2 else all_labels


def read_ids(source: SourceFile, limits: Limits = DEFAULT_LIMITS) -> tuple[list[str] | None, Problems]:
    """The ids of a file of columns, such as a template, if all of them are valid; None where it cannot be read."""
    problems = Problems()
    with source.path.open("rb") as stream:
        table = read_table(stream, source.kind, task="multilabel", gold=False, problems=problems, limits=limits)
    ids = [name for name in table.ids if name is not None]
    return (ids if ids and len(ids) == len(table.ids) else None), problems
