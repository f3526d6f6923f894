"""Password hashes with the real parameters: what is stored, when it is renewed, and what is checked without an account."""

from collections.abc import Iterator

import pytest
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import func, select

from app.actions.accounts import passwords
from app.store.queries.users import by_email
from app.store.session import Database
from app.store.tables import User
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.api.login_attempts import account, attempt_login, log_in_concurrently, login_body
from tests.live_service import PASSWORD

FORMER = Argon2Hasher(memory_cost=65536, time_cost=3, parallelism=4)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An app that hashes as in production."""
    with serve_app(app_settings(tmp_path_factory.mktemp("hashes") / "data"), real_hashing=True) as running:
        account(running, "ada", "bob")
        yield running


def stored(db: Database, name: str) -> str:
    with db.read() as session:
        user = by_email(session, f"{name}@example.org")
        assert user is not None
        return str(user.password_hash)


def test_a_new_hash_has_the_parameters_that_owasp_advises(app: ServedApp) -> None:
    assert stored(app.app.state.service.db, "ada").startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_a_former_hash_is_renewed_by_a_right_password_and_by_no_other(app: ServedApp) -> None:
    account(app, "cleo")
    db: Database = app.app.state.service.db
    with db.write() as session:
        user = by_email(session, "cleo@example.org")
        assert user is not None
        user.password_hash = former = FORMER.hash(PASSWORD)
    assert attempt_login(app, "cleo", "wrong").status_code == 401
    assert stored(db, "cleo") == former
    assert log_in_concurrently(app, [login_body("cleo")] * 3) == {201: 3}
    renewed = stored(db, "cleo")
    assert renewed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert attempt_login(app, "cleo").status_code == 201
    assert stored(db, "cleo") == renewed


def test_the_share_of_decoys_that_cost_as_much_as_former_hashes_is_that_of_the_accounts(app: ServedApp) -> None:
    db: Database = app.app.state.service.db
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
    chosen = dear()
    assert abs(len(chosen) / len(invented) - 9 / accounts) < 0.08
    assert chosen == dear()  # the same addresses, whichever process is asked
