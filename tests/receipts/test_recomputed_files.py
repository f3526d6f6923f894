"""Files beside a receipt: the same content in another file, other content, and a file that later gold has to accept."""

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rfc8785

from app.analysis.recompute_receipt import GoldFiles, check_files
from app.formats import detect_file_kind
from app.formats.reading_rules import ReadingRules
from app.formats.source_file import SourceFile
from app.pipeline import load_gold, score_predictions
from app.receipts.content import canonical_json
from app.receipts.statement import ScoreContext, SignedScore, StatementTemplate
from app.receipts.verification import VerifiedReceipt
from app.scoring import SCORER_VERSION
from app.scoring.declaration.recipe import parse_recipe

RECIPE = parse_recipe({"primary": "f1_macro", "metrics": ["accuracy", "f1_macro"]}, "multiclass")
GOLD = {"a": "cat", "b": "dog", "c": "cat", "é": "dog"}
SENT = {"a": "cat", "b": "cat", "c": "cat", "é": "dog"}


def written(path: Path, text: str) -> SourceFile:
    path.write_text(text, encoding="utf-8")
    return SourceFile(path, detect_file_kind(path.name, None, None))


@pytest.fixture
def gold(tmp_path: Path) -> SourceFile:
    return written(tmp_path / "gold.json", json.dumps(GOLD))


def receipt_of(gold: SourceFile, sent: SourceFile, rules: Any = None, void: tuple[str, ...] = ()) -> VerifiedReceipt:
    """What a receipt of this file states."""
    read = load_gold(gold, task="multiclass", classes=["cat", "dog"], positive_label=None, metadata={}, void=void)[0]
    assert read is not None
    outcome = score_predictions(read, sent, RECIPE.metrics, primary=RECIPE.primary, rules=rules)
    assert outcome.content_sha256 is not None
    context = ScoreContext(
        "pets", "main", "all", 1, "ab" * 32, "multiclass", None, ["cat", "dog"], 1, RECIPE, SCORER_VERSION
    )
    metrics = {name: {"value": result.value} for name, result in outcome.scores["all"].items()}
    file = hashlib.sha256(sent.path.read_bytes()).hexdigest()
    moment = "2027-01-31T12:00:00.100Z"
    signed = SignedScore("0" * 32, "1" * 32, file, outcome.content_sha256, moment, metrics)
    payload = StatementTemplate(context).payload(signed)
    return VerifiedReceipt(json.loads(payload), "key", payload)


def states(receipt: VerifiedReceipt, gold: SourceFile, sent: SourceFile, void: tuple[str, ...] = ()) -> dict[str, str]:
    return {each.name: each.state for each in check_files(receipt, GoldFiles(gold, {}, void), sent, None)}


@pytest.fixture
def sent(tmp_path: Path) -> SourceFile:
    return written(tmp_path / "sent.json", json.dumps(SENT))


def test_the_file_itself_is_ok(gold: SourceFile, sent: SourceFile) -> None:
    assert states(receipt_of(gold, sent), gold, sent) == {"file": "ok", "content": "ok", "scores": "ok"}


def other_formats(folder: Path) -> list[SourceFile]:
    """The same predictions in other formats, spellings and orders."""
    turned = list(SENT.items())[::-1]
    arrays = folder / "arrays.npz"
    np.savez(arrays, ids=np.array(list(SENT)), labels=np.array(list(SENT.values())))
    return [
        written(folder / "map.json", json.dumps(dict(turned), ensure_ascii=False, indent=2)),
        written(folder / "records.json", json.dumps([{"id": each, "label": label} for each, label in turned])),
        written(folder / "columns.json", json.dumps({"ids": list(SENT), "labels": list(SENT.values())})),
        written(folder / "lines.jsonl", "".join(json.dumps({"id": i, "label": x}) + "\n" for i, x in turned)),
        written(folder / "table.csv", "id,label\n" + "".join(f"{i},{x}\n" for i, x in turned)),
        written(folder / "table.tsv", "label\tid\r\n" + "".join(f"{x}\t{i}\r\n" for i, x in turned)),
        SourceFile(arrays, detect_file_kind(arrays.name, None, None)),
    ]


def test_the_same_content_in_another_format_is_told_plainly(gold: SourceFile, sent: SourceFile, tmp_path: Path) -> None:
    receipt = receipt_of(gold, sent)
    for other in other_formats(tmp_path):
        found = states(receipt, gold, other)
        assert found == {"file": "other", "content": "ok", "scores": "ok"}, other.path.name


def test_other_content_fails(gold: SourceFile, sent: SourceFile, tmp_path: Path) -> None:
    other = written(tmp_path / "other.json", json.dumps(SENT | {"c": "dog"}))
    assert states(receipt_of(gold, sent), gold, other) == {"file": "other", "content": "failed", "scores": "failed"}


def test_a_file_that_lacks_an_id_which_was_void_is_read_as_it_was_accepted(gold: SourceFile, tmp_path: Path) -> None:
    """Its receipt under later gold, where the id counts, has an empty prediction for it; and so has the recomputation."""
    short = written(tmp_path / "short.json", json.dumps({name: SENT[name] for name in ("a", "b", "c")}))
    assert states(receipt_of(gold, short, void=("é",)), gold, short, ("é",))["scores"] == "ok"
    rules = ReadingRules.strictest(RECIPE.metrics, RECIPE.primary).of_accepted_file()
    later = receipt_of(gold, short, rules)
    assert states(later, gold, short) == {"file": "ok", "content": "ok", "scores": "ok"}


def test_one_score_is_that_of_the_positive_label(gold: SourceFile, tmp_path: Path) -> None:
    """By the text of docs/receipts.md: the classes that have scores, the ids and the scores as one hash."""
    scores = {"a": 0.25, "b": 0.5, "c": 0.125, "é": 1.0}
    body = {"predictions": [{"id": name, "score": score} for name, score in scores.items()]}
    sent = written(tmp_path / "scores.json", json.dumps(body))
    read = load_gold(gold, task="binary", classes=["cat", "dog"], positive_label="dog", metadata={})[0]
    assert read is not None
    recipe = parse_recipe(
        {"primary": "auc", "metrics": ["auc"]}, "binary", classes=["cat", "dog"], positive_label="dog"
    )
    packed = hashlib.sha256(b"".join(struct.pack("<d", score) for score in scores.values())).hexdigest()
    content = rfc8785.dumps({"classes": ["dog"], "ids": list(scores), "scores": packed})
    outcome = score_predictions(read, sent, recipe.metrics, primary=recipe.primary)
    assert outcome.content_sha256 == hashlib.sha256(content).hexdigest()


def test_canonical_json_is_that_of_rfc_8785() -> None:
    """The texts of the published examples (section 3.2.2), and each character that JSON or the RFC treats specially."""
    example = "\u20ac$\u000f\nA'\u0042\u0022\u005c\\\"/"
    assert canonical_json(example).decode() == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'  # section 3.2.3
    for code in [*range(0x100), 0x20AC, 0x2028, 0xD7FF, 0xE000, 0xFB33, 0x1F600]:
        assert canonical_json([chr(code)]) == rfc8785.dumps([chr(code)])
    assert canonical_json([0, 1, "€"]) == rfc8785.dumps([0, 1, "€"])
