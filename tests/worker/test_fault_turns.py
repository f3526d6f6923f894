"""Over a service: many files of one user delay another's by one, and what is cancelled or barred leaves the queue."""

import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import text

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_children, submission_status
from tests.live_service import PASSWORD, Caller, eventually, open_challenge

MAIN = "/challenges/pets/phases/main"


class Site:
    """A service in the process of the tests, whose scoring can be held up."""

    def __init__(self, served: ServedApp) -> None:
        self.admin = served.admin
        self._served = served

    def person(self, name: str) -> Caller:
        """A new account, logged in."""
        account = {"email": f"{name}-{secrets.token_hex(4)}@example.org", "password": PASSWORD}
        self.admin().post("/users", json={"name": name, **account}).raise_for_status()
        answer = self._served.caller().post("/tokens", json=account).raise_for_status()
        return self._served.caller(answer.json()["token"])

    def frozen_scoring(self) -> AbstractContextManager[list[int]]:
        """Whatever scoring processes are asked meanwhile stays unanswered."""
        return frozen_children(os.getpid())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._served.app.state.service.db.read() as session:
            return [tuple(row) for row in session.execute(text(query))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve_app(app_settings(tmp_path_factory.mktemp("turns") / "data", scoring_seconds=600)) as served:
        open_challenge(served.admin(), "pets", GOLD, phases=[{"name": "main", "quota": {"per_day": 100}}])
        served.admin().submit("pets", CORRECT_PREDICTIONS, team="First")  # so that the scoring process has started
        yield Site(served)


def send(caller: Caller, **query: str) -> str:
    answer = caller.submit("pets", CORRECT_PREDICTIONS, wait=0, **query)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def place(caller: Caller, submission: str) -> int | None:
    found: int | None = caller.get(f"/submissions/{submission}").json()["queue_position"]
    return found


def under_way(caller: Caller, submission: str) -> None:
    eventually(lambda: submission_status(caller, submission) == "running", "the first is being scored")


def finished_order(site: Site) -> list[str]:
    return [row[0] for row in site.rows("SELECT id FROM submissions WHERE status = 'finished' ORDER BY finished_at")]


def test_twenty_files_of_one_user_delay_that_of_another_by_one(site: Site) -> None:
    greedy, modest = site.person("Greedy").join("pets", "Greedy"), site.person("Modest").join("pets", "Modest")
    with site.frozen_scoring():
        many = [send(greedy) for _ in range(20)]
        under_way(greedy, many[0])
        baselines = [send(site.admin(), team=f"base {number}", baseline="true") for number in range(3)]
        one = send(modest)
        shown_position = place(modest, one)
        assert shown_position is not None
        assert shown_position <= 3  # one of the other user, one of the organizers
        assert place(greedy, many[-1]) == 19 + 1 + len(baselines)
        listed = site.admin().get(f"{MAIN}/submissions", params={"limit": 100}).json()["items"]
        waiting = (*many, *baselines, one)
        assert {row["id"]: row["queue_position"] for row in listed if row["id"] in waiting} == {
            sent: place(site.admin(), sent) for sent in waiting
        }
    eventually(lambda: submission_status(greedy, many[-1]) == "finished", "all are scored")
    with site.frozen_scoring():  # now that something was scored, the time is known
        under_way(modest, send(modest))
        last = send(modest)
        seen = modest.get(f"/submissions/{last}").json()
        assert (seen["queue_position"], seen["eta"][-4:-1].isdigit()) == (1, False)  # whole seconds
        assert datetime.fromisoformat(seen["eta"]) >= datetime.fromisoformat(seen["timings"]["submitted_at"])
        assert modest.get(f"{MAIN}/submissions").json()["items"][0]["eta"] is not None
    eventually(lambda: submission_status(modest, last) == "finished", "these too")
    order = finished_order(site)
    before = order[: order.index(one)]
    assert len([each for each in before if each in many]) <= 2  # the one that was being scored, and one more
    assert len([each for each in before if each in baselines]) <= 1
    assert order.index(baselines[-1]) < order.index(many[6]), "organizers do not wait for all the rest"
    assert [each for each in order if each in many] == many


def test_what_is_cancelled_leaves_the_queue_and_gives_back_its_quota(site: Site) -> None:
    blue = site.person("Blue").join("pets", "Azure")
    with site.frozen_scoring():
        first, second, third = (send(blue) for _ in range(3))
        under_way(blue, first)
        assert (place(blue, second), place(blue, third)) == (1, 2)
        refused = blue.post(f"/submissions/{first}/cancel")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_cancellable")
        for _ in range(2):  # said twice it does no harm
            answer = blue.post(f"/submissions/{second}/cancel")
            assert (answer.status_code, answer.json()["status"]) == (200, "cancelled"), answer.text
        assert answer.json()["failure"]["code"] == "cancelled"
        assert place(blue, third) == 1
        assert site.person("Rival").post(f"/submissions/{third}/cancel").status_code == 404
    eventually(lambda: submission_status(blue, third) == "finished", "the others are scored")
    ledger = site.rows(f"SELECT kind, reason FROM quota_entries WHERE submission_id = '{second}' ORDER BY id")
    assert ledger == [("reserve", "admitted"), ("refund", "cancelled")]
    assert site.rows(f"SELECT status, attempt FROM score_tasks WHERE submission_id = '{second}'") == [("cancelled", 0)]
    assert blue.post(f"/submissions/{first}/cancel").json()["code"] == "not_cancellable"


def invalid(caller: Caller) -> int:
    return int(caller.get(f"{MAIN}/quota").json()["used"]["invalid_per_day"])


def test_what_a_team_cancels_counts_as_invalid_and_what_organizers_take_out_does_not(site: Site) -> None:
    quota = {"per_day": 100, "invalid_per_day": 3}
    assert site.admin().patch(MAIN, json={"quota": quota}).status_code == 200
    busy, lime = site.person("Busy").join("pets", "Busy"), site.person("Lime").join("pets", "Lime")
    with site.frozen_scoring():
        waiting = [send(busy) for _ in range(2)]
        under_way(busy, waiting[0])
        assert site.admin().post(f"/submissions/{send(lime)}/cancel").json()["status"] == "cancelled"
        assert invalid(lime) == 0
        for count in (1, 2, 3):
            assert lime.post(f"/submissions/{send(lime)}/cancel").json()["status"] == "cancelled"
            assert invalid(lime) == count
        refused = lime.submit("pets", CORRECT_PREDICTIONS, wait=0)
        assert (refused.status_code, refused.json()["quota"]) == (429, "invalid_per_day"), refused.text
        assert "cancelled" in refused.json()["remedy"]
        (own,) = [
            each["id"]
            for each in site.admin().get("/challenges/pets/registrations", params={"limit": 100}).json()["items"]
            if each["team"]["name"] == "Busy"
        ]
        for status in ("barred", "approved"):
            sentence = {"status": status, "reason": "two accounts"}
            assert site.admin().patch(f"/challenges/pets/registrations/{own}", json=sentence).status_code == 200
        assert invalid(busy) == 0
    assert site.admin().patch(MAIN, json={"quota": {"per_day": 100}}).status_code == 200


def test_an_organizer_may_cancel_what_is_being_scored_and_nothing_of_it_is_published(site: Site) -> None:
    green = site.person("Green").join("pets", "Green")
    with site.frozen_scoring():
        one = send(green)
        under_way(green, one)
        assert site.admin().post(f"/submissions/{one}/cancel").json()["status"] == "cancelled"
        other = send(green)
    eventually(lambda: submission_status(green, other) == "finished", "the child is free again")
    assert submission_status(green, one) == "cancelled"
    assert site.rows(f"SELECT count(*) FROM scores WHERE submission_id = '{one}'") == [(0,)]


def test_barring_takes_all_that_waits_out_of_the_queue_and_publishes_nothing_more(site: Site) -> None:
    red, gray = site.person("Red").join("pets", "Red"), site.person("Gray").join("pets", "Gray")
    listed = site.admin().get("/challenges/pets/registrations", params={"limit": 100}).json()["items"]
    (own,) = [each["id"] for each in listed if each["team"]["name"] == "Red"]
    with site.frozen_scoring():
        withdrawn = [send(red) for _ in range(4)]
        under_way(red, withdrawn[0])
        remaining = send(gray)
        on_behalf = send(site.admin(), team="Red")
        team = red.get("/challenges/pets/teams").json()["items"][0]["id"]
        left = red.delete(f"/challenges/pets/teams/{team}/members/{red.get('/me').json()['id']}")
        assert left.status_code == 204  # what it sent before is cancelled all the same
        barred = {"status": "barred", "reason": "two accounts"}
        assert site.admin().patch(f"/challenges/pets/registrations/{own}", json=barred).status_code == 200
        assert {submission_status(red, each) for each in withdrawn} == {"cancelled"}
        assert red.get(f"/submissions/{withdrawn[0]}").json()["failure"]["code"] == "barred"
    eventually(lambda: submission_status(gray, remaining) == "finished", "the others are scored")
    eventually(
        lambda: submission_status(site.admin(), on_behalf) == "finished", "what organizers entered is scored too"
    )
    for each in withdrawn:
        assert site.rows(f"SELECT count(*) FROM scores WHERE submission_id = '{each}'") == [(0,)]
        ledger = site.rows(f"SELECT kind, reason FROM quota_entries WHERE submission_id = '{each}' ORDER BY id")
        assert ledger == [("reserve", "admitted"), ("refund", "barred")]
