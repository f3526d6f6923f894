"""What a reader may conclude from rank sets, in words. Never 'equal': rows are 'not shown to differ'."""

from collections.abc import Sequence
from typing import NamedTuple

NAMED = 4
"""So many rows are named in a sentence."""


class RankSet(NamedTuple):
    """The ranks that a row may have, with the name by which a sentence calls it."""

    name: str
    low: int
    high: int


def who_may_be_first(rows: Sequence[RankSet], total: int, *, noun: str) -> str | None:
    """The conclusion from the rows that have rank sets, of `total` ones that have a rank; None if none has a set.

    `noun` is what a sentence calls one row; an `s` makes it several.
    """
    if not rows:
        return None
    if total == 1:
        return f"There is one {noun}, so there is no order."
    first = [row for row in rows if row.low == 1]
    if len(first) == total:
        return f"No two of the {total:,} {noun}s are shown to differ at 5 %."
    at_least = "at least " if len(rows) < total else ""
    if len(first) == 1 and not at_least:
        return _one_may_be_first(first[0], rows, noun)
    names = f": {', '.join(row.name for row in first)}" if len(first) <= NAMED else ""
    one = noun.removeprefix("ranked ")
    sentence = (
        f"{at_least}{len(first):,} of the {total:,} {noun}s may be first{names}. No {one} is shown to be better than "
    )
    return sentence[0].upper() + sentence[1:] + ("it at 5 %." if len(first) == 1 else "one of them at 5 %.")


def _one_may_be_first(row: RankSet, rows: Sequence[RankSet], noun: str) -> str:
    if row.high > 1:
        return f"Only {row.name} may be first at 5 %, but it is not shown to be better than each of the other {noun}s."
    others = [other.name for other in rows if other is not row]
    return f"{row.name} is shown to be better than {others[0] if len(others) == 1 else f'all other {noun}s'} at 5 %."


def neighbours_that_differ(different: int, compared: int, total: int) -> str | None:
    """How many of the `total` pairs of neighbours differ, of which some were compared; None if none was."""
    if not compared:
        return None
    if total == 1:
        return f"The one pair of neighbours is {'' if different else 'not '}shown to differ at 5 %."
    if different == total:
        return f"All {total:,} pairs of neighbours are shown to differ at 5 %, so the whole order is shown."
    if compared == 1:
        return f"The one pair of neighbours that was compared is {'' if different else 'not '}shown to differ at 5 %."
    pairs = f"the {compared:,} pairs of neighbours" + (" that were compared" if compared < total else "")
    if different == 0:
        return f"None of {pairs} is shown to differ at 5 %."
    return f"Of {pairs}, {different:,} {'is' if different == 1 else 'are'} shown to differ at 5 %."
