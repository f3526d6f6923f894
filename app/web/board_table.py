"""The rows of a leaderboard as a page shows them, made from the board that the API sends to the same reader."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_core import from_json

from app.actions.submissions.read_leaderboard import BoardPage
from app.actions.uncertainty.wording import NOT_CHOSEN, ONE_ENTRY, conclude, describe_choice
from app.api.caching.cached_reply import CachedReply
from app.errors import BadCursor, BadRequest
from app.web.board_cells import Cell, metric_cells
from app.web.board_query import PAGE_ROWS, BoardQuery, Order
from app.web.board_search import Board, SearchableBoard, best_first, require_column
from app.web.formatting import DASH
from app.web.order_words import rank_range
from app.web.score_address import score_path_end

MAX_SORTED_ROWS = 20_000  # of a board that is searched, or sorted by something else than the rank
MARKS = {
    "withdrawn": "withdrawn",
    "disqualified": "disqualified",
    "barred": "team barred",
    "unofficial": "unofficial: sent after the close",
}


class TooManyRowsToSort(BadRequest):
    """This leaderboard is too long to be searched or sorted."""

    code = "too_many_rows_to_sort"
    remedy = "Read it by rank, or sort its CSV form."


class Column(NamedTuple):
    """A column with its header: `sorts` is the address that sorts by it, `direction` how the table is sorted by it."""

    key: str
    label: str
    sorts: str
    direction: Order | None
    is_number: bool = False


class Row(NamedTuple):
    """A row of the table. `ranks` are those that it may have; empty where they are not known or not shown."""

    rank: str
    ranks: str
    tie_group: int | None
    begins_group: bool  # whether a line stands above it, between tie groups
    shared: int  # how many teams share the rank
    public_rank: str
    team: str
    method: str
    tags: tuple[str, ...]
    is_own: bool
    competes: bool
    submission: str | None  # where the reader may read it
    row_id: str
    entries: int
    submitted_at: datetime
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class BoardTable:
    """A page of a board as a table."""

    board: Board
    columns: list[Column]
    rows: list[Row]
    found: int
    """How many rows the search found; all without one."""
    first: int
    """The place of the first row, from 0."""
    previous: str | None
    following: str | None
    has_public_ranks: bool
    has_ties: bool
    score_paths: tuple[str, ...]
    """What follows the address of a submission to make those of its scores, by metric; empty without links."""
    significance: dict[str, Any]
    """Whether the ranks that rows may have are current: `status` and `reason`."""
    conclusion: str | None
    """What a reader may conclude from the ranks; None where the rows of this page do not tell."""
    choice: str | None
    """A warning that the shown split chose the rows; None where it did not, as far as these rows tell."""

    @property
    def has_ranges(self) -> bool:
        """Whether rows have the ranks that they may have."""
        return any(row.ranks for row in self.rows)

    @property
    def is_pending(self) -> bool:
        """Whether the ranks that rows may have are being computed."""
        return bool(self.significance["status"] == "pending")

    @property
    def has_intervals(self) -> bool:
        """Whether values have intervals."""
        return any(cell.interval or cell.lacks_interval for row in self.rows for cell in row.cells)

    @property
    def has_bars(self) -> bool:
        """Whether intervals are drawn."""
        return any(cell.bar for row in self.rows for cell in row.cells)

    @property
    def lacks_intervals(self) -> bool:
        """Whether a value has no interval although the phase shows them."""
        return any(cell.lacks_interval for row in self.rows for cell in row.cells)

    @property
    def has_links(self) -> bool:
        """Whether a value leads to its counts."""
        return bool(self.score_paths) and any(row.submission for row in self.rows)


def make_table(
    board: Board,
    slug: str,
    asked: BoardQuery,
    *,
    may_read: Callable[[dict[str, Any]], bool],
    own_team: str | None,
    searched: SearchableBoard | None = None,
    has_counts: bool = False,
) -> BoardTable:
    """The table of a page of a board; where all its rows are searched or sorted, `searched` has them.

    `has_counts`: whether scores of rows that the reader may read lead to the counts behind them.
    """
    start = int(asked.cursor or 0)
    if searched is None:
        rows, found = board["rows"], board["total"]
    else:
        places = searched.places(asked)
        rows, found = searched.rows(places[start : start + PAGE_ROWS]), len(places)
    columns = _columns_of_cells(board, rows)
    shown = [
        _row(row, tuple(column[place] for column in columns), may_read=may_read, own_team=own_team)
        for place, row in enumerate(rows)
    ]
    if asked.sort in {None, "rank"}:
        shown = _with_group_lines(shown)
    before = max(0, start - PAGE_ROWS)
    end = start + PAGE_ROWS
    return BoardTable(
        board,
        _columns(board, slug, asked, has_ranges=any(row.ranks for row in shown)),
        shown,
        found,
        start,
        asked._replace(cursor=str(before) if before else None).address(slug) if start else None,
        asked._replace(cursor=str(end)).address(slug) if end < found else None,
        any(row.public_rank for row in shown),
        any(row.shared > 1 for row in shown),
        tuple(score_path_end(metric["key"], asked.split) for metric in board["metrics"]) if has_counts else (),
        board["significance"],
        conclude(rows, None) if len(rows) == board["total"] and board["significance"]["status"] == "current" else None,
        _choice(board, rows),
    )


def _columns_of_cells(board: Board, rows: Sequence[dict[str, Any]]) -> list[list[Cell]]:
    competes = [row["rank"] is not None for row in rows]
    return [
        metric_cells(
            [row["scores"].get(metric["key"], {}) for row in rows],
            is_drawn=metric["key"] == board["primary"],
            competes=competes,
        )
        for metric in board["metrics"]
    ]


def _choice(board: Board, rows: Sequence[Mapping[str, Any]]) -> str | None:
    most = max((row["entries"] for row in rows if row["rank"] is not None), default=0)
    rule, is_whole = board["selection"], len(rows) == board["total"]
    choice = describe_choice(rule["rule"], rule["max"], board["split"], most, is_whole=is_whole)
    return None if choice["meaning"] in {ONE_ENTRY, NOT_CHOSEN} else str(choice["meaning"])


def _with_group_lines(rows: list[Row]) -> list[Row]:
    """The rows with a line above the first one of each tie group but the topmost."""
    shown, last = [], None
    for row in rows:
        begins = last is not None and row.tie_group is not None and row.tie_group != last
        last = last if row.tie_group is None else row.tie_group
        shown.append(row._replace(begins_group=begins))
    return shown


def require_shown(first: CachedReply, asked: BoardQuery) -> None:
    """Refuse what a board cannot show before anything is built for it; raises BadRequest.

    That is to search or to sort a board that is too long or by a column that it lacks, and a page that no link leads to:
    of those only the pages of the board are kept. `first` is the first page of the board, or the reason why there is none.
    """
    page = BoardPage.parse(PAGE_ROWS, asked.cursor)
    if first.refusal is not None:
        return
    board: Board = from_json(first.plain.body)
    if page is not None and page.start and (page.start % PAGE_ROWS or page.start >= board["total"]):
        raise BadCursor
    if asked.is_plain:
        return
    if board["total"] > MAX_SORTED_ROWS:
        raise TooManyRowsToSort(f"This leaderboard has more than {MAX_SORTED_ROWS} rows, so it is shown by rank alone.")
    require_column(board, asked.sort)


def _columns(board: Board, slug: str, asked: BoardQuery, *, has_ranges: bool) -> list[Column]:
    uses = Counter(metric["name"] for metric in board["metrics"])
    metrics = [
        (metric["key"], metric["name"] if uses[metric["name"]] == 1 else metric["key"]) for metric in board["metrics"]
    ]
    fixed = [("rank", "May have ranks" if has_ranges else "Rank"), ("team", "Team and method")]
    sorted_by = asked.sort or "rank"
    columns = []
    for key, label in [*fixed, *metrics, ("entries", "Attempts"), ("submitted", "Sent")]:
        first = best_first(board, key)
        direction = (asked.order or first) if key == sorted_by else None
        other: Order = "ascending" if first == "descending" else "descending"
        order = other if direction == first else None
        sort = None if key == "rank" and order is None else key
        address = asked.changed(sort=sort, order=order).address(slug)
        columns.append(Column(key, label, address, direction, is_number=key not in {"rank", "team", "submitted"}))
    return columns


def _row(
    row: dict[str, Any], cells: tuple[Cell, ...], *, may_read: Callable[[dict[str, Any]], bool], own_team: str | None
) -> Row:
    is_own = own_team is not None and row["team"]["id"] == own_team
    marks = ["baseline"] if row["baseline"] else []
    marks += [MARKS[row["mark"]]] if row["mark"] else []
    marks += ["sent by an organizer"] if row["on_behalf"] else []
    marks += ["your team"] if is_own else []
    rank = row["rank"]
    return Row(
        rank=DASH if rank is None else str(rank),
        ranks=rank_range(row),
        tie_group=row["tie_group"],
        begins_group=False,
        shared=row["tied"] or 0,
        public_rank="" if row["public_rank"] is None else str(row["public_rank"]),
        team=row["team"]["name"],
        method=row["method"],
        tags=tuple(marks),
        is_own=is_own,
        competes=rank is not None,
        submission=row["submission"] if may_read(row) else None,
        row_id=row["submission"] or "",
        entries=row["entries"],
        submitted_at=datetime.fromisoformat(row["submitted_at"]),
        cells=cells,
    )
