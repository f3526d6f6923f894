"""Rates: requests, sign-ups and teams per user or address, waiters per service; each says when to come back."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from app.api.dependencies import parse_prefer_wait
from app.api.limits import rate_limiter
from app.api.limits.client_addresses import address_block_of
from app.api.limits.request_limits import AGGREGATE_LIMIT_FACTOR, RequestLimits
from app.api.notifier import Notifier
from app.errors import BadRequest, TeamNameTaken, TooManyRequests
from app.settings import Settings
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, eventually, open_challenge

GOLD = [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]


def assert_too_many(refused: pytest.ExceptionInfo[TooManyRequests], limit: str) -> None:
    assert limit in refused.value.detail
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 3601


def test_requests_are_counted_per_caller() -> None:
    limiter = RequestLimits(Settings(rate_limits="3/hour"))
    for _ in range(3):
        limiter.count_request("user", "one")
    with pytest.raises(TooManyRequests) as refused:
        limiter.count_request("user", "one")
    assert_too_many(refused, "3 per 1 hour")
    limiter.count_request("user", "another")


class Counter:
    """The monotonic counter of the process, moved by hand."""

    now = 5000.0

    def monotonic(self) -> float:
        return self.now


def test_retry_after_is_when_the_oldest_of_those_counted_is_an_hour_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    monkeypatch.setattr(rate_limiter, "time", counter)
    limits = RequestLimits(
        Settings(rate_limits="2/hour", signup_limit="2/hour", team_limit="2/hour", login_limit="2/hour")
    )

    def found_team() -> None:
        with limits.count_team_founding("ada", "192.0.2.1"):
            pass

    def log_in_wrongly() -> None:
        if refusal := limits.failed_logins.refusal("ada", "192.0.2.1"):
            raise refusal
        limits.failed_logins.begin("ada", "192.0.2.1")
        limits.failed_logins.end("ada", "192.0.2.1", failed=True)

    counted: tuple[Callable[[], object], ...] = (
        lambda: limits.count_request("user", "ada"),
        lambda: limits.count_body("192.0.2.1"),
        lambda: limits.count_sign_up("192.0.2.1"),
        found_team,
        log_in_wrongly,
    )
    for at in (0.0, 600.0):
        counter.now = 5000.0 + at
        for count in counted:
            count()
    for at, wait in ((900.5, "2700"), (3598.75, "2"), (3599.75, "1")):
        counter.now = 5000.0 + at
        for count in counted:
            with pytest.raises(TooManyRequests) as refused:
                count()
            assert refused.value.headers == {"Retry-After": wait}
    counter.now = 5000.0 + 3600.0
    for count in counted:
        count()


def test_off_turns_all_limits_off() -> None:
    limiter = RequestLimits(
        Settings(rate_limits="off", login_limit="1/hour", signup_limit="1/hour", team_limit="1/hour")
    )
    for _ in range(20):
        limiter.count_request("address", "192.0.2.1")
        limiter.count_sign_up("192.0.2.1")
        with limiter.count_team_founding("ada", "192.0.2.1"):
            pass
        limiter.failed_logins.end("ada", "192.0.2.1", failed=True)
    assert limiter.failed_logins.refusal("ada", "192.0.2.1") is None
    assert not limiter.failed_logins.is_account_slowed("ada")
    assert not limiter.failed_logins.is_block_slowed("192.0.2.1")


def test_a_team_that_was_not_founded_is_not_counted() -> None:
    limiter = RequestLimits(Settings(team_limit="1/hour"))
    for _ in range(3):
        with pytest.raises(TeamNameTaken), limiter.count_team_founding("ada", "192.0.2.1"):
            raise TeamNameTaken
    with limiter.count_team_founding("ada", "192.0.2.1"):
        pass
    with pytest.raises(TooManyRequests) as refused, limiter.count_team_founding("ada", "192.0.2.2"):
        pass
    assert_too_many(refused, "1 per 1 hour")


def test_a_team_refused_for_its_address_is_not_counted_for_its_user() -> None:
    limiter = RequestLimits(Settings(team_limit="1/hour"))
    for number in range(AGGREGATE_LIMIT_FACTOR):
        with limiter.count_team_founding(f"user {number}", "192.0.2.1"):
            pass
    with pytest.raises(TooManyRequests), limiter.count_team_founding("ada", "192.0.2.1"):
        pass
    with limiter.count_team_founding("ada", "192.0.2.2"):
        pass


@pytest.mark.parametrize(
    ("host", "block"),
    [("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
     ("2001:db8:1:2::", "2001:db8:1:2::/64"), ("fe80::1%eth0", "fe80::/64"), ("::1", "::/64"), ("unknown", "unknown")],
)  # fmt: skip
def test_an_ipv4_address_stands_for_itself_an_ipv6_one_for_its_64(host: str, block: str) -> None:
    assert address_block_of(host) == block


def test_a_limit_holds_among_threads() -> None:
    limiter = RequestLimits(Settings(rate_limits="20/hour"))
    passed = []

    def ask() -> None:
        for _ in range(10):
            try:
                limiter.count_request("user", "one")
            except TooManyRequests:
                continue
            passed.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(MAX_WAIT_SECONDS)
    assert len(passed) == 20


# ---- over HTTP ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An app with a low limit of requests; each test has addresses and accounts of its own."""
    limits = {"rate_limits": "12/hour", "login_limit": "2/hour", "trusted_proxies": "127.0.0.1"}
    with serve_app(app_settings(tmp_path_factory.mktemp("strict") / "data", **limits)) as running:
        yield running


