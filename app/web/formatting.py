"""How pages write times, numbers and sizes. Every page uses these filters, so one thing looks the same everywhere."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from app.text.visible_labels import visible_label

DASH = "\N{EN DASH}"


def moment(value: datetime | None, seconds: bool = False) -> Markup:
    """A time in UTC, as '12 Nov 2026, 12:00 UTC'; the script of the page adds the reader's local time."""
    if value is None:
        return escape(DASH)
    utc = value.astimezone(UTC)
    text = f"{utc.day} {utc:%b %Y, %H:%M}{f':{utc:%S}' if seconds else ''} UTC"
    return Markup('<time datetime="{}" data-local>{}</time>').format(utc.isoformat().replace("+00:00", "Z"), text)


def moment_in(value: datetime, zone: str) -> str:
    """A time in a time zone, as '12 Nov 2026, 13:00'."""
    local = value.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y, %H:%M}"


def countdown(value: datetime, now: datetime) -> Markup:
    """The time until or since a moment in words, as 'in 3 days'; the script of the page keeps it up to date."""
    text = relative(value - now)
    return Markup('<span data-countdown="{}">{}</span>').format(value.astimezone(UTC).isoformat(), text)


def relative(left: timedelta) -> str:
    """A period until or since now in words: 'in 3 days', '2 hours ago'."""
    seconds = abs(left.total_seconds())
    for unit, size, least in (("year", 31_557_600, 2), ("day", 86400, 1), ("hour", 3600, 1), ("minute", 60, 1)):
        if seconds >= least * size:
            count = int(seconds // size)
            words = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"in {words}" if left > timedelta(0) else f"{words} ago"
    return "in less than a minute" if left > timedelta(0) else "just now"


def number(value: float | None) -> str:
    """A number as the API gives it: the shortest text that is this number; a dash for null."""
    if value is None:
        return DASH
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    return repr(value)


def score(value: float | None) -> str:
    """A measure from 0 to 1 in a table, with at most four decimals; a dash for an undefined one."""
    return DASH if value is None else f"{value:.4f}"


def file_size(count: int | None) -> str:
    """A number of bytes: '14 kB'."""
    if count is None:
        return DASH
    size, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "bytes" or size >= 10 else f"{size:.1f} {units[0]}"


def counted(count: int, one: str, many: str) -> Markup:
    """A sentence with a number, which replaces {n}: `one` for 1, `many` for all others."""
    return escape((one if count == 1 else many).replace("{n}", number(count)))


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment,
    "moment_in": moment_in,
    "countdown": countdown,
    "number": number,
    "score": score,
    "file_size": file_size,
    "counted": counted,
    "label": visible_label,
}
