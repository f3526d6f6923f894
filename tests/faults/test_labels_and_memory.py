"""How many labels the sets of a file may have follows from the memory, before any is scored: no status tells of the gold."""

import json
from collections.abc import Iterator

import pytest
from backports import zstd

from tests.faults.hostile import MIB
from tests.live_service import Live, open_challenge

MEMORY = 256 * MIB
CLASSES = [f"{number:x}" for number in range(80_000)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("memory") / "data", scoring_memory=str(MEMORY))
    service.preloads_scoring = False  # the limit is that of the program
    service.start()
    yield service
    service.kill()


@pytest.mark.parametrize("layout", ["records", "map"])
@pytest.mark.parametrize("more", [0, 1])
def test_more_labels_than_there_is_memory_to_score_are_refused_and_all_others_scored(
    small: Live, layout: str, more: int
) -> None:
    gold = [{"id": str(at), "labels": CLASSES[at : at + 2]} for at in range(40)]
    recipe = {"primary": "f1_micro", "metrics": ["f1_micro", "f1_samples", "hamming_loss"]}
    admin = small.admin()
    slug = f"{layout}-{more}"
    open_challenge(admin, slug, gold, task="multilabel", classes=CLASSES, recipe=recipe)
    limit = MEMORY // 96 // len(gold)
    count, status = limit + more, "rejected" if more else "finished"
    labels = {row["id"]: CLASSES[:count] for row in gold}
    content = labels if layout == "map" else [{"id": at, "labels": names} for at, names in labels.items()]
    answer = admin.post(
        f"/challenges/{slug}/phases/main/submissions",
        content=zstd.compress(json.dumps(content).encode()),
        params={"team": "Blue"},
        headers={"Content-Type": "application/json", "Content-Encoding": "zstd", "Prefer": "wait=60"},
    ).json()
    assert answer["status"] == status, answer
    assert set(answer["total"] or {}) == ({"too_many_rows"} if more else set())
