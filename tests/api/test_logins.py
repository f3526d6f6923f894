"""Logging in with hashes as costly as in use: bursts wait their turn, former hashes are renewed."""

import threading
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import func, select

from app.actions.accounts import passwords
from app.store.queries.users import by_email
from app.store.session import Database
from app.store.tables import User
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.api.login_attempts import UNREACHED_RATE_LIMIT, account, attempt_login, log_in_concurrently, login_body
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, eventually

FORMER = Argon2Hasher(memory_cost=65536, time_cost=3, parallelism=4)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """Hashes as costly as in use, and the default limit of failures."""
    with serve_app(
        app_settings(
            tmp_path_factory.mktemp("plain") / "data", rate_limits=UNREACHED_RATE_LIMIT, trusted_proxies="127.0.0.1"
        )
    ) as running:
        account(running, "ada", "bob")
        yield running


# ---- bursts ---------------------------------------------------------------------------------------


def test_two_hundred_logins_at_once_all_succeed(plain: ServedApp) -> None:
    assert log_in_concurrently(plain, [login_body(name) for name in ("ada", "bob") for _ in range(100)]) == {201: 200}


def test_guesses_for_invented_accounts_do_not_keep_honest_logins_out(plain: ServedApp) -> None:
    over, guessed = threading.Event(), Counter[int]()

    def guess(number: int) -> None:
        with httpx.Client(base_url=f"{plain.url}/api/v1", timeout=MAX_WAIT_SECONDS) as client:
            while not over.is_set():
                header = {"X-Forwarded-For": f"198.51.100.{number % 3}"}
                body = login_body(f"invented-{number}", "a password that is wrong")
                guessed[client.post("/tokens", json=body, headers=header).status_code] += 1

    attackers = [threading.Thread(target=guess, args=(number,)) for number in range(14)]
    for attacker in attackers:
        attacker.start()
    eventually(lambda: guessed.total() > 10, "they are at it")
    try:
        honest = [attempt_login(plain, "ada", address=f"203.0.113.{number}").status_code for number in range(19)]
    finally:
        over.set()
        for attacker in attackers:
            attacker.join(MAX_WAIT_SECONDS)
    assert honest == [201] * 19
    assert set(guessed) <= {401, 429}


# ---- what is stored -------------------------------------------------------------------------------


def stored(db: Database, name: str) -> str:
    with db.read() as session:
        user = by_email(session, f"{name}@example.org")
        assert user is not None
        return str(user.password_hash)


def test_a_new_hash_has_the_parameters_that_owasp_advises(plain: ServedApp) -> None:
    assert stored(plain.app.state.service.db, "ada").startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_a_former_hash_is_renewed_by_a_right_password_and_by_no_other(plain: ServedApp) -> None:
    account(plain, "cleo")
    db: Database = plain.app.state.service.db
    with db.write() as session:
        user = by_email(session, "cleo@example.org")
        assert user is not None
        user.password_hash = former = FORMER.hash(PASSWORD)
    assert attempt_login(plain, "cleo", "wrong").status_code == 401
    assert stored(db, "cleo") == former
    assert log_in_concurrently(plain, [login_body("cleo")] * 3) == {201: 3}
    renewed = stored(db, "cleo")
    assert renewed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert attempt_login(plain, "cleo").status_code == 201
    assert stored(db, "cleo") == renewed


def test_the_share_of_decoys_that_cost_as_much_as_former_hashes_is_that_of_the_accounts(plain: ServedApp) -> None:
    db: Database = plain.app.state.service.db
    invented = [f"{number}@example.org" for number in range(1000)]

    def dear() -> list[str]:
        decoys = passwords.DecoyHashes(db, "a secret")
        return [email for email in invented if decoys.of(email) == passwords._FORMER_DECOY_HASH]

    assert dear() == []
    former = FORMER.hash(PASSWORD)
    with db.write() as session:
        for number in range(9):
            session.add(User(email=f"{number}@former.example.org", name="x", password_hash=former))
    with db.read() as reading:
        accounts = reading.scalars(select(func.count()).where(User.password_hash.is_not(None))).one()
    found = dear()
    assert abs(len(found) / len(invented) - 9 / accounts) < 0.08
    assert found == dear()  # the same addresses, whichever process is asked
