"""The quota ledger: what each kind of entry counts as."""

import pytest

from app.store.queries import quota
from app.store.session import Database
from app.store.tables import Submission
from app.text.confusable_names import name_key
from tests.store.sample_rows import fill_tables, submission

DAY, OTHER_DAY = "2026-01-01", "2026-01-02"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("queued", quota.QuotaUsage(per_day=1, total=1, concurrent=1, invalid_per_day=0)),
        ("finished", quota.QuotaUsage(per_day=1, total=1, concurrent=0, invalid_per_day=0)),
        ("rejected", quota.QuotaUsage(per_day=0, total=0, concurrent=0, invalid_per_day=1)),
        ("failed", quota.QuotaUsage(per_day=0, total=0, concurrent=0, invalid_per_day=0)),
        ("cancelled", quota.QuotaUsage(per_day=0, total=0, concurrent=0, invalid_per_day=1)),
    ],
)
def test_only_scored_submissions_are_charged(db: Database, status: str, expected: quota.QuotaUsage) -> None:
    with db.write() as session:
        row_ids = fill_tables(session)  # its submission was reserved on this day
        row = session.get_one(Submission, row_ids.submission)
        row.status = status
        if status != "queued":
            quota.settle(session, row.id, status)
        session.flush()
        assert quota.usage(session, row_ids.phase, row_ids.team, DAY) == expected
        tomorrow = quota.usage(session, row_ids.phase, row_ids.team, OTHER_DAY)
        assert (tomorrow.per_day, tomorrow.total, tomorrow.invalid_per_day) == (0, expected.total, 0)


def test_entries_of_organizers_count_against_no_limit(db: Database) -> None:
    with db.write() as session:
        row_ids = fill_tables(session)
        before = quota.usage(session, row_ids.phase, row_ids.team, DAY)
        session.add(submission(row_ids.phase, row_ids.team, row_ids.user, file_key="uploads/2"))
        session.flush()
        assert quota.usage(session, row_ids.phase, row_ids.team, DAY) == before


def test_names_that_read_the_same_have_one_key() -> None:
    names = ["Straße  7", " STRASSE 7", "ＳＴＲＡＳＳＥ 7", "strasse\u00a07\t"]
    assert {name_key(name) for name in names} == {"strasse 7"}
