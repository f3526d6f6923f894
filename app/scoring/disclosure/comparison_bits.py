"""Bits of what a phase shows of uncertainty: intervals of single scores, and comparisons of the rows of a board.

Every published number of d significant digits reveals at most log2 of its distinct values; a rank, at most log2 of the
number of rows. A comparison is made again when a submission changes the board. It then shows new numbers for the row
of that submission and for its pairs with all other rows, and may move the rank sets and podium shares of all rows.
"""

import math
from collections.abc import Callable

from app.scoring.declaration.recipe import ScoringRecipe

COMPARISONS = ("significance", "rankings")
"""The reports that compare rows of a board; they are shown where the board is."""
UNCERTAINTY_REPORTS = ("intervals", *COMPARISONS)

NOTE_BITS = 40.0
"""What the notes beside one interval or row may reveal: flags, the number of draws that are left out, and by how much
resampling moves the value, which has a sign, three digits and a power of ten whatever digits are shown."""
NUMBERS_OF_ROW = 2  # both ends of the interval
SHARES_OF_ROW = 3  # of draws in which the row is first, second and third
RANKS_OF_ROW = 3  # both ends of the rank set, and the tie group
NUMBERS_OF_PAIR = 4  # the difference, both ends of its interval, and the p-value
AVERAGING_CHOICES = 6
"""How many averages of a measure rankings show beside the metrics of the recipe."""

DigitBits = Callable[[tuple[float, float]], float]
"""The bits of a number of the shown digits in a range."""


def uncertainty_bits(name: str, recipe: ScoringRecipe, rivals: int, digit_bits: DigitBits) -> float:
    """Bits of one of `UNCERTAINTY_REPORTS` for one submission, among so many other rows; the digits alone bound it."""
    if name == "intervals":
        return math.fsum(2 * digit_bits(call.metric.range) + NOTE_BITS for call in recipe.metrics)
    rows, share = rivals + 1, digit_bits((0.0, 1.0))
    position = math.log2(rows)
    if name == "rankings":
        columns = len(recipe.metrics) + AVERAGING_CHOICES
        return columns * rows * (2 * position + share) + columns**2 * digit_bits((-1.0, 1.0))
    return math.fsum(
        rows * (RANKS_OF_ROW * position + SHARES_OF_ROW * share + NOTE_BITS)
        + (NUMBERS_OF_ROW + rivals * NUMBERS_OF_PAIR) * digit_bits(call.metric.range)
        for call in recipe.metrics
    )
