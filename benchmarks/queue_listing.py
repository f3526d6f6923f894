"""A listing and a single submission among few and many waiting submissions: the positions are counted once a page."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from sqlalchemy import text

from app.actions.access import Caller
from app.actions.accounts.bootstrap import get_or_create_administrator
from app.actions.submissions.read_submissions import list_submissions, read_submission
from app.api.field_types import Page
from app.api.submissions import SubmissionShape, submission_shape
from app.settings import Settings
from app.store.session import Database
from benchmarks.figures import Measured
from benchmarks.large_store import fill
from benchmarks.measure import timed
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes
from tests.live_service import Live, open_challenge

FEW, ROWS, TURNS = 20, 20, 10
USERS = 40
FIRST = 100_000  # of the numbers in the ids of copies
GOLD = {"t1": "cat", "t2": "dog"}
COPIES = "submission_id LIKE '0000%'"
TASKS = f"""
    UPDATE score_tasks SET status = 'queued', ticket = id, served_turn = NULL,
        lane = 'user ' || (rowid % {USERS}), turn = rowid / {USERS}, subturn = rowid / {USERS}
    WHERE {COPIES}
"""  # noqa: S608 - constants
QUEUED = (
    "UPDATE submissions SET status = 'queued', started_at = NULL, finished_at = NULL WHERE id LIKE '0000%'",
    f"DELETE FROM scores WHERE {COPIES}",  # noqa: S608
    TASKS,
)


def waiting_store(folder: Path, count: int) -> Database:
    """A database in which this many submissions of some users wait to be scored."""
    service = Live(folder / "data").with_analyses().start()
    gold = [{"id": name, "label": label} for name, label in GOLD.items()]
    open_challenge(service.admin(), "bench", gold, recipe=RECIPE)
    assert service.admin().submit("bench", GOLD, team="First").json()["status"] == "finished"
    service.stop()
    settings = Settings(data_dir=service.data_dir)
    fill(settings.database, "bench", count, first=FIRST)
    db = Database(settings)
    with db.engine().begin() as connection:
        for statement in QUEUED:
            connection.execute(text(statement))
    return db


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure both lengths of the queue in turn, with pages of as many queued submissions."""
    pages: dict[str, Callable[[], object]] = {}
    singles: dict[str, Callable[[], object]] = {}
    for count in (FEW, sizes.queue):
        db = waiting_store(folder / str(count), count)
        with db.write() as session:
            caller = get_or_create_administrator(session)
        pages[f"{count:,} waiting"] = partial(_repeated, partial(listing, db, caller))
        newest = f"{FIRST + count - 1:032x}"
        singles[f"{count:,} waiting"] = partial(_repeated, partial(single, db, caller, newest))
    found, few, many = Measured(), f"{FEW:,} waiting", f"{sizes.queue:,} waiting"
    for what, ways in ((f"listing of {ROWS} queued submissions", pages), ("a queued submission", singles)):
        spent = {name: value / TURNS for name, value in timed(ways, repetitions=sizes.repetitions).items()}
        found.ways(f"{what}, processor", spent, "ms each")
        found.at_most(f"{what}, {many} over {few}", 2, spent[many] / spent[few])
    return found


def _repeated(read: Callable[[], object]) -> None:
    for _ in range(TURNS):
        read()


def listing(db: Database, caller: Caller) -> bytes:
    """The reply of the route, without HTTP."""
    with db.read() as session:
        rows, following = list_submissions(session, caller, "bench", "main", limit=1 + ROWS, cursor=None)
        assert sum(row.queue_position is not None for row in rows) == ROWS  # the first one is finished
        page = Page[SubmissionShape](items=[submission_shape(row) for row in rows], next=following)
    return page.model_dump_json().encode()


def single(db: Database, caller: Caller, submission_id: str) -> bytes:
    """The reply of the route for one submission, without HTTP."""
    with db.read() as session:
        view = read_submission(session, caller, submission_id)
        assert view.queue_position
        return submission_shape(view).model_dump_json().encode()
