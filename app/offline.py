"""Scores without a server: two files in, scores and the problems of both files out."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from app.formats.column_data import NormalizedTable
from app.formats.phase_size_limits import PhaseSize, limits_for_phase
from app.formats.problems import Problems, TooManyProblems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.source_file import SourceFile, read_source
from app.formats.strict_reader import read_table
from app.formats.validation import gold_validation as gold_rules
from app.formats.validation.table_validation import validate_table
from app.gold import (
    assign_groupings,
    build_gold,
    find_void_ids,
    garbage_collection_paused,
    normalize_distinct,
    normalized_task_spec,
)
from app.pipeline import hard_labels, score_labels
from app.scoring.declaration.metric import ACCEPTABLE_SETS, MetricCall, Result
from app.scoring.declaration.requirements import needs_met
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import EvaluationInput, IdIndex


@dataclass(slots=True)
class OfflineOutcome:
    """The result of `assay score`: scores, their evaluation input, and the problems of each of the two files."""

    gold_problems: Problems
    problems: Problems
    notes: list[str]
    calls: Sequence[MetricCall] = ()
    case: EvaluationInput | None = None
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)


def score_offline(
    gold: SourceFile,
    predictions: SourceFile,
    choose: Callable[[TaskSpec, frozenset[str]], Sequence[MetricCall]],
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
    outcome = OfflineOutcome(Problems(), Problems(), [])
    metadata = metadata or {}
    spec = normalized_task_spec(task, classes, positive_label, metadata)
    declared = classes is not None
    with garbage_collection_paused(), suppress(TooManyProblems):
        gold_table = read_source(
            gold, spec, gold=True, problems=outcome.gold_problems, limits=limits, declared=declared
        )
        void_ids = find_void_ids(gold_table, task, normalize_distinct(void))
        if not outcome.gold_problems:
            known_classes = spec.classes if declared else gold_rules.label_set(gold_table, void_ids)
            ids = gold_rules.scored_ids(gold_table, void_ids)
            pairs = predictions.kind.layout == "long" and task == "multilabel"
            limits = limits_for_phase(PhaseSize.of(ids, known_classes, void=void_ids), limits, pairs=pairs)
        settings: dict[str, Any] = {"declared": declared, "wants_scores": wants_scores, "limits": limits}
        prediction_table = read_source(predictions, spec, gold=False, problems=outcome.problems, **settings)
        outcome.notes = list(dict.fromkeys((*gold_table.notes, *prediction_table.notes)))
        if classes is None:
            spec = replace(spec, classes=_union_of_classes(gold_table, prediction_table, task, void_ids))
            size = len(spec.classes)
            labels = f"the sorted labels of gold and predictions ({size})"
            outcome.notes.append(f"no classes were declared: {labels} are the vocabulary")
        gold_rules.check_not_empty(gold_table, void_ids, outcome.gold_problems)
        gold_rules.check_vocabulary(gold_table, spec, declared=declared, limits=limits, problems=outcome.gold_problems)
        if not outcome.gold_problems:  # without valid gold the predictions cannot be validated
            outcome.calls = choose(spec, _needs_met(spec, gold_table, prediction_table, metadata))
            arguments: dict[str, Any] = {"spec": spec, "void": void_ids, "options": options or {}, "metadata": metadata}
            _score_tables(outcome, gold_table, prediction_table, **arguments)
    return outcome


def _needs_met(
    spec: TaskSpec, gold_table: NormalizedTable, prediction_table: NormalizedTable, metadata: Mapping[str, Any]
) -> frozenset[str]:
    """The needs that two files and the gold metadata meet, and whether the gold gives acceptable answers."""
    parts = {name: metadata.get(name) is not None for name in ("folds", "groups")}
    acceptable = spec.task != "multilabel" and gold_table.counts is not None
    needs = needs_met(spec, scores=prediction_table.scores is not None, **parts)
    return needs | {ACCEPTABLE_SETS} if acceptable else needs


def _score_tables(
    outcome: OfflineOutcome,
    gold_table: NormalizedTable,
    prediction_table: NormalizedTable,
    *,
    spec: TaskSpec,
    void: frozenset[str],
    options: Mapping[str, str],
    metadata: Mapping[str, Any],
) -> None:
    rules = ReadingRules.strictest(outcome.calls)
    gold = build_gold(gold_table, spec, void, rules, outcome.gold_problems)
    index = gold.index if gold else IdIndex(gold_rules.scored_ids(gold_table, void))
    arrays = validate_table(prediction_table, index, spec, rules=rules, void=void, problems=outcome.problems)
    # Validation has added notes to both tables.
    outcome.notes = list(dict.fromkeys((*outcome.notes, *gold_table.notes, *prediction_table.notes)))
    if gold is not None and arrays is not None:
        assign_groupings(gold, metadata)
        labels, rule, decision_notes = hard_labels(gold, arrays, None, options)
        outcome.notes += decision_notes
        outcome.case = gold.case(labels, arrays.scores)
        outcome.scores = score_labels(gold, labels, outcome.calls, arrays.scores, rule)


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
