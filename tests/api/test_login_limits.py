"""Wrong passwords: who is refused, who is slowed down, and who is let in all the same."""

import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.actions.accounts import passwords
from app.api.limits.fair_queue import FairQueuePosition
from app.api.limits.password_hashing import SLOWED_INTERVAL_SECONDS, LoginTicket
from app.api.limits.request_limits import FailedLogins
from app.store.queries.users import by_email
from app.store.tables import KnownAddress
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.api.login_attempts import (
    UNREACHED_RATE_LIMIT,
    account,
    attempt_login,
    log_in_concurrently,
    login_body,
    login_statuses,
)
from tests.live_service import MAX_WAIT_SECONDS, eventually

NUMBERS = count(1)
CROWD = 60
"""Logins at once: more than the threads for requests, 40."""
STRICT = {"rate_limits": "60/hour", "login_limit": "2/hour", "trusted_proxies": "127.0.0.1", "database_wait": 60}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """A service that refuses an address after two failures, and takes few requests of one address."""
    with serve_app(app_settings(tmp_path_factory.mktemp("strict") / "data", **STRICT)) as running:
        yield running


@pytest.fixture
def ada(strict: ServedApp) -> str:
    """An account of one test's own."""
    name = f"ada-{next(NUMBERS)}"
    account(strict, name)
    return name


@pytest.fixture
def bob(strict: ServedApp) -> str:
    """Another one."""
    name = f"bob-{next(NUMBERS)}"
    account(strict, name)
    return name


@pytest.fixture
def here() -> str:
    """An address of one test's own."""
    return f"192.0.2.{next(NUMBERS)}"


def test_logins_that_wait_hold_no_thread_that_others_need_and_all_succeed(strict: ServedApp, ada: str) -> None:
    pool, release = strict.app.state.service.hashing_pool, threading.Event()
    busy = [pool._threads.submit(release.wait, MAX_WAIT_SECONDS) for _ in range(pool._width)]
    done: list[Counter[int]] = []
    crowd = threading.Thread(target=lambda: done.append(log_in_concurrently(strict, [login_body(ada)] * CROWD)))
    crowd.start()
    try:
        waiting = pool._queue
        eventually(lambda: waiting._waiting + pool._running == CROWD, "all of them wait")
        assert strict.admin().get("/me").status_code == 200  # which takes a thread
    finally:
        release.set()
        crowd.join(MAX_WAIT_SECONDS)
    assert done == [{201: CROWD}]
    assert all(each.result() for each in busy)


def test_failures_move_attempts_to_a_queue_that_all_of_the_account_or_block_share() -> None:
    failures = FailedLogins("2/hour", enabled=True)

    def fail(account: str, block: str, times: int) -> None:
        for _ in range(times):
            failures.begin(account, block)
            failures.end(account, block, failed=True)

    def place(*, known: bool = False) -> FairQueuePosition:
        return LoginTicket(failures, "ada", "here", known).queue_position()

    assert place() == (("address", "here"), "ada", 0, False)
    assert place(known=True) == (("known", "here"), "ada", 0, True)
    for number in range(20):
        fail("ada", f"elsewhere {number}", 1)
    assert place() == (("account", "ada"), "here", SLOWED_INTERVAL_SECONDS, False)
    assert place(known=True) == (("known", "here"), "ada", 0, True)
    fail("ada", "here", 2)
    assert place(known=True) == (("account", "ada"), "here", SLOWED_INTERVAL_SECONDS, False)
    for number in range(18):
        fail(f"bob {number}", "here", 1)
    assert place() == (("address", "here"), "ada", SLOWED_INTERVAL_SECONDS, False)


def test_guesses_for_invented_accounts_do_not_keep_honest_logins_out(tmp_path: Path) -> None:
    over, guesses = threading.Event(), Counter[int]()

    def guess(number: int) -> None:
        body = login_body(f"invented-{number}", "a password that is wrong")
        header = {"X-Forwarded-For": f"198.51.100.{number % 3}"}
        with httpx.Client(base_url=f"{running.url}/api/v1", timeout=MAX_WAIT_SECONDS) as client:
            while not over.is_set():
                guesses[client.post("/tokens", json=body, headers=header).status_code] += 1

    settings = app_settings(tmp_path / "data", rate_limits=UNREACHED_RATE_LIMIT, trusted_proxies="127.0.0.1")
    with serve_app(settings) as running:
        account(running, "ada")
        attackers = [threading.Thread(target=guess, args=(number,)) for number in range(14)]
        for attacker in attackers:
            attacker.start()
        try:
            eventually(lambda: guesses.total() > 10, "attackers have sent guesses")
            honest = [attempt_login(running, "ada", address=f"203.0.113.{number}").status_code for number in range(5)]
        finally:
            over.set()
            for attacker in attackers:
                attacker.join(MAX_WAIT_SECONDS)
    assert honest == [201] * 5
    assert set(guesses) <= {401, 429}


# ---- refusals -------------------------------------------------------------------------------------


