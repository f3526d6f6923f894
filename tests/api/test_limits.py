"""Rates: requests per token or address, failed logins per account, waiters per service; each says when to come back."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from app.api.deps import Limiter, Notifier, prefer_wait
from app.errors import BadRequest, TooMany, WrongPassword
from app.settings import Settings
from tests.api.served import Served, served, settings
from tests.live import LONG, PASSWORD, eventually, open_challenge

GOLD = [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}]


def assert_too_many(refused: pytest.ExceptionInfo[TooMany], limit: str) -> None:
    assert limit in refused.value.detail
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 3601


def test_requests_are_counted_per_caller() -> None:
    limiter = Limiter(Settings(rate_limits="3/hour"))
    for _ in range(3):
        limiter.request("one")
    with pytest.raises(TooMany) as refused:
        limiter.request("one")
    assert_too_many(refused, "3 per 1 hour")
    limiter.request("another")


def log_in(limiter: Limiter, email: str, *, right: bool, address: str = "127.0.0.1") -> None:
    with limiter.login(email, address):
        if not right:
            raise WrongPassword


def test_only_failed_logins_count_and_only_against_their_account() -> None:
    limiter = Limiter(Settings(login_limit="2/hour"))
    for _ in range(10):
        log_in(limiter, "ada@example.org", right=True)
    for _ in range(2):
        with pytest.raises(WrongPassword):
            log_in(limiter, "ada@example.org", right=False)
    with pytest.raises(TooMany) as refused:
        log_in(limiter, "ada@example.org", right=True)
    assert_too_many(refused, "2 per 1 hour")
    log_in(limiter, "bob@example.org", right=True)
    log_in(limiter, "ada@example.org", right=True, address="192.0.2.1")  # nobody locks Ada out from elsewhere
    limiter.request("ada@example.org")


def test_failed_logins_from_all_addresses_together_have_a_limit_ten_times_as_high() -> None:
    limiter = Limiter(Settings(login_limit="2/hour"))
    for number in range(20):
        log_in(limiter, "ada@example.org", right=True, address=f"192.0.2.{number}")
        with pytest.raises(WrongPassword):
            log_in(limiter, "ada@example.org", right=False, address=f"192.0.2.{number}")
    with pytest.raises(TooMany) as refused:
        log_in(limiter, "ada@example.org", right=True, address="198.51.100.1")
    assert_too_many(refused, "20 per 1 hour")
    log_in(limiter, "bob@example.org", right=True, address="198.51.100.1")


def test_attempts_at_the_same_time_are_no_way_around_the_limit() -> None:
    limiter = Limiter(Settings(login_limit="2/hour"))
    with limiter.login("ada", "here"), limiter.login("ada", "here"), pytest.raises(TooMany):
        log_in(limiter, "ada", right=True, address="here")
    log_in(limiter, "ada", right=True, address="here")
    with ExitStack() as under_way:
        for number in range(20):
            under_way.enter_context(limiter.login("ada", f"address {number}"))
        with pytest.raises(TooMany):
            log_in(limiter, "ada", right=True, address="one more")
        log_in(limiter, "bob", right=True, address="one more")
    log_in(limiter, "ada", right=True, address="one more")


def test_off_turns_both_off() -> None:
    limiter = Limiter(Settings(rate_limits="off", login_limit="1/hour"))
    for _ in range(20):
        limiter.request("one")
        with pytest.raises(WrongPassword):
            log_in(limiter, "ada@example.org", right=False)
    log_in(limiter, "ada@example.org", right=True)


def test_a_limit_holds_among_threads() -> None:
    limiter = Limiter(Settings(rate_limits="20/hour"))
    passed = []

    def ask() -> None:
        for _ in range(10):
            try:
                limiter.request("one")
            except TooMany:
                continue
            passed.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(passed) == 20


# ---- over HTTP ------------------------------------------------------------------------------------


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Served]:
    with served(settings(tmp_path / "data", rate_limits="12/hour", login_limit="2/hour")) as running:
        yield running


def test_too_many_requests_are_429_with_the_time_to_wait_and_others_go_on(strict: Served) -> None:
    visitor = strict.caller()
    answers = [visitor.get("/challenges") for _ in range(13)]
    assert [answer.status_code for answer in answers] == [200] * 12 + [429]
    refused = answers[-1]
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 3601
    assert strict.admin().get("/challenges").status_code == 200
    assert visitor.get(strict.url + "/healthz").status_code == 200


def test_the_right_password_is_refused_too_after_too_many_wrong_ones(strict: Served) -> None:
    admin = strict.admin()
    for name in ("ada", "bob"):
        body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
        assert admin.post("/users", json=body).status_code == 201
    right = {"email": "ada@example.org", "password": PASSWORD}
    assert [admin.post("/tokens", json=right).status_code for _ in range(4)] == [201] * 4
    for email in ("ada@example.org", "ADA@Example.org"):
        answer = admin.post("/tokens", json={"email": email, "password": "wrong"})
        assert answer.status_code == 401
        assert answer.json()["code"] == "wrong_password"
    refused = admin.post("/tokens", json=right)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert admin.post("/tokens", json=right | {"email": "bob@example.org"}).status_code == 201


def test_guesses_from_many_addresses_end_at_the_limit_of_the_account(tmp_path: Path) -> None:
    def log_in_from(address: str, email: str, password: str) -> httpx.Response:
        body = {"email": email, "password": password}
        with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=LONG) as client:
            return client.post(f"{running.url}/api/v1/tokens", json=body)

    with served(settings(tmp_path / "data", rate_limits="1000/hour", login_limit="1/hour")) as running:
        for name in ("ada", "bob"):
            body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
            assert running.admin().post("/users", json=body).status_code == 201
        wrong = [log_in_from(f"127.0.0.{number}", "ada@example.org", "wrong") for number in range(2, 12)]
        assert [answer.status_code for answer in wrong] == [401] * 10
        refused = log_in_from("127.0.0.12", "ADA@example.org", PASSWORD)
        assert refused.status_code == 429, refused.text
        assert refused.json()["code"] == "rate_limited"
        assert int(refused.headers["retry-after"]) >= 1
        assert log_in_from("127.0.0.12", "bob@example.org", PASSWORD).status_code == 201


def test_logging_in_counts_as_a_request_of_its_address_whatever_the_account(strict: Served) -> None:
    visitor = strict.caller()
    logins = [{"email": f"{number}@example.org", "password": "wrong"} for number in range(13)]
    statuses = [visitor.post("/tokens", json=each).status_code for each in logins]
    assert statuses == [401] * 12 + [429]


def test_an_account_that_does_not_exist_is_told_no_otherwise_than_a_wrong_password(strict: Served) -> None:
    admin = strict.admin()
    body = {"email": "ada@example.org", "name": "Ada", "password": PASSWORD}
    admin.post("/users", json=body).raise_for_status()
    wrong = [
        admin.post("/tokens", json={"email": email, "password": "wrong"})
        for email in ("ada@example.org", "nobody@example.org", "administrator@localhost")
    ]
    assert {answer.status_code for answer in wrong} == {401}
    assert len({answer.content for answer in wrong}) == 1


def test_over_the_limit_of_waiters_the_answer_comes_at_once(tmp_path: Path) -> None:
    with served(settings(tmp_path / "data", max_waiters=0)) as running:
        open_challenge(running.admin(), "pets", GOLD)
        answer = running.admin().submit("pets", {"t1": "cat", "t2": "dog"}, team="Blue", wait=60)
        assert answer.status_code == 202
        assert answer.headers["location"] == f"/api/v1/submissions/{answer.json()['id']}"


def test_who_began_to_wait_while_a_file_came_counts_against_the_limit(tmp_path: Path) -> None:
    with served(settings(tmp_path / "data", max_waiters=1)) as running:
        parts = running.app.state.service
        open_challenge(running.admin(), "pets", GOLD)

        def body() -> Iterator[bytes]:
            yield b'{"t1": "cat",'
            eventually(lambda: bool(parts.in_flight), "it was let in")
            parts.notifier.count += 1
            yield b'"t2": "dog"}'

        headers = {"Content-Type": "application/json", "Prefer": "wait=60", "Idempotency-Key": "k"}
        path = "/challenges/pets/phases/main/submissions"
        answer = running.admin().post(path, params={"team": "Blue"}, content=body(), headers=headers)
        assert answer.status_code == 202
        assert parts.notifier.count == 1


# ---- waiting --------------------------------------------------------------------------------------


def test_whoever_waits_for_a_submission_is_told_and_nobody_else() -> None:
    notifier = Notifier()

    async def wait() -> list[bool]:
        with notifier.listen("a") as first, notifier.listen("a") as second, notifier.listen("b") as other:
            assert notifier.count == 3
            threading.Thread(target=notifier.settled, args=("a",)).start()
            await asyncio.wait_for(asyncio.gather(first.wait(), second.wait()), 30)
            return [first.is_set(), second.is_set(), other.is_set()]

    assert asyncio.run(wait()) == [True, True, False]
    assert notifier.count == 0
    notifier.settled("a")  # nobody waits any more


def test_a_waiter_may_say_later_what_it_waits_for() -> None:
    notifier = Notifier()

    async def wait() -> bool:
        with notifier.listen() as settled:
            assert notifier.count == 0  # it does not wait yet
            await asyncio.to_thread(notifier.follow, settled, "a")
            assert notifier.count == 1
            await asyncio.to_thread(notifier.settled, "a")
            return await asyncio.wait_for(settled.wait(), LONG)

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
    assert prefer_wait(header.splitlines()) == seconds


@pytest.mark.parametrize("header", ["wait", "wait=", "wait=x", "wait=-1", "wait=1.5", "wait=٣"])
def test_a_wish_to_wait_that_makes_no_sense_is_refused(header: str) -> None:
    with pytest.raises(BadRequest):
        prefer_wait([header])
