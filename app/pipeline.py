"""Connects formats and scoring: two files in, scores out, in the scoring process as on the command line."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.formats.column_data import TooManyRows
from app.formats.label_set_detection import has_label_sets
from app.formats.phase_size_limits import PhaseSize, limits_for_phase
from app.formats.problems import Problems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.source_file import SourceFile, read_source
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.id_join import LookupTables
from app.formats.vectorized.prediction_reader import read_predictions
from app.gold import (
    Gold,
    build_lookup_tables,
    garbage_collection_paused,
    is_fully_scored,
    load_gold,
    normalize_distinct,
)
from app.receipts.content import content_sha256
from app.scoring.declaration import decision_rules
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule
from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluate import BestAttainableValues, evaluate
from app.scoring.evaluation_input import EvaluationInput, IdIndex, Labels, PredictionArrays
from app.scoring.string_table import StringTable

__all__ = [
    "FileMemoryError",
    "Gold",
    "ScoringOutcome",
    "SourceFile",
    "accepted_case",
    "build_lookup_tables",
    "garbage_collection_paused",
    "hard_labels",
    "infer_task",
    "is_fully_scored",
    "load_gold",
    "normalize_distinct",
    "predicted_case",
    "predicted_cases",
    "score_labels",
    "score_predictions",
    "validate_predictions",
]


@dataclass(slots=True)
class ScoringOutcome:
    """The outcome of a file of predictions: its problems, or its scores by split and canonical metric string."""

    problems: Problems
    notes: list[str]
    scores: dict[str, dict[str, Result]] = field(default_factory=dict)
    empty_predictions: dict[str, int] = field(default_factory=dict)
    """By split, how many instances have no prediction in a file that was accepted before; empty if all have one."""
    content_sha256: str | None = None
    """Of the canonical content of the predictions (app.receipts.content); None where there are problems."""


class FileMemoryError(MemoryError):
    """Reading and validating a file of predictions took more memory than is available."""


def infer_task(gold: SourceFile, positive_label: str | None = None, limits: Limits = DEFAULT_LIMITS) -> TaskKind:
    """Infer the task from a gold file: sets of labels, a positive label, or otherwise one label each."""
    if positive_label is not None:
        return "binary"
    with gold.path.open("rb") as stream, garbage_collection_paused():
        return "multilabel" if has_label_sets(stream, gold.kind, limits) else "multiclass"


def validate_predictions(
    ids: Sequence[str] | IdIndex,
    spec: TaskSpec,
    predictions: SourceFile,
    *,
    rules: ReadingRules | None = None,
    void: Collection[str] = (),
    tables: LookupTables | None = None,
    known_ids: StringTable | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[PredictionArrays | None, Problems, list[str]]:
    """Read and validate predictions; the arrays, in the order of `ids`, are None exactly where there are problems.

    It needs no gold labels, and gives the same answer with and without them. `void` ids are dropped from a list of ids;
    an IdIndex must not contain them. With `tables` (of these ids and classes) the vectorized readers are tried first, with
    `known_ids` (these ids and then the void ones) also for files that have all of them.
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
            texts = (ids.ids, spec.classes) if tables is None else (known_ids or tables.ids, tables.classes)
            pairs = predictions.kind.layout == "long" and spec.task == "multilabel"
            size = PhaseSize.of(*texts, void=() if tables is not None and known_ids is not None else void)
            limits = limits_for_phase(size, limits, pairs=pairs)
            notes: list[str] = []
            arrays = None
            if tables is not None and known_ids is not None:
                all_tables = LookupTables(known_ids, tables.classes)
                arrays = _read_vectorized(predictions, spec, all_tables, rules, limits, notes=notes)
                arrays = None if arrays is None else arrays.first(len(ids))
            if tables is not None and arrays is None:
                arrays = _read_vectorized(predictions, spec, tables, rules, limits, notes=notes)
            if arrays is not None:
                return arrays, problems, notes
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
    source: SourceFile, spec: TaskSpec, tables: LookupTables, rules: ReadingRules, limits: Limits, *, notes: list[str]
) -> PredictionArrays | None:
    """The labels or scores of a file, if a vectorized reader supports it; else None. Raises TooManyRows."""
    with source.path.open("rb") as stream:
        return read_predictions(stream, source.kind, tables, spec, rules=rules, limits=limits, notes=notes)


