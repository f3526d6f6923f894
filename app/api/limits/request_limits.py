"""Rates per user and per address block: requests, sign-ups, teams founded, failed logins; each says when to come back."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from limits import RateLimitItem, parse

from app.api.limits.rate_limiter import Windows
from app.errors import AssayError, TooMany
from app.settings import Settings

WHOLE = 10  # so many times a limit is that of all addresses, or all accounts, together

FREE, BODY_PART = 1 << 12, 1 << 16
"""Bytes that a JSON body may have before it counts as a request of its address, and each as many more as another: reading
so many takes ten milliseconds of all."""

Count = tuple[RateLimitItem, tuple[str, ...]]


class Limiter:
    """Counts what users and address blocks do, unless the settings turn limits off."""

    def __init__(self, settings: Settings) -> None:
        self._on = settings.rate_limits != "off"
        self._requests = parse(settings.rate_limits if self._on else "1/second")
        self._sign_ups = parse(settings.signup_limit)
        self._teams = parse(settings.team_limit)
        self._teams_of_block = _times(self._teams, WHOLE)
        self._windows = Windows()
        self.logins = FailedLogins(settings.login_limit, on=self._on)

    def request(self, *who: str) -> None:
        """Count a request; raises TooMany."""
        self._count("requests", (self._requests, ("request", *who)))

    def body(self, block: str) -> None:
        """Count a JSON body that is not small, or a part of one, before its sender is asked for; raises TooMany."""
        self._count(
            f"JSON bodies of more than {FREE >> 10} KiB from one address, or parts of {BODY_PART >> 10} KiB of them,",
            (self._requests, ("body", block)),
        )

    def sign_up(self, block: str) -> None:
        """Count somebody's wish for an account; raises TooMany."""
        self._count("sign-ups from one address", (self._sign_ups, ("sign-up", block)))

    @contextmanager
    def founding(self, user_id: str, block: str) -> Iterator[None]:
        """Count the team that is founded in the block, if it is; raises TooMany."""
        counts = ((self._teams, ("team of", user_id)), (self._teams_of_block, ("team from", block)))
        self._count("teams founded by one user or from one address", *counts)
        try:
            yield
        except AssayError:
            for item, names in counts if self._on else ():
                self._windows.take_back(item, *names)
            raise

    def _count(self, what: str, *counts: Count) -> None:
        """Count one of each, or none; raises TooMany."""
        if not self._on:
            return
        for place, (item, names) in enumerate(counts):
            if not self._windows.hit(item, *names):
                for earlier, known in counts[:place]:
                    self._windows.take_back(earlier, *known)
                raise too_many(f"The limit of {what} is {item}.", self._windows.seconds_left(item, *names))


class FailedLogins:
    """Wrong passwords per account and address block, per account, and per block; of the event loop alone.

    Only the first may refuse; the others say whose attempts are slowed down. What succeeds is never counted.
    """

    def __init__(self, limit: str, *, on: bool) -> None:
        self._on = on
        self._pair = parse(limit)
        self._whole = _times(self._pair, WHOLE)
        self._windows = Windows()
        self._running: Counter[tuple[str, str]] = Counter()

    def refusal(self, account: str, block: str) -> TooMany | None:
        """Why this block may not try this account now, if it may not."""
        names = ("login", account, block)
        if not self._on or self._windows.test(self._pair, *names):
            return None
        seconds = self._windows.seconds_left(self._pair, *names)
        return too_many(f"The limit of failed logins to one account from one address is {self._pair}.", seconds)

    def crowded(self, account: str, block: str) -> bool:
        """Whether those being checked have to end first: if all of them fail, the limit is reached."""
        running = self._running[account, block]
        return (
            self._on and running > 0 and not self._windows.test(self._pair, "login", account, block, cost=running + 1)
        )

    def slows_account(self, account: str) -> bool:
        """Whether the account had too many wrong passwords, from wherever."""
        return self._on and not self._windows.test(self._whole, "account", account)

    def slows_block(self, block: str) -> bool:
        """Whether too many wrong passwords came from this block, for whatever accounts."""
        return self._on and not self._windows.test(self._whole, "block", block)

    def begin(self, account: str, block: str) -> None:
        """An attempt is being checked."""
        self._running[account, block] += 1

    def end(self, account: str, block: str, *, failed: bool) -> None:
        """It has been checked."""
        self._running[account, block] -= 1
        if not self._running[account, block]:
            del self._running[account, block]
        if failed and self._on:
            self._windows.hit(self._pair, "login", account, block)
            self._windows.hit(self._whole, "account", account)
            self._windows.hit(self._whole, "block", block)


def too_many(detail: str, seconds: float) -> TooMany:
    """A refusal that says when to come back."""
    return TooMany(detail, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


def _times(item: RateLimitItem, times: int) -> RateLimitItem:
    return type(item)(item.amount * times, item.multiples)
