"""What remains of a quota, and which limit a refusal names, against a simulation of time."""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.actions.submissions.check_quota import LIMIT_NAMES, QuotaBalance
from app.errors import QuotaExceeded
from app.store.queries import quota
from app.store.queries.quota import QuotaUsage
from app.store.session import Database
from app.store.tables import QuotaGrant
from tests.store.sample_rows import fill_tables

NOW = datetime(2026, 3, 1, 20, tzinfo=UTC)
RESET = NOW + timedelta(hours=4)
counts = st.integers(0, 4)
limits = st.none() | counts


@st.composite
def balances(draw: st.DrawFn) -> QuotaBalance:
    """A balance that can occur: what is in progress is part of the day and of the total."""
    concurrent = draw(st.integers(0, 2))
    per_day = concurrent + draw(counts)
    usage = QuotaUsage(per_day, per_day + draw(counts), concurrent, draw(counts))
    granted = {"total", "per_day"}  # only these can be reduced to 0 for one team
    allowed = {name: draw(limits if name in granted else st.none() | st.integers(1, 4)) for name in LIMIT_NAMES}
    return QuotaBalance(allowed, usage, RESET)


def state_after(balance: QuotaBalance, seconds: float, *, charged: bool) -> dict[str, int]:
    """The counts after a wait in which all work has ended, charged or refunded, and perhaps a day has begun."""
    used, work = balance.usage, balance.usage.concurrent
    back = 0 if charged else work
    new_day = seconds >= (RESET - NOW).total_seconds()
    return {
        "total": used.total - back,
        "per_day": 0 if new_day else used.per_day - back,
        "invalid_per_day": 0 if new_day else used.invalid_per_day + back,
        "concurrent": 0,
    }


@given(balances())
def test_the_named_limit_is_used_up_and_after_the_advised_wait_no_other_surely_holds(balance: QuotaBalance) -> None:
    blocked = {name for name, limit in balance.limits.items() if limit is not None and balance.counted[name] >= limit}
    if not blocked:
        balance.require_one_more(NOW)
        return
    with pytest.raises(QuotaExceeded) as refused:
        balance.require_one_more(NOW)
    error = refused.value
    assert error.extra["quota"] in blocked
    wait = error.headers.get("Retry-After")
    seconds = inf if wait is None else float(wait)
    hopeless = {
        name
        for name, limit in balance.limits.items()
        if limit is not None
        and all(state_after(balance, max(seconds, 1), charged=charged)[name] >= limit for charged in (True, False))
        and (name in blocked)
    }
    if wait is None:
        assert error.extra["quota"] in hopeless
    else:
        assert hopeless == set()
        assert (error.extra["reset_at"] is not None) == (seconds > 5)


@given(balances(), st.integers(1, 6))
def test_what_remains_is_what_is_admitted(balance: QuotaBalance, more: int) -> None:
    left = min((count for count in balance.remaining.values() if count is not None), default=more)
    if balance.limits["invalid_per_day"] is None and left >= more:
        for _ in range(more):
            balance.require_one_more(NOW)
            balance = balance.after_one_more()
    elif left == 0:
        with pytest.raises(QuotaExceeded):
            balance.require_one_more(NOW)


def test_the_headers_name_each_limit_that_applies() -> None:
    limited: dict[str, int | None] = {"total": 9, "per_day": 3, "invalid_per_day": None, "concurrent": None}
    balance = QuotaBalance(limited, QuotaUsage(2, 4, 0, 0), RESET)
    assert balance.headers(NOW) == {
        "RateLimit-Policy": '"total";q=9, "per_day";q=3;w=86400',
        "RateLimit": '"total";r=5, "per_day";r=1;t=14400',
    }
    assert QuotaBalance(dict.fromkeys(LIMIT_NAMES), QuotaUsage(2, 4, 0, 0), RESET).headers(NOW) == {}


def test_grants_of_one_team_in_one_phase_add_up(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        for per_day, total in ((2, 0), (-1, 5)):
            grant = QuotaGrant(phase_id=ids.phase, team_id=ids.team, per_day=per_day, total=total, reason="r")
            session.add(grant)
        session.flush()
        assert quota.usage_and_grants(session, ids.phase, ids.team, "2026-01-01")[1] == {"per_day": 1, "total": 5}
        assert quota.usage_and_grants(session, ids.phase, "other", "2026-01-01")[1] == {"per_day": 0, "total": 0}
