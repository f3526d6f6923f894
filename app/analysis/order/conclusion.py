"""What a reader may conclude from an order of systems."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.uncertainty.conclusion import RankSet, neighbours_that_differ, who_may_be_first
from app.scoring.uncertainty.rank_sets import Board, RankSets


def conclude(rows: Sequence[Mapping[str, Any]], sets: RankSets, order: Sequence[int], board: Board) -> str:
    """The conclusion; `rows` are described best first, `order` has their numbers in `sets`."""
    size, valued = len(rows), sum(row["value"] is not None for row in rows)
    if size > 1 and valued < 2:
        return f"Only {valued} of the {size:,} systems has a value, so there is no order."
    known = [row for row in rows if row["rank_low"] is not None]
    first = who_may_be_first(
        [RankSet(f"'{row['system']}'", row["rank_low"], row["rank_high"]) for row in known], valued, noun="system"
    )
    if first is None or len(known) < min(2, valued):
        return "Fewer than two systems could be compared, so there is no order."
    if valued > 1 and len(known) == valued and not sets.better.any():
        data = pluralize(board.instances, "instance") if board.groups is None else pluralize(board.groups, "group")
        return f"{first} These data ({data}) support no order."
    pairs = list(pairwise(order[:valued]))
    compared = [pair for pair in pairs if sets.compared[pair]]
    if len(pairs) == 1 or not compared:
        return first
    different = sum(bool(sets.better[pair]) for pair in compared)
    return f"{first} {neighbours_that_differ(different, len(compared), len(pairs))}"
