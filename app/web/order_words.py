"""Numbers of an order as texts."""

from collections.abc import Iterable, Mapping
from typing import Any

DASH = "\N{EN DASH}"
SHARED_PRECISION = 6  # decimals at most


def rank_range(row: Mapping[str, Any]) -> str:
    """The ranks that a row may have: '1' or '2 to 5' with a dash; empty without a rank set."""
    low, high = row["rank_low"], row["rank_high"]
    if low is None or high is None:
        return ""
    return f"{low}" if low == high else f"{low}{DASH}{high}"


def team_name(row: Mapping[str, Any]) -> str:
    """The name of the team of a row."""
    team = row["team"]
    return str(team["name"]) if isinstance(team, Mapping) else str(team)


def decimals_for(widths: Iterable[float]) -> int:
    """The decimals with which intervals of these widths have two digits that count."""
    found = SHARED_PRECISION
    smallest = min((width for width in widths if width > 0), default=0.0)
    if not smallest:
        return 3
    for decimals in range(SHARED_PRECISION + 1):
        if smallest * 10**decimals >= 10:
            found = decimals
            break
    return found


def interval_text(low: float, high: float, decimals: int) -> str:
    """An interval as text with a dash between its ends, or 'to' where a sign could be taken for the dash."""
    ends = f"{low:.{decimals}f}", f"{high:.{decimals}f}"
    return DASH.join(ends) if low >= 0 else " to ".join(ends)


def share_text(share: float | None) -> str:
    """A share of the draws as a percentage."""
    if share is None:
        return DASH
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{share * 100:.1f} %"


def p_text(p_value: float | None) -> str:
    """A p-value with three digits that count."""
    if p_value is None:
        return DASH
    return "under 0.0001" if p_value < 1e-4 else f"{p_value:.3g}"
