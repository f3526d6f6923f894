"""What comes while a phase closes, opens or pauses, or while a grant is taken back, is wholly before or wholly after."""

from functools import partial

import httpx

from tests.live_service import eventually
from tests.races.concurrent_clients import CORRECT_PREDICTIONS, ConcurrentClients, call_concurrently, count_statuses
from tests.races.test_close import right, submit_files
from tests.races.test_release import open_split_challenge, selected

CLOSED = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-01-02T00:00:00Z"}
POSTS = 16


def test_no_selection_changes_after_the_answer_that_a_phase_is_closed(crowd: ConcurrentClients) -> None:
    slug = "select-close"
    blue = open_split_challenge(crowd, slug)
    admin = crowd.admin()
    ids = submit_files(blue[0], slug, *[right(at % 8) for at in range(3)])
    eventually(lambda: crowd.statuses(slug) == {"finished": 3}, "they are scored")
    after: list[set[str]] = []

    def close() -> httpx.Response:
        answer = admin.patch(f"/challenges/{slug}/phases/main", json=CLOSED)
        after.append(selected(crowd, ids))
        return answer

    acts = [(one, act) for _ in range(3) for one in ids for act in ("select", "unselect")]
    calls = [partial(blue[at % len(blue)].post, f"/submissions/{one}/{act}") for at, (one, act) in enumerate(acts)]
    answers = call_concurrently([*calls[:9], close, *calls[9:]])
    assert answers.pop(9).status_code == 200
    assert {answer.json()["code"] for answer in answers if answer.status_code != 200} <= {"phase_closed"}
    assert after == [selected(crowd, ids)]
    assert blue[-1].post(f"/submissions/{ids[0]}/select").status_code == 409


def test_what_comes_around_the_close_is_unofficial_exactly_from_then_on(crowd: ConcurrentClients) -> None:
    slug = "late-edge"
    address = crowd.challenge(slug, opens_at=CLOSED["opens_at"], late="unofficial")
    blue, official = crowd.member(slug), f"SELECT count(*) FROM submissions WHERE unofficial = {{}} AND {of(slug)}"
    before: list[int] = []

    def close() -> httpx.Response:
        answer = crowd.admin(1).patch(address.removesuffix("/submissions"), json=CLOSED)
        before.append(crowd.service.rows(official.format("false"))[0][0])
        return answer

    posts = [partial(blue[at % len(blue)].post, address, json=CORRECT_PREDICTIONS) for at in range(POSTS)]
    answers = call_concurrently([*posts[: POSTS // 2], close, *posts[POSTS // 2 :]])
    assert count_statuses(answers) == {202: POSTS, 200: 1}
    assert before == [crowd.service.rows(official.format("false"))[0][0]]  # none was official after the answer
    assert before[0] + crowd.service.rows(official.format("true"))[0][0] == POSTS
    assert crowd.ledger(slug)["reserve"] == POSTS  # late ones keep their quota


def test_nothing_comes_in_between_the_answers_that_a_phase_is_paused_and_resumed(crowd: ConcurrentClients) -> None:
    slug = "pause-edge"
    address = crowd.challenge(slug)
    blue, phase = crowd.member(slug), address.removesuffix("/submissions")
    counts: list[int] = []

    def pause() -> httpx.Response:
        answer = crowd.admin(1).post(f"{phase}/pause", json={"reason": "The gold is being checked."})
        counts.append(crowd.count("submissions", slug))
        return answer

    posts = [partial(blue[at % len(blue)].post, address, json=CORRECT_PREDICTIONS) for at in range(POSTS)]
    answers = call_concurrently([*posts[: POSTS // 2], pause, *posts[POSTS // 2 :]])
    assert answers.pop(POSTS // 2).status_code == 200
    assert {each.json()["code"] for each in answers if each.status_code != 202} <= {"phase_paused"}
    assert counts == [crowd.count("submissions", slug)] == [count_statuses(answers)[202]]
    assert crowd.admin().post(f"{phase}/resume").status_code == 200
    assert blue[-1].post(address, json=CORRECT_PREDICTIONS).status_code == 202


def test_a_grant_that_takes_leaves_no_more_than_it_says_after_its_answer(crowd: ConcurrentClients) -> None:
    slug = "grant-rush"
    address = crowd.challenge(slug, quota={"total": 12})
    blue = crowd.member(slug)
    seen: list[tuple[int, int]] = []

    def take() -> httpx.Response:
        body = {"team": "Blue", "total": -9, "reason": "They had an account too many."}
        answer = crowd.admin(1).post(f"{address.removesuffix('/submissions')}/quota/grants", json=body)
        seen.append((crowd.count("submissions", slug), answer.json()["used"]["total"]))
        return answer

    posts = [partial(blue[at % len(blue)].post, address, json=CORRECT_PREDICTIONS) for at in range(POSTS)]
    answers = call_concurrently([*posts[:6], take, *posts[6:]])
    assert answers.pop(6).status_code in {200, 201}
    admitted = count_statuses(answers)[202]
    assert {each.json()["code"] for each in answers if each.status_code != 202} <= {"quota_exceeded"}
    assert admitted == crowd.ledger(slug)["reserve"] == max(3, seen[0][1])  # up to 3, or what was there at the grant
    assert blue[-1].post(address, json=CORRECT_PREDICTIONS).status_code == 429


def of(slug: str) -> str:
    """The submissions of a challenge."""
    phases = "SELECT phases.id FROM phases JOIN challenges ON challenges.id = phases.challenge_id"
    return f"phase_id IN ({phases} WHERE challenges.slug = '{slug}')"
