"""Reads the time of a former board as it was asked for, and says what is wrong with it in one sentence."""

import re
from datetime import UTC, datetime, timedelta

from app.errors import BadRequest, NoSuchBoard
from app.store.types import format_timestamp

_LOST_PLUS = re.compile(r"(\d) (\d\d:?\d\d)")
_EXAMPLE = "2026-05-01T12:00:00Z"


def read_time(text: str, *, in_utc: bool = False) -> datetime:
    """The time that a text names, in UTC; `in_utc`: a time without a zone is in UTC. Raises BadRequest."""
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None and in_utc:
            return moment.replace(tzinfo=UTC)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest("'as_of' is not a time.", remedy=_how_to_write(text)) from None
    written = moment.isoformat()
    remedy = f"Add Z if the time is in UTC ({written}Z), or the offset of its zone (such as {written}+02:00)."
    raise BadRequest("'as_of' has no time zone.", remedy=remedy)


def _how_to_write(text: str) -> str:
    """The remedy for a text that is no time. In an address a plus sign stands for a space, so it may have got lost."""
    mended, changes = _LOST_PLUS.subn(r"\1%2B\2", text.strip())
    if changes == 1 and _is_time(mended.replace("%2B", "+")):
        return f"In an address write %2B for the plus sign: as_of={mended}."
    return f"Write a past time with its zone, such as {_EXAMPLE} or 2026-05-01T14:00:00+02:00."


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def require_past(at: datetime, now: datetime) -> None:
    """Raise BadRequest for a time that is still to come."""
    if at > now:
        detail = f"'as_of' is in the future: it is {_to_the_second(now)} now."
        raise BadRequest(detail, remedy=f"Give a past time, such as {_to_the_second(now - timedelta(hours=1))}.")


def no_board_yet(at: datetime, first: datetime | None) -> NoSuchBoard:
    """The error for a time before the first board; `first` is the time of that, None if the phase has none yet."""
    if first is None:
        detail = "The phase has no board yet, because it has no active gold."
        return NoSuchBoard(detail, remedy="Try again once an organizer has activated gold labels.")
    detail = f"The phase had no board at {_to_the_second(at)}: its first one is of {format_timestamp(first)}."
    return NoSuchBoard(
        detail, remedy=f"Give a time from then on, such as {_to_the_second(first + timedelta(seconds=1))}."
    )


def _to_the_second(moment: datetime) -> str:
    return format_timestamp(moment.replace(microsecond=0))
