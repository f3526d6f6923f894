"""Where users logged in from: the latest few, for a while."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from app.actions.accounts.log_in import LoginAccount, VerifiedPassword, log_in
from app.errors import WrongPassword
from app.store.queries import known_addresses
from app.store.queries.known_addresses import BLOCK_LIFETIME, MAX_BLOCKS_PER_USER, is_known, remember
from app.store.session import Database
from app.store.tables import KnownAddress, User
from app.store.types import utcnow
from tests.store.sample_rows import fill_tables


@pytest.mark.both_databases
def test_the_latest_few_are_known_each_for_as_long_as_said(db: Database) -> None:
    now = utcnow()
    blocks = [f"192.0.2.{number}" for number in range(MAX_BLOCKS_PER_USER + 5)]
    with db.write() as session:
        session.add_all(User(id=name, email=f"{name}@x", name=name) for name in ("ada", "bob"))
        session.flush()
        remember(session, "bob", "192.0.2.1", now - BLOCK_LIFETIME)
        for number, block in enumerate(blocks):
            remember(session, "ada", block, now + timedelta(seconds=number))
        remember(session, "ada", blocks[5], now + timedelta(hours=1))
        remember(session, "ada", "2001:db8::/64", now + timedelta(hours=2))
    with db.read() as session:
        remaining = session.scalars(select(KnownAddress.block).where(KnownAddress.user_id == "ada"))
        assert set(remaining) == {*blocks[7:], blocks[5], "2001:db8::/64"}
        assert is_known(session, "ada", blocks[5], now)
        assert not is_known(session, "ada", blocks[6], now)
        assert is_known(session, "ada", blocks[5], now + timedelta(hours=1) + BLOCK_LIFETIME - timedelta(seconds=1))
        assert not is_known(session, "ada", blocks[5], now + timedelta(hours=1) + BLOCK_LIFETIME)
        assert not is_known(session, "bob", blocks[5], now)
        old = session.scalars(select(KnownAddress).where(KnownAddress.user_id == "bob")).all()
        assert old == []  # somebody else's login has swept it
    assert known_addresses.MAX_BLOCKS_PER_USER == 20


def test_a_login_with_a_password_that_was_changed_meanwhile_is_refused(db: Database) -> None:
    with db.write() as session:
        user = session.get_one(User, fill_tables(session).user)
        verified = VerifiedPassword(LoginAccount(user.id, "verified", known=False), "192.0.2.7", "renewed")
        user.password_hash = "changed"
        with pytest.raises(WrongPassword):
            log_in(session, verified, scopes=["read"])
        assert user.password_hash == "changed"
        user.password_hash = "verified"
        log_in(session, verified, scopes=["read"])
        assert user.password_hash == "renewed"