def _validate_against_gold(
    gold: Gold, predictions: SourceFile, rules: ReadingRules, limits: Limits
) -> tuple[PredictionArrays | None, Problems, list[str]]:
    settings: dict[str, Any] = {"void": gold.void, "tables": gold.tables, "known_ids": gold.known_ids}
    return validate_predictions(gold.index, gold.spec, predictions, rules=rules, limits=limits, **settings)


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
    scores = score_labels(gold, labels, calls, arrays.scores, rule, probabilities=arrays.probabilities)
    empty = {} if arrays.empty is None else _count_by_split(gold, arrays.empty)
    noted = _with_notes(scores, empty)
    return ScoringOutcome(problems, [*notes, *decision_notes], noted, empty, content_sha256(gold, arrays))


def _count_by_split(gold: Gold, rows: NDArray[np.int64]) -> dict[str, int]:
    """How many of these rows each split has."""
    return {
        split: len(rows) if of_split is None else len(np.intersect1d(rows, of_split, assume_unique=True))
        for split, of_split in gold.rows_by_split().items()
    }


def _with_notes(scores: dict[str, dict[str, Result]], empty: Mapping[str, int]) -> dict[str, dict[str, Result]]:
    """The scores, of which each value that counts empty predictions says so."""
    return {
        split: {text: _with_note(result, empty.get(split, 0)) for text, result in results.items()}
        for split, results in scores.items()
    }


def _with_note(result: Result, count: int) -> Result:
    if not count or (result.value is None and result.data is None):
        return result
    subject = pluralize(count, "instance without a prediction counts", "instances without a prediction count")
    return replace(result, notes=(*result.notes, f"{subject} as empty"))


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
    cases = predicted_cases(gold, predictions, rules, splits=[split], decision=decision, options=options, limits=limits)
    return cases[split]


def predicted_cases(
    gold: Gold,
    predictions: SourceFile,
    rules: ReadingRules,
    *,
    splits: Collection[str] | None = None,
    decision: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> dict[str, EvaluationInput]:
    """The evaluation inputs of stored predictions on these splits, or on all that get scores; the file is read once.

    Raises ValueError if the predictions have problems.
    """
    arrays, problems, _ = _validate_against_gold(gold, predictions, rules, limits)
    if arrays is None:
        raise ValueError(f"stored predictions can no longer be read: {problems.to_dict()['total']}")
    labels, rule, _ = hard_labels(gold, arrays, decision, options or {})
    all_rows = gold.case(labels, arrays.scores, probabilities=arrays.probabilities)
    rows_by_split = gold.rows_by_split()
    wanted = {split: rows_by_split[split] for split in (rows_by_split if splits is None else splits)}
    return {
        split: all_rows if rows is None else decision_rules.redecide_subset(rule, all_rows.take(rows))
        for split, rows in wanted.items()
    }


def accepted_case(
    gold: Gold, predictions: SourceFile, recipe: ScoringRecipe, *, split: str = "all", limits: Limits = DEFAULT_LIMITS
) -> EvaluationInput:
    """The evaluation input of accepted predictions with the scores that they hold.

    A recipe of hard-label metrics never checked the scores of the file. They are used if they are valid; otherwise the
    file is read by the rules under which it was accepted. Raises ValueError if it can no longer be read.
    """
    accepted = ReadingRules.strictest(recipe.metrics, recipe.primary).of_accepted_file()
    settings: dict[str, Any] = {"decision": recipe.decision, "options": recipe.options, "limits": limits}
    with suppress(ValueError):
        return predicted_case(gold, predictions, replace(accepted, scores="used"), split=split, **settings)
    return predicted_case(gold, predictions, accepted, split=split, **settings)


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
    *,
    probabilities: bool = True,
) -> dict[str, dict[str, Result]]:
    """The scores of predictions (in gold order): `all`, and `public` and `private` where the gold has splits.

    If a decision `rule` derived the labels from scores, it is applied again to each split with the rows of that split
    alone. All rows come last and reuse the counts of the splits; no split depends on another.
    """
    all_rows, rows_by_split = gold.case(labels, scores, probabilities=probabilities), gold.rows_by_split()
    results, shared_counts = {}, dict[Hashable, Any]()
    for split, rows in reversed(rows_by_split.items()):
        case = all_rows if rows is None else decision_rules.redecide_subset(rule, all_rows.take(rows))
        if split not in gold.ceilings:
            gold.ceilings[split] = BestAttainableValues(case)
        results[split] = evaluate(case, calls, gold.ceilings[split], shared_counts)
    return {split: results[split] for split in rows_by_split}