def test_an_address_that_guessed_wrong_is_refused_for_that_account_alone(
    strict: ServedApp, ada: str, bob: str, here: str
) -> None:
    assert login_statuses(strict, 2, ada, "wrong", here) == [401, 401]
    refused = attempt_login(strict, ada.upper(), address=here)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert "2 per 1 hour" in refused.json()["detail"]
    assert 1 <= int(refused.headers["retry-after"]) <= 3601
    assert attempt_login(strict, bob, address=here).status_code == 201
    assert attempt_login(strict, ada, address="203.0.113.1").status_code == 201


def test_the_addresses_of_an_ipv6_network_are_refused_as_one(strict: ServedApp, ada: str) -> None:
    wrong = [attempt_login(strict, ada, "wrong", f"2001:db8::{number}").status_code for number in (1, 2)]
    assert wrong == [401, 401]
    assert attempt_login(strict, ada, address="2001:db8::3").status_code == 429
    assert attempt_login(strict, ada, address="2001:db8:0:1::1").status_code == 201


def test_failures_over_a_whole_account_or_a_whole_address_refuse_nobody(
    strict: ServedApp, ada: str, bob: str, here: str
) -> None:
    account_wide = [attempt_login(strict, ada, "wrong", f"198.51.100.{number}").status_code for number in range(21)]
    assert account_wide == [401] * 21
    assert attempt_login(strict, ada, address="203.0.113.1").status_code == 201
    address_wide = [attempt_login(strict, f"nobody-{number}", "wrong", here).status_code for number in range(21)]
    assert address_wide == [401] * 21
    assert attempt_login(strict, bob, address=here).status_code == 201
    failures = strict.app.state.service.request_limits.failed_logins
    assert failures.is_account_slowed(f"{ada}@example.org")
    assert failures.is_block_slowed(here)
    assert not failures.is_account_slowed(f"{bob}@example.org")


def test_successes_are_not_counted_one_after_the_other_or_at_once(strict: ServedApp, ada: str, bob: str) -> None:
    assert login_statuses(strict, 5, ada) == [201] * 5
    assert log_in_concurrently(strict, [login_body(bob)] * 20) == {201: 20}


def test_guesses_at_once_are_no_way_around_the_limit(strict: ServedApp, ada: str) -> None:
    assert log_in_concurrently(strict, [login_body(ada, f"wrong {number}") for number in range(12)]) == {
        401: 2,
        429: 10,
    }


def test_logins_are_no_requests_of_their_address(strict: ServedApp, ada: str, here: str) -> None:
    assert login_statuses(strict, 61, ada, address=here) == [201] * 61
    visitor = strict.caller().get("/challenges", headers={"X-Forwarded-For": here})
    assert visitor.status_code == 200


def test_a_right_password_from_where_it_was_right_before_always_passes_after_a_restart_too(
    tmp_path: Path,
) -> None:
    settings = app_settings(tmp_path / "data", **STRICT)
    with serve_app(settings) as running:
        account(running, "ada")
        assert login_statuses(running, 1, "ada") == [201]
        assert login_statuses(running, 4, "ada", "wrong") == [401, 401, 429, 429]
        assert login_statuses(running, 2, "ada") == [201, 201]
        assert login_statuses(running, 1, "ada", "wrong") == [429]
    with serve_app(settings) as running:
        for address in ("192.0.2.1", "192.0.2.2"):
            assert login_statuses(running, 3, "ada", "wrong", address) == [401, 401, 429]
        assert login_statuses(running, 1, "ada", address="192.0.2.2") == [429]
        assert login_statuses(running, 1, "ada") == [201]


def test_where_there_is_no_account_a_hash_is_checked_as_for_a_wrong_password(
    strict: ServedApp, ada: str, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    true_check = passwords.verify_password

    def noted(password: str, against: str) -> Any:
        checked.append(against.rpartition("$")[0].rpartition("$")[0])
        return true_check(password, against)

    monkeypatch.setattr(passwords, "verify_password", noted)
    answers = [attempt_login(strict, name, "wrong", here) for name in (ada, "nobody")]
    built_in = {"email": "administrator@localhost", "password": "wrong"}
    answers.append(strict.caller().post("/tokens", json=built_in))
    assert [answer.status_code for answer in answers] == [401] * 3
    assert len({answer.content for answer in answers}) == 1
    assert len(checked) == 3
    assert len(set(checked)) == 1


def test_the_address_block_of_a_login_is_remembered_and_of_a_failure_is_not(
    strict: ServedApp, ada: str, here: str
) -> None:
    attempt_login(strict, ada, address="2001:db8:7::1")
    attempt_login(strict, ada, "wrong", address=here)
    with strict.app.state.service.db.read() as session:
        user = by_email(session, f"{ada}@example.org")
        assert user is not None
        blocks = session.scalars(select(KnownAddress.block).where(KnownAddress.user_id == user.id)).all()
    assert blocks == ["2001:db8:7::/64"]
