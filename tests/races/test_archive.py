"""Archiving, deleting and copying challenges while others submit to them or do the same."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from app.store import locks
from tests.live_service import MAX_WAIT_SECONDS, eventually, open_challenge
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    GOLD,
    ConcurrentClients,
    call_concurrently,
    database_connection,
)

SUBMISSIONS = 12


def submit_while(crowd: ConcurrentClients, slug: str, **order: Any) -> tuple[list[Any], Any]:
    """The answers to submissions at every door and to an order of the administrator, all at once."""
    address, blue = crowd.challenge(slug), crowd.member(slug)
    calls = [partial(blue[at % len(blue)].post, address, json=CORRECT_PREDICTIONS) for at in range(SUBMISSIONS)]
    *answers, changed = call_concurrently([*calls, partial(crowd.admin(1).request, **order)])
    return answers, changed


def test_a_submission_is_admitted_before_its_challenge_is_archived_or_not_at_all(crowd: ConcurrentClients) -> None:
    slug = "archived-amid"
    answers, archived = submit_while(crowd, slug, method="POST", url=f"/challenges/{slug}/archive")
    assert archived.status_code == 200, archived.text
    refused = [each for each in answers if each.status_code != 202]
    assert {(each.status_code, each.json()["code"]) for each in refused} <= {(409, "challenge_archived")}
    assert crowd.count("submissions", slug) == SUBMISSIONS - len(refused)
    eventually(lambda: set(crowd.statuses(slug)) <= {"finished"}, "what was admitted is scored")


def test_a_submission_that_waited_while_its_challenge_was_archived_is_refused(on_postgresql: ConcurrentClients) -> None:
    crowd, slug = on_postgresql, "archived-meanwhile"
    address, before = crowd.challenge(slug), crowd.stored()
    blue = crowd.member(slug)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with database_connection(crowd) as organizer, ThreadPoolExecutor(1) as pool:
        with organizer.transaction():
            organizer.execute("SELECT pg_advisory_xact_lock(%s)", (locks._lock_key(locks.CHALLENGE, slug),))
            sent = pool.submit(blue[0].post, address, json=CORRECT_PREDICTIONS)
            eventually(lambda: crowd.service.rows(waiting) == [(1,)], "the submission waits for the challenge")
            organizer.execute("UPDATE challenges SET archived_at = now() WHERE slug = %s", (slug,))
        answer = sent.result(MAX_WAIT_SECONDS)
    assert (answer.status_code, answer.json()["code"]) == (409, "challenge_archived")
    assert crowd.count("submissions", slug) == 0
    assert crowd.stored() == before


def test_a_challenge_is_deleted_with_every_submission_that_was_admitted(crowd: ConcurrentClients) -> None:
    slug = "deleted-amid"
    params = {"confirm": slug}
    answers, deleted = submit_while(crowd, slug, method="DELETE", url=f"/challenges/{slug}", params=params)
    assert deleted.status_code == 204, deleted.text
    assert {each.status_code for each in answers} <= {202, 404}
    assert crowd.service.rows(f"SELECT id FROM challenges WHERE slug = '{slug}'") == []
    assert crowd.service.rows("SELECT id FROM submissions WHERE phase_id NOT IN (SELECT id FROM phases)") == []


def test_an_owner_deletes_before_the_first_submission_or_not_at_all(crowd: ConcurrentClients) -> None:
    slug = "deleted-unused"
    answers, deleted = submit_while(crowd, slug, method="DELETE", url=f"/challenges/{slug}")
    admitted = [each for each in answers if each.status_code == 202]
    if deleted.status_code == 204:
        assert admitted == []
        assert {each.status_code for each in answers} == {404}
    else:
        assert (deleted.status_code, deleted.json()["code"]) == (409, "challenge_in_use")
        assert len(admitted) == SUBMISSIONS


def test_a_challenge_with_merged_teams_is_deleted(crowd: ConcurrentClients) -> None:
    slug = "deleted-merged"
    address = crowd.challenge(slug)
    teams = {}
    for name in ("Blue", "Green"):
        person = crowd.member(slug, name)[0]
        teams[name] = (person, person.get(f"/challenges/{slug}/teams").json()["items"][0]["id"])
        person.post(address, json=CORRECT_PREDICTIONS, headers={"Prefer": "wait=60"}).raise_for_status()
    for name, other in (("Blue", "Green"), ("Green", "Blue")):
        person, team = teams[name]
        person.post(f"/challenges/{slug}/teams/{team}/merge", json={"with": other}).raise_for_status()
    assert crowd.admin().delete(f"/challenges/{slug}", params={"confirm": slug}).status_code == 204


def test_of_two_copies_with_one_slug_one_is_made(crowd: ConcurrentClients) -> None:
    slugs = ("copied-one", "copied-two")
    for slug in slugs:
        open_challenge(crowd.admin(), slug, GOLD)
    before = crowd.stored()
    body = {"slug": "the-copy", "gold": True}
    answers = call_concurrently(
        [partial(crowd.admin(at).post, f"/challenges/{slugs[at % 2]}/copy", json=body) for at in range(8)]
    )
    assert sorted(each.status_code for each in answers) == [201] + [409] * 7
    refusals = {each.json()["code"] for each in answers if each.status_code == 409}
    assert refusals <= {"slug_taken", "overtaken"}
    assert crowd.stored() == before + 1
    version = crowd.admin().get("/challenges/the-copy/phases/main/gold/1").json()
    assert version["status"] == "active"
