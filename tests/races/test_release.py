"""The maximum of a selection holds however many select at once, and a release misses nothing that was admitted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from app.store import locks
from app.store.tables import Submission
from app.store.types import new_id
from tests.live_service import MAX_WAIT_SECONDS, Caller, eventually
from tests.races.concurrent_clients import GOLD, ConcurrentClients, call_concurrently, count_statuses
from tests.races.test_close import LONG_AGO, close, database, right, submit_files, wait_until_held_up

SPLIT_GOLD = [row | {"split": ("public", "private")[at % 2]} for at, row in enumerate(GOLD)]
RECIPE: dict[str, Any] = {"primary": "accuracy", "metrics": ["accuracy"], "selection": "selected", "selection_max": 3}
ENTRIES = 12


def open_split_challenge(crowd: ConcurrentClients, slug: str) -> list[Caller]:
    """A challenge with splits and a limited selection; gives the only member of its only team, at each door."""
    admin = crowd.admin()
    body = {"slug": slug, "title": slug, "task": "multiclass", "recipe": RECIPE, "phases": [{"name": "main"}]}
    admin.post("/challenges", json=body).raise_for_status()
    admin.post(f"/challenges/{slug}/phases/main/gold?activate=true", json=SPLIT_GOLD).raise_for_status()
    return crowd.member(slug)


def select(callers: list[Caller], ids: list[str]) -> list[int]:
    """Select all of these at once, in turn at each door; gives the statuses of the answers."""
    calls = [partial(callers[at % len(callers)].post, f"/submissions/{one}/select") for at, one in enumerate(ids)]
    answers = call_concurrently(calls)
    assert {each.json()["code"] for each in answers if each.status_code == 409} <= {"selection_full", "phase_closed"}
    return sorted(count_statuses(answers).elements())


def selected(crowd: ConcurrentClients, ids: list[str]) -> set[str]:
    """Which of these are selected, as an organizer reads them."""
    return {one for one in ids if crowd.admin().get(f"/submissions/{one}").json()["selected"]}


def test_no_more_are_selected_than_allowed_however_many_select_at_once(crowd: ConcurrentClients) -> None:
    slug = "select-rush"
    blue = open_split_challenge(crowd, slug)
    with crowd.scoring_paused():
        ids = submit_files(blue[0], slug, *[right(at % 8) for at in range(ENTRIES)])
        assert select(blue, ids) == [200] * 3 + [409] * (ENTRIES - 3)
        chosen = selected(crowd, ids)
        assert len(chosen) == 3
        assert blue[-1].post(f"/submissions/{min(chosen)}/unselect").status_code == 200
        others = [one for one in ids if one not in chosen]
        assert select(blue, others) == [200] + [409] * (len(others) - 1)
        assert len(selected(crowd, ids)) == 3


def test_a_selection_comes_before_the_release_or_not_at_all(crowd: ConcurrentClients) -> None:
    slug = "select-release"
    blue = open_split_challenge(crowd, slug)
    ids = submit_files(blue[0], slug, right(2), right(4))
    eventually(lambda: crowd.statuses(slug) == {"finished": 2}, "they are scored")
    now = datetime.now(UTC)
    close(crowd, slug, {**LONG_AGO, "closes_at": now.isoformat()})
    with database(crowd) as db, db.write() as session:
        for one in ids:  # they had no scores at the close, so they may be selected still
            row = session.get_one(Submission, one)
            row.submitted_at, row.finished_at = now - timedelta(seconds=1), now + timedelta(microseconds=1)
    address = f"/challenges/{slug}/phases/main/release"
    calls = [partial(blue[-1].post, f"/submissions/{one}/select") for one in ids]
    *answers, released = call_concurrently([*calls, partial(crowd.admin().post, address)])
    assert released.status_code == 200, released.text
    accepted = {one for one, answer in zip(ids, answers, strict=True) if answer.status_code == 200}
    assert {answer.json()["code"] for answer in answers if answer.status_code != 200} <= {"phase_released"}
    assert selected(crowd, ids) == accepted
    shown = {row["submission"] for row in released.json()["rows"]}
    assert shown == {row["submission"] for row in crowd.admin().get(address).json()["rows"]}


def test_a_release_waits_for_a_submission_that_is_being_admitted(crowd: ConcurrentClients) -> None:
    slug = "release-admitted"
    blue = open_split_challenge(crowd, slug)
    (entry,) = submit_files(blue[0], slug, right(4))
    eventually(lambda: crowd.statuses(slug) == {"finished": 1}, "it is scored")
    now = datetime.now(UTC)
    close(crowd, slug, {**LONG_AGO, "closes_at": now.isoformat()})
    address = f"/challenges/{slug}/phases/main/release"
    with database(crowd) as db, ThreadPoolExecutor(1) as pool:
        with db.write() as session:
            locks.challenge(session, slug, shared=True)
            like = session.get_one(Submission, entry)
            row = {column.key: getattr(like, column.key) for column in Submission.__table__.columns}
            row |= {"id": new_id(), "status": "queued", "submitted_at": now - timedelta(seconds=1)}
            session.add(Submission(**row))
            session.flush()
            answer = pool.submit(crowd.admin().post, address)
            wait_until_held_up(crowd, answer)
        refused = answer.result(MAX_WAIT_SECONDS).json()
    assert refused["code"] == "not_releasable", refused
    assert [each["code"] for each in refused["obstacles"]] == ["unsettled"]
    assert crowd.admin().post(f"/submissions/{row['id']}/cancel").status_code == 200
    assert crowd.admin().post(address).json()["released_at"]
