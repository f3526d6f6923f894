"""What a reader may conclude from an order, in one sentence."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.uncertainty.rank_sets import Board, RankSets


def conclude(rows: Sequence[Mapping[str, Any]], sets: RankSets, order: Sequence[int], board: Board) -> str:
    """The conclusion; `rows` are described best first, `order` has their numbers in `sets`."""
    size = len(rows)
    if size == 1:
        return "There is one system, so there is no order."
    valued = sum(row["value"] is not None for row in rows)
    if valued < 2:
        return f"Only {valued} of the {size:,} systems has a value, so there is no order."
    leader = rows[0]["system"]
    if not sets.better.any():
        data = pluralize(board.instances, "instance") if board.groups is None else pluralize(board.groups, "group")
        return f"No two of the {size:,} systems are shown to differ at 5 %; these data ({data}) support no order."
    neighbours = sum(bool(sets.better[upper, lower]) for upper, lower in pairwise(order))
    if size == 2:
        return f"'{leader}' is shown to be better than '{rows[1]['system']}' at 5 %."
    return _conclude_many(rows, leader, neighbours)


def _conclude_many(rows: Sequence[Mapping[str, Any]], leader: str, neighbours: int) -> str:
    """The conclusion for three systems and more, of which some are different."""
    size, first = len(rows), sum(row["rank_low"] == 1 for row in rows)
    is_whole = all(row["rank_low"] is not None for row in rows)
    if not is_whole:
        lead = f"At least {first:,} of the {size:,} systems may be first, among them '{leader}'"
    elif first == 1:
        lead = f"'{leader}' is shown to be better than all other systems at 5 %"
    else:
        lead = f"{first:,} of the {size:,} systems may be first, among them '{leader}'"
    if neighbours == size - 1:
        return f"{lead}; all {size - 1:,} pairs of neighbours are shown to differ, so the whole order is."
    if not is_whole:
        return f"{lead}; {neighbours:,} of the pairs of neighbours that were compared {_are(neighbours)} shown to differ at 5 %."
    if not neighbours:
        return f"{lead}; no pair of neighbours is shown to differ at 5 %."
    return f"{lead}; {neighbours:,} of the {size - 1:,} pairs of neighbours {_are(neighbours)} shown to differ at 5 %."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
