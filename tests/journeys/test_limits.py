"""Size limits of a service with little room."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    create_challenge,
    require_finished,
    require_refused,
)
from tests.live_service import Caller, Live

MAX_UPLOAD, MAX_EXPANDED = 2048, 4096


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service that takes small files only."""
    settings = {"max_upload": str(MAX_UPLOAD), "max_expanded": str(MAX_EXPANDED), "max_json_body": "1500"}
    service = Live(tmp_path_factory.mktemp("small") / "data", **settings).start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def slug(small: Live) -> str:
    return create_challenge(small.admin(), "small")


@pytest.fixture(scope="module")
def blue(small: Live, slug: str) -> Caller:
    return small.person("Blue").join(slug, "Blue")


def padded(size: int) -> bytes:
    """Valid predictions of exactly this many bytes."""
    body = json.dumps(CORRECT_PREDICTIONS).encode()
    return body + b" " * (size - len(body))


def send(caller: Caller, slug: str, content: Any, **headers: str) -> httpx.Response:
    return caller.post(
        f"{MAIN_PHASE_PATH.format(slug)}/submissions", content=content, headers={"Prefer": "wait=60", **headers}
    )


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(small: Live, slug: str, blue: Caller) -> None:
    require_finished(send(blue, slug, padded(MAX_UPLOAD)))
    stored = set((small.data_dir / "files" / "uploads").iterdir())
    body = require_refused(send(blue, slug, padded(MAX_UPLOAD + 1)), 413, "too_large")
    assert body["limit"] == MAX_UPLOAD
    require_refused(
        small.admin().post(f"{MAIN_PHASE_PATH.format(slug)}/gold", content=padded(MAX_UPLOAD + 1)), 413, "too_large"
    )
    assert set((small.data_dir / "files" / "uploads").iterdir()) == stored


def test_a_body_of_untold_length_is_counted_on_the_way(slug: str, blue: Caller) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        yield padded(1024)
        for _ in range(count):
            yield b" " * 512

    require_finished(send(blue, slug, chunks(2)))
    require_refused(send(blue, slug, chunks(3)), 413, "too_large")


def test_a_file_that_swells_beyond_the_limit_is_refused(small: Live, slug: str, blue: Caller) -> None:
    fits, bomb = gzip.compress(padded(MAX_EXPANDED)), gzip.compress(padded(200 * MAX_EXPANDED))
    assert len(bomb) < MAX_UPLOAD
    require_finished(send(blue, slug, fits, **{"Content-Encoding": "gzip"}))
    sent = send(blue, slug, bomb, **{"Content-Encoding": "gzip"}).json()
    assert (sent["status"], sent["total"]) == ("rejected", {"too_large": 1})
    gold = small.admin().post(
        f"{MAIN_PHASE_PATH.format(slug)}/gold", content=bomb, headers={"Content-Encoding": "gzip"}
    )
    assert require_refused(gold, 422, "invalid_gold")["total"] == {"too_large": 1}


def test_a_json_request_has_a_limit_of_its_own(small: Live, slug: str) -> None:
    answer = small.admin().patch(f"/challenges/{slug}", json={"description": "x" * 2000})
    require_refused(answer, 413, "too_large")


def test_a_body_that_cannot_fit_its_phase_is_refused_uncharged(live: Live) -> None:
    slug = create_challenge(live.admin(), "tight", phases=[{"name": "main", "quota": {"total": 2}}])
    who = live.person("Tess").join(slug, "Tess")
    large = padded(16 << 20)
    body = require_refused(send(who, slug, large), 413, "too_large")
    assert body["limit"] < len(large)
    assert "Predictions for this phase" in body["detail"]
    pieces = (large[start : start + (1 << 20)] for start in range(0, len(large), 1 << 20))
    require_refused(send(who, slug, pieces), 413, "too_large")
    require_refused(
        who.post(f"{MAIN_PHASE_PATH.format(slug)}/submissions?dry_run=true", content=large), 413, "too_large"
    )
    require_finished(send(who, slug, padded(8 << 20)))
    assert who.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["used"]["total"] == 1


def test_the_limit_of_a_body_follows_from_the_ids_of_gold_those_not_scored_included(live: Live) -> None:
    """Of thousands of instances, too: their ids are as long as they are, and not as long as ids may be."""
    ids = [f"t{number}" for number in range(1800)]
    gold = [
        {"id": name, "label": "ab"[row % 2], "Usage": "Public" if row < 900 else "Ignored"}
        for row, name in enumerate(ids)
    ]
    slug = create_challenge(live.admin(), "wide", gold)
    who = live.person("Wilma").join(slug, "Wilma")
    submit = f"{MAIN_PHASE_PATH.format(slug)}/submissions"
    body = require_refused(who.post(submit, content=b"[" + b" " * (28 << 20)), 413, "too_large")
    assert 1800 * 5000 < body["limit"] < 28 << 20
    require_finished(send(who, slug, json.dumps(dict.fromkeys(ids, "a")).encode()))
    assert who.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["used"]["per_day"] == 1


def test_a_file_of_too_many_rows_is_answered_alike_everywhere(live: Live) -> None:
    slug = create_challenge(live.admin(), "crowded")
    who = live.person("Cora").join(slug, "Cora")
    body = gzip.compress(b"{}\n" * 2_000_000)
    how = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    dry = who.post(f"{MAIN_PHASE_PATH.format(slug)}/submissions?dry_run=true", content=body, headers=how).json()
    assert (dry["total"], dry["total_at_least"]) == ({"too_many_rows": 1}, True)
    sent = send(who, slug, body, **how).json()
    assert (sent["status"], sent["total"], sent["total_at_least"]) == ("rejected", {"too_many_rows": 1}, True)
    assert sent["problems"] == dry["problems"]
    read = who.get(f"/submissions/{sent['id']}").json()
    assert (read["total"], read["total_at_least"]) == (sent["total"], True)
    assert require_finished(send(who, slug, padded(1024)))["total_at_least"] is False
