"""The challenge of the guide for organizers: its labels, and the boards that people read in their browsers."""

from collections.abc import Mapping
from pathlib import Path

from tests.browser.person import Person
from tests.live_service import eventually

SLUG, DEVELOPMENT, TEST = "sounds", "development", "test"
TITLE, DEVELOPMENT_NAME, TEST_NAME = "Vowels and consonants", "Development", "Test"
WRONG_GOLD = dict.fromkeys(("d1", "d2", "d3"), "vowel") | {"d4": "consonant", "d5": "vowel", "d6": "vowel"}
GOLD = WRONG_GOLD | {"d5": "consonant", "d6": "consonant"}
TEST_LABELS = ("vowel", "consonant", "noise", "vowel", "consonant", "noise", "vowel")
TEST_GOLD = {f"t{number}": label for number, label in enumerate(TEST_LABELS, 1)}
PUBLIC = ("t1", "t2", "t3")
TERMS = "Do not label the recordings of the test phase by hand. Describe your method."
BoardRow = tuple[str, str, float]
"""Rank, team with its marks, and accuracy, as a reader sees them."""


def wrong_in(gold: dict[str, str], *ids: str) -> dict[str, str]:
    """Predictions that are wrong for these ids."""
    return gold | {each: "vowel" if gold[each] != "vowel" else "consonant" for each in ids}


def shown_rows(reader: Person, phase: str) -> list[BoardRow]:
    """The rows of the board that is open in a browser, from the top down."""
    reader.go(f"/challenges/{SLUG}/leaderboard?phase={phase}")
    rows = reader.page.locator("table.board tbody tr").all()
    return [
        (
            # The rank on this split stands below the ranks that the row may have, once those are computed.
            " ".join(row.locator("td.rank").inner_text().split()).rpartition(" rank ")[2],
            " ".join(row.locator("th").inner_text().split()),
            round(float(row.locator("td b").inner_text()), 3),
        )
        for row in rows
    ]


def require_board(reader: Person, phase: str, *expected: BoardRow) -> None:
    """Wait until a reader sees these rows; a board that only new scores change is built at most once a second."""
    seen: list[list[BoardRow]] = []

    def shows() -> bool:
        seen[:] = [shown_rows(reader, phase)]
        return seen[0] == list(expected)

    try:
        eventually(shows, "the board")
    except AssertionError:
        raise AssertionError(seen[0]) from None


def table_file(folder: Path, name: str, labels: Mapping[str, str], public: tuple[str, ...] = ()) -> Path:
    """A CSV file with a label for each id; with `public`, a column says to which split each belongs."""
    rows: list[tuple[str, ...]] = [("id", "label", "split")[: 3 if public else 2]]
    for each, label in labels.items():
        rows.append((each, label, "public" if each in public else "private") if public else (each, label))
    path = folder / f"{name}.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def send(sender: Person, file: Path, method: str, status: str = "Finished") -> None:
    """Send a file by the page to submit, which is open, and wait for what becomes of it."""
    sender.write("Method (optional)", method)
    sender.attach("File with predictions", file)
    sender.press("Submit")
    sender.waits_for(sender.page.locator("main div[role=status] .status"), status)
