"""How a scoring process checks gold: what its summary holds, and whether it can follow the active version."""

from dataclasses import replace
from typing import Any

from app.errors import InvalidContent
from app.formats.phase_size_limits import PhaseSize
from app.formats.problems import Problem, build_problem, quote
from app.gold_difference import compare_gold, new_ids, refusal_to_follow
from app.pipeline import Gold
from app.prepared.gold_cache import GoldCache
from app.prepared.gold_source import GoldFile
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.gold_content_hash import ids_hash
from app.scoring_processes.messages import CheckGold, FileResult, GoldSummary, Refusal

INSTANCE_METADATA = ("folds", "groups", "unknown_cells")
"""The fields of gold metadata that name instances."""


def summarize(gold: Gold) -> GoldSummary:
    """The summary of valid gold."""
    return GoldSummary(
        instances=len(gold.index),
        classes=list(gold.spec.classes),
        has_splits=gold.splits is not None,
        public_instances=None if gold.splits is None else int((gold.splits == 0).sum()),
        weighted=gold.weights is not None,
        void_instances=len(gold.void),
        longest_id=PhaseSize.of(gold.index.table or gold.ids, (), void=gold.void).longest_id_bytes,
        notes=gold.notes,
        class_counts=gold.class_counts(),
        ids_hash=ids_hash(gold.template_ids),
    )


def check_correction(golds: GoldCache, request: CheckGold, active: Gold) -> GoldSummary | FileResult | Refusal:
    """The summary of gold that is to follow the active version, with the difference; raises InvalidContent."""
    file, left_out = request.gold.file, list[str]()
    assert file is not None
    if request.takes_over:
        file, left_out = _fitting_metadata(golds, file, active)
    gold, problems = golds.load_correction(file, active)
    if gold is None:
        return FileResult.of(problems)
    new = new_ids(gold, active)
    problems.report_all("unknown_id", range(len(new)), lambda at: _new_id_problem(new[at]), len(new))
    if problems:
        return FileResult.of(problems)
    refused = refusal_to_follow(gold, active)
    if refused is not None:
        return Refusal(refused.detail, refused.remedy)
    difference = compare_gold(active, gold)
    if request.keeps_splits and difference.moved:
        count = pluralize(difference.moved, "instance is", "instances are")
        detail = f"{count} in another split, but the private scores of this phase have been released."
        return Refusal(detail, "Leave each instance in its split.")
    void_ids = list(gold.lacking_ids)
    golds.keep(replace(file, void_ids=void_ids), gold)
    found: dict[str, Any] = {"void_ids": void_ids or None, "difference": difference.to_dict(), "left_out": left_out}
    return replace(summarize(gold), **found)


def _fitting_metadata(golds: GoldCache, file: GoldFile, active: Gold) -> tuple[GoldFile, list[str]]:
    """The file without the metadata of instances that does not fit it, and the fields that were left out.

    Folds may lack an instance that is scored again, and labels that were unknown may be known now.
    """
    left_out = []
    for name in INSTANCE_METADATA:
        if file.metadata.get(name) is None:
            continue
        others = {field: value for field, value in file.metadata.items() if field not in INSTANCE_METADATA}
        try:
            golds.load_correction(replace(file, metadata=others | {name: file.metadata[name]}), active)
        except InvalidContent:
            left_out.append(name)
    kept = {field: value for field, value in file.metadata.items() if field not in left_out}
    return replace(file, metadata=kept), left_out


def _new_id_problem(name: str) -> Problem:
    message = f"No earlier version of the gold has {quote(name)}, so no submission has an answer for it. "
    message += "A phase keeps its instances once something was submitted: remove it, or open a new phase."
    return build_problem("unknown_id", message, instance_id=name, got=quote(name))
