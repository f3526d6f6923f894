"""How a scoring process computes intervals and compares boards: from stored files to the functions of uncertainty."""

from typing import Any

from app.formats import Limits, ReadingRules
from app.pipeline import Gold, SourceFile, predicted_cases
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.board import BoardCase, board_uncertainty
from app.scoring.uncertainty.intervals import intervals
from app.scoring.uncertainty.rankings import side_by_side
from app.scoring_processes.messages import CompareBoard, ComputeIntervals


def score_intervals(
    gold: Gold, recipe: ScoringRecipe, request: ComputeIntervals, limits: Limits
) -> dict[str, dict[str, dict[str, Any]]]:
    """Intervals by split and canonical metric string."""
    found = {}
    for split, case in _cases(gold, recipe, request.predictions, limits).items():
        values = {text: result.value for text, result in evaluate(case, recipe.metrics).items()}
        ids = _ids(gold, split)
        computed = intervals(case, recipe.metrics, values, ids, draw_seed=request.draw_seed, split=split)
        found[split] = {name: interval.to_dict() for name, interval in computed.items()}
    return found


def compare_board(gold: Gold, recipe: ScoringRecipe, request: CompareBoard, limits: Limits) -> dict[str, Any]:
    """The comparison of the rows of a board by one metric of the recipe, or their rankings by all."""
    split, seed = request.split, request.draw_seed
    entries = []
    for file in request.entries:
        case = _cases(gold, recipe, file.predictions, limits, split)[split]
        entries.append(BoardCase(file.key, case))
    ids = _ids(gold, split)
    if request.metric is None:
        settings: dict[str, Any] = {"draw_seed": seed, "split": split, "options": recipe.options}
        return side_by_side(entries, ids, recipe.metrics, **settings).to_dict()
    call = next(each for each in recipe.metrics if each.text == request.metric)
    return board_uncertainty(entries, ids, call, draw_seed=seed, split=split).to_dict()


def _cases(
    gold: Gold, recipe: ScoringRecipe, predictions: SourceFile, limits: Limits, split: str | None = None
) -> dict[str, EvaluationInput]:
    """The evaluation inputs of stored predictions, which were accepted before."""
    rules = ReadingRules.strictest(recipe.metrics, recipe.primary).of_accepted_file()
    settings: dict[str, Any] = {"decision": recipe.decision, "options": recipe.options, "limits": limits}
    return predicted_cases(gold, predictions, rules, splits=None if split is None else [split], **settings)


def _ids(gold: Gold, split: str) -> list[str]:
    """The ids of the instances of a split, in the order of its rows."""
    rows, ids = gold.rows_by_split()[split], gold.ids
    return ids if rows is None else [ids[row] for row in rows.tolist()]
