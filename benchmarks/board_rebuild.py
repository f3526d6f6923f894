"""Building a board from the rows: over sorting and serialising alone, for growing numbers of teams and submissions."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from app.actions.submissions.read_leaderboard import build_cacheable_board
from app.api.caching.board_cache import BoardKey
from app.api.leaderboards import Board, build_board, encode_board
from app.scoring.standings import BoardEntry, ranking_key, standings
from app.settings import Settings
from app.store.session import Database, ReadSession
from benchmarks.board_store import METRICS, SLUG, fill, migrated
from benchmarks.figures import Measured
from benchmarks.measure import Way, timed
from benchmarks.sizes import Sizes

KEY = BoardKey(SLUG, "main", "visitor")
PAGE_ROWS = 50
ALONE, PAGE = "sorting and serialising its rows alone", f"assay, a page of {PAGE_ROWS} rows"


def rebuild(db: Database) -> bytes:
    """The body of the board, from the rows; compressing it is not part of this."""
    with db.read() as session:
        return encode_board(_loaded(session), "json")


def _loaded(session: ReadSession) -> dict[str, Any]:
    """The board, whose rows are read as they are taken."""
    found = build_cacheable_board(session, KEY.view, KEY.slug, KEY.phase, split=None, metric=None)
    assert found.board is not None
    assert found.rows is not None
    return found.board | {"rows": found.rows.load(lambda: nullcontext(session))}


def rows_alone(db: Database) -> Way:
    """Sorting the rows of a board that are in memory, and serialising them with its reply class, as FastAPI does."""
    with db.read() as session:
        board = _loaded(session)
        board["rows"] = list(board["rows"])
    entries = []
    for row in board["rows"]:
        keys = (ranking_key("higher", row["scores"][METRICS[0]]["value"]),)
        entries.append(BoardEntry(row["submission"], row["team"]["id"], baseline=False, keys=keys))
    entries.sort(key=lambda entry: entry.submission)
    return lambda: (standings(entries), Board.model_validate(board).model_dump_json())


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Build boards of growing numbers of teams, and of growing numbers of submissions of each; in turn."""
    found, most = Measured(), sizes.board_teams[-1]
    shapes = [(teams, 1) for teams in sizes.board_teams] + [(most, sizes.board_entries)]
    stores = {shape: migrated(Settings(data_dir=folder / f"{shape[0]}-{shape[1]}", min_free=0)) for shape in shapes}
    try:
        for (teams, entries), db in stores.items():
            fill(db, teams, entries)
        ways: dict[str, Way] = {}
        for (teams, entries), db in stores.items():
            ways[f"assay, {teams:,} teams, {entries} submissions each"] = partial(rebuild, db)
        few, many = stores[most, 1], stores[most, sizes.board_entries]
        ways |= {ALONE: rows_alone(few), PAGE: lambda: build_board(many, KEY._replace(limit=PAGE_ROWS))}
        spent = timed(ways, repetitions=sizes.repetitions)
    finally:
        for db in stores.values():
            db.close()
    found.ways("a board from the rows", spent, "ms")
    times = dict(zip(shapes, spent.values(), strict=False))
    grown = times[most, sizes.board_entries] / times[most, 1]
    found.at_most(f"board of {most:,} teams, over {ALONE}", 3, times[most, 1] / spent[ALONE])
    found.at_most(f"board of {most:,} teams, {sizes.board_entries} submissions each, over 1 each", 1.2, grown)
    return found
