"""Recompute what a verified receipt states from gold and predictions, and compare."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from app.errors import AssayError
from app.formats import Problems, ReadingRules
from app.pipeline import Gold, ScoringOutcome, SourceFile, load_gold, score_predictions
from app.receipts.gold_commitment import gold_commitment
from app.receipts.statement import CONTENT_SUBJECT, FILE_SUBJECT, disclosed_text
from app.receipts.verification import VerifiedReceipt
from app.scoring import SCORER_VERSION
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe

CheckState = Literal["ok", "failed", "unknown", "other"]
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReceiptCheck:
    """One thing that was compared; `unknown` where it cannot be decided here, `other` for a file of other bytes."""

    name: str
    state: CheckState
    detail: str


@dataclass(frozen=True, slots=True)
class GoldFiles:
    """Gold with the metadata that it was uploaded with."""

    source: SourceFile
    metadata: Mapping[str, Any]
    void: Sequence[str] = ()


def check_files(
    receipt: VerifiedReceipt, gold: GoldFiles, predictions: SourceFile | None, nonce: bytes | None
) -> list[ReceiptCheck]:
    """Compare gold, and predictions if there are any, with a receipt; `nonce` opens the commitment."""
    try:
        read, problems = _load_gold(receipt.predicate, gold)
        recipe = _parse_recipe(receipt.predicate)
    except AssayError as error:
        return [ReceiptCheck("gold", "failed", f"This gold does not fit the receipt: {error.detail}")]
    if read is None:
        counts = _describe(problems)
        return [ReceiptCheck("gold", "failed", f"This gold does not fit the receipt ({counts}).")]
    checks = [] if nonce is None else [_commitment_check(receipt.predicate, read, nonce)]
    if predictions is not None:
        checks += _prediction_checks(receipt, read, recipe, predictions)
    return checks


def _load_gold(predicate: Mapping[str, Any], gold: GoldFiles) -> tuple[Gold | None, Problems]:
    return load_gold(
        gold.source,
        task=predicate["task"],
        classes=predicate["classes"],
        positive_label=predicate["positive_label"],
        metadata=gold.metadata,
        void=gold.void,
    )


def _parse_recipe(predicate: Mapping[str, Any]) -> ScoringRecipe:
    body = {name: value for name, value in predicate["recipe"].items() if name != "version"}
    rules = {"positive_label": predicate["positive_label"], "classes": predicate["classes"]}
    return parse_recipe(body, predicate["task"], stored=True, **rules)


def _describe(problems: Problems) -> str:
    return ", ".join(f"{code}: {count}" for code, count in sorted(problems.to_dict()["total"].items()))


def _commitment_check(predicate: Mapping[str, Any], gold: Gold, nonce: bytes) -> ReceiptCheck:
    if gold_commitment(gold, nonce) == predicate["gold_commitment"]:
        return ReceiptCheck("commitment", "ok", "The commitment opens to this gold with its metadata.")
    detail = "The commitment does not open to this gold, metadata, ids of void instances and nonce: one of them is "
    detail += "another one or is missing. Ids that a later version of the gold lacks are void: name them too."
    return ReceiptCheck("commitment", "failed", detail)


def _prediction_checks(
    receipt: VerifiedReceipt, gold: Gold, recipe: ScoringRecipe, predictions: SourceFile
) -> list[ReceiptCheck]:
    options: dict[str, Any] = {"decision": recipe.decision, "options": recipe.options, "primary": recipe.primary}
    # The gold may be later than the file, which was valid when it came. Its digest tells whether it is the right one.
    rules = ReadingRules.strictest(recipe.metrics, recipe.primary).of_accepted_file()
    outcome = score_predictions(gold, predictions, recipe.metrics, rules=rules, **options)
    if outcome.content_sha256 is None:
        counts = _describe(outcome.problems)
        return [ReceiptCheck("content", "failed", f"These predictions do not fit the gold ({counts}).")]
    digests = receipt.digests()
    if outcome.content_sha256 == digests.get(CONTENT_SUBJECT):
        content = ReceiptCheck("content", "ok", "The content of the predictions is the one that was scored.")
    else:
        content = ReceiptCheck("content", "failed", "The content of the predictions is not the one that was scored.")
    file = _file_check(predictions.path, digests.get(FILE_SUBJECT), same_content=content.state == "ok")
    return [file, content, _score_check(receipt, outcome, recipe)]


def _file_check(path: Path, expected: str | None, *, same_content: bool) -> ReceiptCheck:
    """Whether it is the very file; another one may have the same content, in other bytes, so this decides nothing."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK_BYTES):
            digest.update(block)
    if digest.hexdigest() == expected:
        return ReceiptCheck("file", "ok", "The file is the one that was submitted.")
    but = "but has the same content" if same_content else "and its content differs"
    return ReceiptCheck("file", "other", f"The file is not the one that was submitted, {but}.")


def _score_check(receipt: VerifiedReceipt, outcome: ScoringOutcome, recipe: ScoringRecipe) -> ReceiptCheck:
    predicate = receipt.predicate
    split, version = predicate["split"], predicate["scorer_version"]
    results = outcome.scores.get(split)
    if results is None:
        return ReceiptCheck("scores", "failed", f"This gold has no split '{split}', which the receipt is about.")
    found = {name: disclosed_text(result.value, recipe.digits) for name, result in results.items()}
    stated = {claim["metric"]: claim["value"] for claim in predicate["claims"]}
    different = [name for name in sorted(stated.keys() | found.keys()) if stated.get(name) != found.get(name)]
    if not different:
        return ReceiptCheck("scores", "ok", f"All {len(stated)} values are those that this scorer computes.")
    shown = ", ".join(f"{name}: {stated.get(name)} stated, {found.get(name)} computed" for name in different[:5])
    if version != SCORER_VERSION:
        versions = f"The receipt is of scorer version {version}, installed is {SCORER_VERSION}, and values differ"
        return ReceiptCheck("scores", "unknown", f"{versions} ({shown}). Verify with a program of that version.")
    return ReceiptCheck("scores", "failed", f"Values differ: {shown}.")
