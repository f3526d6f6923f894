"""Whatever two people make at the same moment at two replicas is made once, whole, and the others are told."""

from collections import Counter
from functools import partial
from typing import Any

import httpx
import pytest

from tests.live_service import PASSWORD, Caller, eventually
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    FINAL_STATUSES,
    GOLD,
    ConcurrentClients,
    call_concurrently,
    count_statuses,
)

RECIPES = [{"primary": name, "metrics": [name]} for name in ("f1_macro", "accuracy", "precision_macro", "recall_macro")]

pytestmark = pytest.mark.parametrize("crowd", ["postgresql"], indirect=True)
"""SQLite has one writer at a time: what could meet there meets on PostgreSQL too."""


def only_one(answers: list[httpx.Response], *refusals: str) -> httpx.Response:
    """The one that succeeded, where all others were refused with one of these codes."""
    (made,) = [each for each in answers if each.status_code == 201]
    others = [each for each in answers if each is not made]
    assert {each.status_code for each in others} == {409}, count_statuses(answers)
    assert {each.json()["code"] for each in others} <= set(refusals)
    return made


def test_a_team_name_is_given_once_however_it_is_written(crowd: ConcurrentClients) -> None:
    crowd.challenge("names")
    people = [crowd.person(name) for name in ("Blue", "Red", "Green", "Grey")]
    doors = [person[number % len(person)] for number, person in enumerate(people)]
    names = ["Crimson Tide", "crimson  tide", " CRIMSON TIDE", "Crimson tide"]
    calls = [
        partial(door.post, "/challenges/names/registrations", json={"team": name})
        for door, name in zip(doors, names, strict=True)
    ]
    only_one(call_concurrently(calls), "team_name_taken")
    assert crowd.service.rows("SELECT count(*) FROM teams WHERE name_key LIKE 'crimson%'") == [(1,)]


def test_one_person_joins_once(crowd: ConcurrentClients) -> None:
    crowd.challenge("joins")
    person = crowd.person("Blue")
    calls = [
        partial(person[number % len(person)].post, "/challenges/joins/registrations", json={"team": f"Joined {number}"})
        for number in range(8)
    ]
    only_one(call_concurrently(calls), "already_registered")
    assert crowd.service.rows("SELECT count(*) FROM teams WHERE name LIKE 'Joined%'") == [(1,)]


def test_an_address_signs_up_once(crowd: ConcurrentClients) -> None:
    body = {"name": "Same", "password": PASSWORD}
    calls = [
        partial(crowd.admin(number).post, "/users", json=body | {"email": email})
        for number, email in enumerate(["same@example.org", "Same@Example.org"] * 4)
    ]
    only_one(call_concurrently(calls), "email_taken", "overtaken")
    assert crowd.service.rows("SELECT count(*) FROM users WHERE lower(email) = 'same@example.org'") == [(1,)]


def test_a_slug_is_given_once_with_all_that_belongs_to_it(crowd: ConcurrentClients) -> None:
    body = {"slug": "same-slug", "title": "Same", "task": "multiclass", "recipe": RECIPES[0]}
    calls = [partial(crowd.admin(number).post, "/challenges", json=body) for number in range(8)]
    only_one(call_concurrently(calls), "slug_taken", "overtaken")
    of_it = "JOIN challenges ON challenges.id = challenge_id WHERE challenges.slug = 'same-slug'"
    for table in ("recipes", "phases", "organizers"):
        assert crowd.service.rows(f"SELECT count(*) FROM {table} {of_it}") == [(1,)]


def test_a_phase_is_added_once_and_positions_differ(crowd: ConcurrentClients) -> None:
    crowd.challenge("phases")
    names = ["one", "two", "three", "four"] * 2
    calls = [
        partial(crowd.admin(number).post, "/challenges/phases/phases", json={"name": name})
        for number, name in enumerate(names)
    ]
    assert count_statuses(call_concurrently(calls)) == {201: 4, 409: 4}
    rows = crowd.service.rows(
        "SELECT position FROM phases JOIN challenges ON challenges.id = challenge_id WHERE challenges.slug = 'phases'"
    )
    assert sorted(rows) == [(0,), (1,), (2,), (3,), (4,)]


def test_golds_uploaded_at_once_are_numbered_and_one_comes_into_force(crowd: ConcurrentClients) -> None:
    body = {"slug": "golds", "title": "Golds", "task": "multiclass", "recipe": RECIPES[0]}
    assert crowd.admin().post("/challenges", json=body).status_code == 201
    golds = "/challenges/golds/phases/main/gold"
    answers = call_concurrently([partial(crowd.admin(number).post, golds, json=GOLD) for number in range(6)])
    assert sorted(each.json()["version"] for each in answers) == [1, 2, 3, 4, 5, 6]
    activate = [partial(crowd.admin(number).post, f"{golds}/{number}/activate") for number in range(1, 7)]
    assert {each.status_code for each in call_concurrently(activate)} == {201}
    versions = crowd.admin().get(golds).json()["items"]
    counts = Counter(each["status"] for each in versions)
    assert counts == {"active": 1, "retired": 5}


