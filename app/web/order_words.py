"""What a reader may conclude from an order, in words. Never 'equal': rows are 'not shown to differ'."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.web.formatting import counted

DASH = "\N{EN DASH}"
NAMED = 4  # so many teams are named in a sentence
SHARED_PRECISION = 6  # decimals at most


def conclusion(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Who may be first, from all rows of a board that have a rank set; None if none has one."""
    ranked = [row for row in rows if row["rank_low"] is not None]
    if not ranked:
        return None
    total = len(ranked)
    if total == 1:
        return "One row is ranked, so there is no order to judge."
    first = [team_name(row) for row in ranked if row["rank_low"] == 1]
    if len(first) == total:
        return f"No two of the {total} ranked rows are shown to differ at 5 %: these data do not support any order."
    if len(first) == 1:
        return _one_may_be_first(next(row for row in ranked if row["rank_low"] == 1))
    names = f": {', '.join(first)}" if len(first) <= NAMED else ""
    return (
        f"{len(first)} of the {total} ranked rows may be first{names}. "
        "No row is shown to be better than one of them at 5 %."
    )


def _one_may_be_first(row: Mapping[str, Any]) -> str:
    name = team_name(row)
    if row["rank_high"] == 1:
        return f"{name} is shown to be better than every other ranked row at 5 %."
    return f"Only {name} may be first at 5 %, but it is not shown to be better than each of the other rows."


def neighbours(different: int, compared: int) -> str | None:
    """How many pairs of neighbours differ."""
    if not compared:
        return None
    if different == 0:
        return str(
            counted(
                compared,
                "The one pair of neighbours is not shown to differ at 5 %.",
                "None of the {n} pairs of neighbours is shown to differ at 5 %.",
            )
        )
    if different == compared:
        return str(
            counted(
                compared,
                "The one pair of neighbours is shown to differ at 5 %.",
                "All {n} pairs of neighbours are shown to differ at 5 %, so the whole order is.",
            )
        )
    are = "is" if different == 1 else "are"
    return f"Of the {compared} pairs of neighbours, {different} {are} shown to differ at 5 %."


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