@pytest.fixture(scope="module")
def few_newcomers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An app with low limits of sign-ups and teams."""
    limits = {"signup_limit": "2/hour", "team_limit": "1/hour", "trusted_proxies": "127.0.0.1"}
    with serve_app(
        app_settings(tmp_path_factory.mktemp("newcomers") / "data", rate_limits="1000/hour", **limits)
    ) as running:
        yield running


@pytest.fixture(scope="module")
def one_waiter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An app with a challenge `pets`, at which one request may wait."""
    with serve_app(app_settings(tmp_path_factory.mktemp("waiter") / "data", max_waiters=1)) as running:
        open_challenge(running.admin(), "pets", GOLD)
        yield running


def test_too_many_requests_are_429_with_the_time_to_wait_and_others_go_on(strict: ServedApp) -> None:
    visitor = strict.caller()
    visitor.headers["X-Forwarded-For"] = "192.0.2.1"
    answers = [visitor.get("/challenges") for _ in range(13)]
    assert [answer.status_code for answer in answers] == [200] * 12 + [429]
    refused = answers[-1]
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 3601
    assert strict.admin().get("/challenges").status_code == 200
    assert visitor.get(strict.url + "/healthz").status_code == 200


def test_all_tokens_of_a_user_share_one_limit_and_users_have_one_each(strict: ServedApp) -> None:
    for name in ("ada", "bob"):
        body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
        strict.admin().post("/users", json=body).raise_for_status()

    def token(name: str) -> str:
        body = {"email": f"{name}@example.org", "password": PASSWORD}
        return str(strict.caller().post("/tokens", json=body).json()["token"])

    first, second = strict.caller(token("ada")), strict.caller(token("ada"))
    statuses = [caller.get("/me").status_code for _ in range(7) for caller in (first, second)]
    assert statuses == [200] * 12 + [429] * 2
    assert strict.caller(token("bob")).get("/me").status_code == 200


def test_the_addresses_of_an_ipv6_network_share_one_limit(strict: ServedApp) -> None:
    def ask(address: str, path: str) -> int:
        return strict.caller().get(path, headers={"X-Forwarded-For": address}).status_code

    statuses = [ask(f"2001:db8::{number:x}", "/challenges") for number in range(1, 14)]
    assert statuses == [200] * 12 + [429]
    board = "/challenges/nothing/phases/main/leaderboard"  # which visitors are sent another way
    assert ask("2001:db8::ffff", board) == 429
    assert ask("2001:db8:0:1::1", board) == 404


def test_sign_ups_are_limited_by_address_and_an_administrators_are_not(few_newcomers: ServedApp) -> None:
    def sign_up(who: Caller, number: int, address: str) -> httpx.Response:
        body = {"email": f"{number}@example.org", "name": "Ada", "password": PASSWORD}
        return who.post("/users", json=body, headers={"X-Forwarded-For": address})

    visitor, admin = few_newcomers.caller(), few_newcomers.admin()
    assert [sign_up(visitor, number, f"2001:db8::{number}").status_code for number in (1, 2)] == [201, 201]
    refused = sign_up(visitor, 3, "2001:db8::3")
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert "sign-ups from one address is 2 per 1 hour" in refused.json()["detail"]
    assert 1 <= int(refused.headers["retry-after"]) <= 3601
    assert sign_up(visitor, 4, "192.0.2.1").status_code == 201
    assert [sign_up(admin, number, "2001:db8::1").status_code for number in (5, 6, 7)] == [201] * 3


def test_teams_founded_are_limited_by_user_and_by_address(few_newcomers: ServedApp) -> None:
    admin = few_newcomers.admin()
    for slug in ("cats", "dogs"):
        open_challenge(admin, slug, GOLD)
    founders = []
    for number in range(12):
        login = {"email": f"founder-{number}@example.org", "password": PASSWORD}
        admin.post("/users", json={**login, "name": "Ada"}).raise_for_status()
        founders.append(few_newcomers.caller(admin.post("/tokens", json=login).json()["token"]))

    def found_team(number: int, slug: str, address: str) -> httpx.Response:
        path = f"/challenges/{slug}/registrations"
        return founders[number].post(path, json={"team": f"{number}"}, headers={"X-Forwarded-For": address})

    assert found_team(0, "cats", "192.0.2.1").status_code == 201
    refused = found_team(0, "dogs", "192.0.2.2")
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert int(refused.headers["retry-after"]) >= 1
    rest = [found_team(number, "cats", "192.0.2.1").status_code for number in range(1, 11)]
    assert rest == [201] * 9 + [429]  # ten of one address
    assert found_team(11, "cats", "192.0.2.3").status_code == 201


