"""Systems of the real challenges as evaluation inputs, read plainly."""

import gzip
import json
from typing import Any

from app.scoring.evaluation_input import EvaluationInput
from tests.golden.reference_data import challenge_folder, read_json
from tests.scoring.case_builder import case


def read_system(challenge: str, system: str) -> EvaluationInput:
    """The predictions of a system against the gold of a challenge with one label per instance, by id."""
    folder = challenge_folder(challenge)
    lines = gzip.decompress((folder / "gold.jsonl.gz").read_bytes()).decode().splitlines()
    gold = {row["id"]: row["label"] for row in map(json.loads, lines)}
    rows: list[dict[str, Any]] = read_json(folder / "predictions" / f"{system}.json.gz")
    predicted = {row["id"]: row["label"] for row in rows}
    classes = sorted({*gold.values()})
    ids = sorted(gold)
    return case("multiclass", classes, [gold[name] for name in ids], [predicted[name] for name in ids])
