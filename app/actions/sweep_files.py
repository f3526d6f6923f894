"""Remove stored files that no row points to: what is left of uploads whose transaction did not come to be."""

from itertools import islice

from app.files import Files
from app.store.files import with_rows
from app.store.session import Database

BATCH = 500
DAY = 24 * 3600.0  # seconds


def sweep_files(db: Database, files: Files) -> int:
    """How many files were removed; young ones stay, for an upload is a file before it is a row."""
    keys = iter(list(files.keys(older=DAY)))
    removed = 0
    while batch := list(islice(keys, BATCH)):
        with db.read() as session:
            known = with_rows(session, batch)
        for key in batch:
            if key not in known:
                files.delete(key)
                removed += 1
    return removed
