"""How many draws and pairs a board gets, within a budget of pair-draws."""

from typing import NamedTuple

WANTED_DRAWS = 10_000
LEAST_DRAWS = 2_000
BUDGET = 10**9
"""Of pair-draws: pairs of rows times draws."""
MAX_LEADERS = 100
"""Beyond the budget, so many of the first rows are compared with all others."""


class BoardPlan(NamedTuple):
    """`draws` to make, `leaders`: how many of the first rows are compared with all later rows; `notes` say what is less."""

    draws: int
    leaders: int
    notes: tuple[str, ...]


def plan_board(rows: int, wanted: int = WANTED_DRAWS) -> BoardPlan:
    """The plan for so many ranked rows."""
    pairs = rows * (rows - 1) // 2
    if pairs * wanted <= BUDGET:
        return BoardPlan(wanted, rows, ())
    least = min(LEAST_DRAWS, wanted)
    draws = max(least, BUDGET // pairs)
    notes: tuple[str, ...] = ()
    if draws < wanted:
        fewer = f"{draws:,} draws are made instead of {wanted:,}, to limit the computation."
        notes = (f"There are {pairs:,} pairs of rows: {fewer}",)
    if pairs * draws <= BUDGET:
        return BoardPlan(draws, rows, notes)
    limit = (
        f"Only pairs with one of the first {MAX_LEADERS} rows are compared, to limit the computation; the other rows "
        "have no rank set."
    )
    return BoardPlan(draws, MAX_LEADERS, (*notes, limit))