def test_entries_of_organizers_found_one_team_between_them(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("baselines")
    entry = {"team": "Majority", "baseline": "true"}
    answers = call_concurrently(
        [partial(crowd.admin(number).post, address, json=CORRECT_PREDICTIONS, params=entry) for number in range(8)]
    )
    assert count_statuses(answers) == {202: 8}
    assert len({each.json()["team"]["id"] for each in answers}) == 1
    assert crowd.service.rows("SELECT count(*) FROM teams WHERE name = 'Majority'") == [(1,)]


def test_no_submission_is_scored_by_a_recipe_that_was_replaced_before_it_came(
    crowd: ConcurrentClients,
) -> None:
    """Once there is a submission the metrics stay: however close the two came, the work list knows one recipe."""
    slug = "recipes"
    address = crowd.challenge(slug)
    teams = [crowd.member(slug, name) for name in ("Blue", "Red")]
    changes = [
        partial(crowd.admin(each).put, f"/challenges/{slug}/recipe", json=RECIPES[each % len(RECIPES)])
        for each in range(12)
    ]
    posts = [
        partial(team[each % len(team)].post, address, json=CORRECT_PREDICTIONS) for each in range(2) for team in teams
    ]
    answers = call_concurrently([*changes[:6], *posts, *changes[6:]])
    changed, sent = answers[:6] + answers[10:], answers[6:10]
    assert count_statuses(sent) == {202: 4}
    assert {each.json()["code"] for each in changed if each.status_code != 200} <= {"recipe_in_use"}
    used = crowd.service.rows(
        f"""SELECT DISTINCT recipes.status FROM score_tasks JOIN recipes ON recipes.id = recipe_id
        JOIN challenges ON challenges.id = recipes.challenge_id WHERE challenges.slug = '{slug}'"""
    )
    assert used == [("active",)]
    eventually(lambda: set(crowd.statuses(slug)) <= FINAL_STATUSES, "all have ended")
    board: dict[str, Any] = crowd.admin().board(slug).json()
    assert len(board["rows"]) == 2
    assert all(set(row["scores"]) == {board["primary"]} or len(row["scores"]) == 2 for row in board["rows"])


def test_nothing_comes_in_after_the_answer_that_a_phase_is_closed(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("closing", opens_at="2020-01-01T00:00:00Z")
    blue = crowd.member("closing")
    phase = address.removesuffix("/submissions")
    statuses: list[int] = []

    def close() -> httpx.Response:
        answer = crowd.admin(1).patch(phase, json={"closes_at": "2020-01-02T00:00:00Z"})
        statuses.append(crowd.count("submissions", "closing"))
        return answer

    def post(door: Caller) -> httpx.Response:
        return door.post(address, json=CORRECT_PREDICTIONS)

    posts = [partial(post, blue[number % len(blue)]) for number in range(20)]
    answers = call_concurrently([*posts[:10], close, *posts[10:]])
    closed = answers.pop(10)
    assert closed.status_code == 200, closed.text
    assert set(count_statuses(answers)) <= {202, 409}
    assert {each.json()["code"] for each in answers if each.status_code == 409} <= {"no_open_phase"}
    late = post(blue[-1])
    assert (late.status_code, late.json()["code"]) == (409, "no_open_phase")
    assert statuses == [crowd.count("submissions", "closing")] == [count_statuses(answers)[202]]


def test_a_slug_is_given_once_by_renaming_and_creating(crowd: ConcurrentClients) -> None:
    for slug in ("rename-a", "rename-b"):
        crowd.challenge(slug)
    body = {"slug": "wanted", "title": "Wanted", "task": "multiclass", "recipe": RECIPES[0]}
    calls = [partial(crowd.admin(number).post, "/challenges", json=body) for number in range(2)]
    calls += [
        partial(crowd.admin(2 + number).patch, f"/challenges/{slug}", json={"slug": "wanted"})
        for number, slug in enumerate(("rename-a", "rename-b") * 2)
    ]
    answers = call_concurrently(calls)
    assert {each.status_code for each in answers} <= {200, 201, 308, 409}
    assert crowd.service.rows("SELECT count(*) FROM challenges WHERE slug = 'wanted'") == [(1,)]
    both = (
        "SELECT count(*) FROM challenges JOIN former_challenge_slugs ON former_challenge_slugs.slug = challenges.slug"
    )
    assert crowd.service.rows(both) == [(0,)]
    for slug in ("rename-a", "rename-b"):
        assert crowd.admin().get(f"/challenges/{slug}").status_code in {200, 308}
