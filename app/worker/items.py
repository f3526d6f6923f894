"""How a scoring process analyses items and tries relabellings: from stored files to the functions of item analysis."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from app.analysis.items.answers import answer_matrix
from app.analysis.items.corrected_gold import change_records, changes_csv, gold_lines
from app.analysis.items.relabelling import LabelChange, Relabelling, describe_moves, relabel, score_twice
from app.analysis.items.report import ItemAnalysis, write_items_csv
from app.errors import InvalidContent
from app.formats import Limits, ReadingRules
from app.pipeline import Gold, hard_labels, validate_predictions
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule, redecide_subset
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.evaluation_input import EvaluationInput
from app.scoring_processes.item_requests import AnalyzeItems, ItemSystem, TryRelabelling, WriteCorrectedGold
from app.scoring_processes.messages import AnalysisResult, FileWritten, JsonObject, Refusal

Rule = ConfiguredDecisionRule | None


def analyze_items(gold: Gold, recipe: ScoringRecipe, request: AnalyzeItems, limits: Limits) -> FileWritten:
    """Write a report on the instances of a split, or on pairs of systems."""
    cases = ((system.key, case) for system, case, _ in _cases(gold, recipe, request.systems, request.split, limits))
    analysis = ItemAnalysis(answer_matrix(cases, _ids(gold, request.split)))
    if request.part == "items":
        _write_items(analysis, request)
        return FileWritten()
    teams = [system.team for system in request.systems]
    report = analysis.agreement() if request.part == "agreement" else analysis.near_duplicates(teams)
    request.target.write_text(json.dumps(report), encoding="utf-8")
    return FileWritten()


def _write_items(analysis: ItemAnalysis, request: AnalyzeItems) -> None:
    rows = analysis.rows(request.sort, request.select)
    items = analysis.items(rows)
    with request.target.open("w", encoding="utf-8", newline="") as stream:
        if request.as_csv:
            write_items_csv(stream, items)
            return
        stream.write(json.dumps(analysis.summary() | {"selected": len(rows)}) + "\n")
        for item in items:
            stream.write(json.dumps(item, ensure_ascii=False) + "\n")


def try_relabelling(
    gold: Gold, recipe: ScoringRecipe, request: TryRelabelling, limits: Limits
) -> AnalysisResult | Refusal:
    """Ranks and values of all systems before and after some changes."""
    try:
        changed = _relabel(gold, request.changes, request.split)
    except InvalidContent as error:
        return _refusal(error)
    calls = recipe.metrics
    scored = [
        score_twice(system.key, case, changed, calls, rule=rule, baseline=system.baseline)
        for system, case, rule in _cases(gold, recipe, request.systems, request.split, limits)
    ]
    ranked_by = [recipe.primary, *recipe.tie_breakers]
    sizes = {"before": changed.labels.n, "after": len(changed.kept)}
    return AnalysisResult({"changes": changed.summary(), "instances": sizes} | describe_moves(scored, calls, ranked_by))


def write_corrected_gold(gold: Gold, request: WriteCorrectedGold) -> FileWritten | Refusal:
    """Write the gold with some changes applied, or these changes alone."""
    try:
        changed = _relabel(gold, request.changes, "all")
    except InvalidContent as error:
        return _refusal(error)
    with request.target.open("w", encoding="utf-8", newline="") as stream:
        if request.form == "gold":
            stream.writelines(gold_lines(gold, changed))
            return FileWritten()
        records = change_records(gold.ids, changed)
        if request.form == "csv":
            stream.write(changes_csv(records))
        else:
            stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return FileWritten()


def _relabel(gold: Gold, changes: Sequence[JsonObject], split: str) -> Relabelling:
    """The changed gold of a split; changes of instances of the other split are checked and move nothing there."""
    parsed = [LabelChange.of(change) for change in changes]
    whole = relabel(gold.spec, gold.labels, gold.ids, parsed, gold.unknown)
    rows = gold.rows_by_split()[split]
    if rows is None:
        return whole
    ids = _ids(gold, split)
    within = set(ids)
    unknown = None if gold.unknown is None else gold.unknown.take(rows)
    return relabel(gold.spec, gold.labels.take(rows), ids, [each for each in parsed if each.id in within], unknown)


def _refusal(error: InvalidContent) -> Refusal:
    return Refusal(error.detail, error.advice, error.extra.get("errors"))


def _cases(
    gold: Gold, recipe: ScoringRecipe, systems: Sequence[ItemSystem], split: str, limits: Limits
) -> Iterator[tuple[ItemSystem, EvaluationInput, Rule]]:
    """The evaluation input of each system on a split with its decision rule; one file is read at a time."""
    rules = ReadingRules.strictest(recipe.metrics, recipe.primary).of_accepted_file()
    settings: dict[str, Any] = {"rules": rules, "void": gold.void, "tables": gold.tables, "limits": limits}
    rows = gold.rows_by_split()[split]
    for system in systems:
        arrays, problems, _ = validate_predictions(gold.index, gold.spec, system.predictions, **settings)
        if arrays is None:
            raise ValueError(f"stored predictions can no longer be read: {problems.to_dict()['total']}")
        labels, rule, _ = hard_labels(gold, arrays, recipe.decision, recipe.options)
        case = gold.case(labels, arrays.scores, probabilities=arrays.probabilities)
        yield system, case if rows is None else redecide_subset(rule, case.take(rows)), rule


def _ids(gold: Gold, split: str) -> list[str]:
    """The ids of the instances of a split, in the order of its rows."""
    rows, ids = gold.rows_by_split()[split], gold.ids
    return ids if rows is None else [ids[row] for row in rows.tolist()]
