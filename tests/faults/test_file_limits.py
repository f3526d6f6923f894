"""Files that would take too much time or memory, to a service that has little of either: they are problems of the file."""

from collections.abc import Iterator

import httpx
import pytest
from backports import zstd

from tests.faults.hostile import MIB
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, query_rows, stored_uploads
from tests.live_service import Live, open_challenge
from tests.store.test_fault_file_limits import send, total


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    settings = {"scoring_cpu": "3", "scoring_memory": str(256 * MIB), "crash_cap": "1"}
    service = Live(tmp_path_factory.mktemp("weak") / "data", **settings)
    service.preloads_scoring = False  # the limit is that of the program
    service.start()
    open_challenge(service.admin(), "pets", GOLD)
    yield service
    service.kill()


def test_what_would_take_too_much_time_is_not_read_to_its_end(weak: Live) -> None:
    admin, before, packed = weak.admin(), stored_uploads(weak), zstd.compress(b"{\n" * 6_000_000)
    assert total(send(admin, packed, "jsonl", "zstd", "gold")) == {"syntax": 100_000}  # and no more
    assert stored_uploads(weak) == before
    stored = send(admin, packed, "jsonl", "zstd", "stored").json()  # of which no more is read than the phase can use
    assert (stored["status"], stored["total"]) == ("rejected", {"too_large": 1})
    assert admin.submit("pets", CORRECT_PREDICTIONS, team="Green").json()["status"] == "finished"


def _too_large(answer: httpx.Response, words: str) -> None:
    assert (answer.status_code, total(answer)) == (422, {"too_large": 1}), answer.text
    assert words in answer.json()["problems"][0]["message"]


def test_what_takes_too_much_memory_is_a_problem_of_the_file(weak: Live) -> None:
    admin, before = weak.admin(), stored_uploads(weak)
    packed = zstd.compress(b'{"t1": "' + b"a" * (300 * MIB) + b'"}')
    dry = send(admin, packed, "json", "zstd").json()
    assert dry["total"] == {"too_large": 1}
    assert "more than 12 instances can need" in dry["problems"][0]["message"]
    _too_large(send(admin, packed, "json", "zstd", "gold"), "ASSAY_SCORING_MEMORY")
    assert stored_uploads(weak) == before
    stored = send(admin, packed, "json", "zstd", "stored").json()
    assert (stored["status"], stored["problems"], stored["total_at_least"]) == ("rejected", dry["problems"], True)
    of_it = f"WHERE submission_id = '{stored['id']}'"
    assert query_rows(weak, f"SELECT status, attempt, crashes FROM score_tasks {of_it}") == [("done", 1, 0)]
    assert admin.submit("pets", CORRECT_PREDICTIONS, team="Green").json()["status"] == "finished"
    assert query_rows(weak, "SELECT count(*) FROM gold_versions") == [(1,)]
