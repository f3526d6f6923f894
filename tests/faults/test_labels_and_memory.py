"""How many labels the sets of a file may have follows from the memory, before any is scored: no status tells of the gold."""

import json
from pathlib import Path

import pytest
from backports import zstd

from tests.faults.hostile import MIB
from tests.live_service import Live, open_challenge

MEMORY = 256 * MIB
CLASSES = [f"{number:x}" for number in range(80_000)]


@pytest.mark.parametrize("layout", ["records", "map"])
def test_more_labels_than_there_is_memory_to_score_are_refused_and_all_others_scored(
    tmp_path: Path, layout: str
) -> None:
    service = Live(tmp_path / "data", scoring_memory=str(MEMORY)).start()
    try:
        gold = [{"id": str(at), "labels": CLASSES[at : at + 2]} for at in range(40)]
        recipe = {"primary": "f1_micro", "metrics": ["f1_micro", "f1_samples", "hamming_loss"]}
        admin = service.admin()
        open_challenge(admin, "pets", gold, task="multilabel", classes=CLASSES, recipe=recipe)
        each = MEMORY // 96 // len(gold)
        for labels, due in ((each, "finished"), (each + 1, "rejected")):
            answers = {row["id"]: CLASSES[:labels] for row in gold}
            content = answers if layout == "map" else [{"id": at, "labels": found} for at, found in answers.items()]
            answer = admin.post(
                "/challenges/pets/phases/main/submissions",
                content=zstd.compress(json.dumps(content).encode()),
                params={"team": "Blue"},
                headers={"Content-Type": "application/json", "Content-Encoding": "zstd", "Prefer": "wait=60"},
            ).json()
            assert answer["status"] == due, answer
            assert set(answer["total"] or {}) == (set() if due == "finished" else {"too_many_rows"})
    finally:
        service.kill()
