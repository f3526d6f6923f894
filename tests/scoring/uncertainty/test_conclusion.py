"""What sentences conclude from rank sets: never more than these say."""

from app.scoring.uncertainty.conclusion import RankSet, neighbours_that_differ, who_may_be_first
from tests.each_case import for_each


@for_each(
    "ends, total, said",
    [
        ([], 0, None),
        ([(1, 1)], 1, "There is one row, so there is no order."),
        ([(1, 2), (1, 2)], 2, "No two of the 2 rows are shown to differ at 5 %."),
        ([(1, 1), (2, 2)], 2, "A is shown to be better than B at 5 %."),
        ([(1, 1), (2, 3), (2, 3)], 3, "A is shown to be better than all other rows at 5 %."),
        (
            [(1, 2), (2, 3), (2, 3)],
            3,
            "Only A may be first at 5 %, but it is not shown to be better than each of the other rows.",
        ),
        (
            [(1, 2), (1, 2), (3, 3)],
            3,
            "2 of the 3 rows may be first: A, B. No row is shown to be better than one of them at 5 %.",
        ),
        (
            [(1, 9), (1, 9)],
            9,
            "At least 2 of the 9 rows may be first: A, B. No row is shown to be better than one of them at 5 %.",
        ),
        (
            [(1, 8), (2, 9)],
            9,
            "At least 1 of the 9 rows may be first: A. No row is shown to be better than it at 5 %.",
        ),
        (
            [(1, 5)] * 5 + [(6, 6)],
            6,
            "5 of the 6 rows may be first. No row is shown to be better than one of them at 5 %.",
        ),
    ],
)
def test_who_may_be_first(ends: list[tuple[int, int]], total: int, said: str | None) -> None:
    rows = [RankSet(name, *both) for name, both in zip("ABCDEFG", ends, strict=False)]
    assert who_may_be_first(rows, total, noun="row") == said


@for_each(
    "different, compared, total, said",
    [
        (0, 0, 2, None),
        (0, 1, 1, "The one pair of neighbours is not shown to differ at 5 %."),
        (1, 1, 1, "The one pair of neighbours is shown to differ at 5 %."),
        (0, 2, 2, "None of the 2 pairs of neighbours is shown to differ at 5 %."),
        (1, 2, 2, "Of the 2 pairs of neighbours, 1 is shown to differ at 5 %."),
        (2, 3, 3, "Of the 3 pairs of neighbours, 2 are shown to differ at 5 %."),
        (3, 3, 3, "All 3 pairs of neighbours are shown to differ at 5 %, so the whole order is shown."),
        (0, 1, 3, "The one pair of neighbours that was compared is not shown to differ at 5 %."),
        (0, 2, 3, "None of the 2 pairs of neighbours that were compared is shown to differ at 5 %."),
        (2, 2, 3, "Of the 2 pairs of neighbours that were compared, 2 are shown to differ at 5 %."),
    ],
)
def test_neighbours(different: int, compared: int, total: int, said: str | None) -> None:
    assert neighbours_that_differ(different, compared, total) == said