def test_an_account_that_does_not_exist_is_told_no_otherwise_than_a_wrong_password(strict: ServedApp) -> None:
    admin = strict.admin()
    body = {"email": "cleo@example.org", "name": "Cleo", "password": PASSWORD}
    admin.post("/users", json=body).raise_for_status()
    wrong = [
        admin.post("/tokens", json={"email": email, "password": "wrong"})
        for email in ("cleo@example.org", "nobody@example.org", "administrator@localhost")
    ]
    assert {answer.status_code for answer in wrong} == {401}
    assert len({answer.content for answer in wrong}) == 1


def test_over_the_limit_of_waiters_the_answer_comes_at_once(one_waiter: ServedApp) -> None:
    notifier = one_waiter.app.state.service.notifier
    notifier.count = 1
    answer = one_waiter.admin().submit("pets", {"t1": "cat", "t2": "dog"}, team="Blue", wait=60)
    notifier.count = 0
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/api/v1/submissions/{answer.json()['id']}"


def test_who_began_to_wait_while_a_file_came_counts_against_the_limit(one_waiter: ServedApp) -> None:
    parts = one_waiter.app.state.service

    def body() -> Iterator[bytes]:
        yield b'{"t1": "cat",'
        eventually(lambda: bool(parts.idempotency_keys_in_flight), "it was let in")
        parts.notifier.count += 1
        yield b'"t2": "dog"}'

    headers = {"Content-Type": "application/json", "Prefer": "wait=60", "Idempotency-Key": "k"}
    path = "/challenges/pets/phases/main/submissions"
    answer = one_waiter.admin().post(path, params={"team": "Blue"}, content=body(), headers=headers)
    assert answer.status_code == 202
    assert parts.notifier.count == 1
    parts.notifier.count = 0


# ---- waiting --------------------------------------------------------------------------------------


def test_whoever_waits_for_a_submission_is_told_and_nobody_else() -> None:
    notifier = Notifier()

    async def wait() -> list[bool]:
        with notifier.listen("a") as first, notifier.listen("a") as second, notifier.listen("b") as other:
            assert notifier.count == 3
            threading.Thread(target=notifier.notify_settled, args=("a",)).start()
            await asyncio.wait_for(asyncio.gather(first.wait(), second.wait()), MAX_WAIT_SECONDS)
            return [first.is_set(), second.is_set(), other.is_set()]

    assert asyncio.run(wait()) == [True, True, False]
    assert notifier.count == 0
    notifier.notify_settled("a")  # nobody waits any more


def test_a_waiter_may_say_later_what_it_waits_for() -> None:
    notifier = Notifier()

    async def wait() -> bool:
        with notifier.listen() as settled:
            assert notifier.count == 0  # it does not wait yet
            await asyncio.to_thread(notifier.subscribe, settled, "a")
            assert notifier.count == 1
            await asyncio.to_thread(notifier.notify_settled, "a")
            return await asyncio.wait_for(settled.wait(), MAX_WAIT_SECONDS)

    assert asyncio.run(wait())
    assert notifier.count == 0
    assert notifier._waiting == {}


def test_a_waiter_that_gives_up_is_forgotten() -> None:
    notifier = Notifier()

    async def give_up() -> None:
        with notifier.listen("a") as settled:
            await asyncio.wait_for(settled.wait(), 0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert notifier.count == 0
    assert notifier._waiting == {}


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("wait=5; foo=bar", 5),
        ("respond-async\nwait=6", 6),
        ("wait=5", 5),
        ("wait=60", 60),
        ("wait=61", 60),
        ("wait=" + "9" * 5000, 60),
        ("Wait = 7", 7),
        ('wait="8"', 8),
        ("respond-async, wait=9", 9),
        ("respond-async", 0),
        ("wait=0", 0),
    ],
    ids=lambda value: str(value)[:24],
)
def test_the_wish_to_wait_is_read(header: str, seconds: int) -> None:
    assert parse_prefer_wait(header.splitlines()) == seconds


@pytest.mark.parametrize("header", ["wait", "wait=", "wait=x", "wait=-1", "wait=1.5", "wait=٣"])
def test_a_wish_to_wait_that_makes_no_sense_is_refused(header: str) -> None:
    with pytest.raises(BadRequest):
        parse_prefer_wait([header])
