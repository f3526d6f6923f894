"""Rate limits per user and per address block: requests, sign-ups, new teams, failed logins.

Refusals carry Retry-After.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from limits import RateLimitItem, parse

from app.api.limits.rate_limiter import RateLimiter
from app.errors import AssayError, TooManyRequests
from app.settings import Settings

AGGREGATE_LIMIT_FACTOR = 10  # The limit over all addresses, or all accounts, is this multiple of the single limit.

UNCOUNTED_BODY_BYTES, COUNTED_PART_BYTES = 1 << 12, 1 << 16
"""A JSON body of more bytes than the first counts as a request of its address, and as another one for every further
part of the second size: reading one part takes the event loop about ten milliseconds.
"""

RateLimitKey = tuple[RateLimitItem, tuple[str, ...]]


class RequestLimits:
    """Counts the requests of users and address blocks, unless the settings turn rate limits off."""

    def __init__(self, settings: Settings) -> None:
        self._is_enabled = settings.rate_limits != "off"
        self._request_limit = parse(settings.rate_limits if self._is_enabled else "1/second")
        self._sign_up_limit = parse(settings.signup_limit)
        self._team_limit = parse(settings.team_limit)
        self._team_limit_per_block = _multiplied_limit(self._team_limit, AGGREGATE_LIMIT_FACTOR)
        self._rate_limiter = RateLimiter()
        self.failed_logins = FailedLogins(settings.login_limit, enabled=self._is_enabled)

    def count_request(self, *caller: str) -> None:
        """Count a request; raises TooManyRequests."""
        self._count("requests", (self._request_limit, ("request", *caller)))

    def count_body(self, block: str) -> None:
        """Count a JSON body that is not small, or a part of one, before authentication; raises TooManyRequests."""
        self._count(
            f"JSON bodies of more than {UNCOUNTED_BODY_BYTES >> 10} KiB from one address, counted once per {COUNTED_PART_BYTES >> 10} KiB,",
            (self._request_limit, ("body", block)),
        )

    def count_sign_up(self, block: str) -> None:
        """Count a sign-up; raises TooManyRequests."""
        self._count("sign-ups from one address", (self._sign_up_limit, ("sign-up", block)))

    @contextmanager
    def count_team_founding(self, user_id: str, block: str) -> Iterator[None]:
        """Count the team that is founded within the context, unless that fails; raises TooManyRequests."""
        counts = ((self._team_limit, ("team of", user_id)), (self._team_limit_per_block, ("team from", block)))
        self._count("teams founded by one user or from one address", *counts)
        try:
            yield
        except AssayError:
            for item, names in counts if self._is_enabled else ():
                self._rate_limiter.undo_hit(item, *names)
            raise

    def _count(self, events: str, *counts: RateLimitKey) -> None:
        """Count a hit on every limit, or on none; raises TooManyRequests."""
        if not self._is_enabled:
            return
        for index, (item, names) in enumerate(counts):
            if not self._rate_limiter.hit(item, *names):
                for earlier_item, earlier_names in counts[:index]:
                    self._rate_limiter.undo_hit(earlier_item, *earlier_names)
                seconds = self._rate_limiter.seconds_until_allowed(item, *names)
                raise rate_limit_error(f"The limit of {events} is {item}.", seconds)


class FailedLogins:
    """Counts wrong passwords per account and address block, per account, and per block.

    Use it from the event loop only.

    Only the first limit refuses attempts, so that an attacker cannot lock the owner out of an account; the other two
    slow attempts down. Successful logins are never counted.
    """

    def __init__(self, limit: str, *, enabled: bool) -> None:
        self._is_enabled = enabled
        self._limit_per_pair = parse(limit)
        self._aggregate_limit = _multiplied_limit(self._limit_per_pair, AGGREGATE_LIMIT_FACTOR)
        self._rate_limiter = RateLimiter()
        self._running: Counter[tuple[str, str]] = Counter()

    def refusal(self, account: str, block: str) -> TooManyRequests | None:
        """The error if this block may not try this account now, else None."""
        names = ("login", account, block)
        if not self._is_enabled or self._rate_limiter.test(self._limit_per_pair, *names):
            return None
        seconds = self._rate_limiter.seconds_until_allowed(self._limit_per_pair, *names)
        detail = f"The limit of failed logins to one account from one address is {self._limit_per_pair}."
        return rate_limit_error(detail, seconds)

    def must_wait_for_running(self, account: str, block: str) -> bool:
        """Whether running checks have to end first, because the limit is reached if all of them fail."""
        running = self._running[account, block]
        return (
            self._is_enabled
            and running > 0
            and not self._rate_limiter.test(self._limit_per_pair, "login", account, block, cost=running + 1)
        )

    def is_account_slowed(self, account: str) -> bool:
        """Whether the account had too many wrong passwords, from all addresses together."""
        return self._is_enabled and not self._rate_limiter.test(self._aggregate_limit, "account", account)

    def is_block_slowed(self, block: str) -> bool:
        """Whether too many wrong passwords came from this block, for all accounts together."""
        return self._is_enabled and not self._rate_limiter.test(self._aggregate_limit, "block", block)

    def begin(self, account: str, block: str) -> None:
        """Record that the check of an attempt begins."""
        self._running[account, block] += 1

    def end(self, account: str, block: str, *, failed: bool) -> None:
        """Record that the check has ended."""
        self._running[account, block] -= 1
        if not self._running[account, block]:
            del self._running[account, block]
        if failed and self._is_enabled:
            self._rate_limiter.hit(self._limit_per_pair, "login", account, block)
            self._rate_limiter.hit(self._aggregate_limit, "account", account)
            self._rate_limiter.hit(self._aggregate_limit, "block", block)


def rate_limit_error(detail: str, seconds: float) -> TooManyRequests:
    """A refusal with a Retry-After header."""
    return TooManyRequests(detail, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


def _multiplied_limit(item: RateLimitItem, times: int) -> RateLimitItem:
    return type(item)(item.amount * times, item.multiples)
