"""The quota ledger: what each kind of entry counts as."""

import pytest

from app.actions.access import Caller
from app.actions.scoring_tasks.rescoring_order import NotRescorable, order_submission_rescoring
from app.queue.jobs import JobTable
from app.queue.local import LocalQueue
from app.store.queries import quota
from app.store.session import Database
from app.store.tables import Phase, QuotaEntry, QuotaGrant, ScoreTask, Submission
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
        assert quota.usage_and_grants(session, row_ids.phase, row_ids.team, DAY)[0] == expected
        tomorrow = quota.usage_and_grants(session, row_ids.phase, row_ids.team, OTHER_DAY)[0]
        assert (tomorrow.per_day, tomorrow.total, tomorrow.invalid_per_day) == (0, expected.total, 0)


def test_entries_of_organizers_count_against_no_limit(db: Database) -> None:
    with db.write() as session:
        row_ids = fill_tables(session)
        before = quota.usage_and_grants(session, row_ids.phase, row_ids.team, DAY)[0]
        session.add(submission(row_ids.phase, row_ids.team, row_ids.user, file_key="uploads/2"))
        session.flush()
        assert quota.usage_and_grants(session, row_ids.phase, row_ids.team, DAY)[0] == before


@pytest.mark.parametrize(("limits", "granted", "fits"), [(1, 1, True), (2, -1, False), (1, 0, False), (2, 0, True)])
def test_what_is_scored_after_all_counts_against_the_limit_of_its_team(
    db: Database, limits: int, granted: int, fits: bool
) -> None:
    with db.write() as session:
        row_ids = fill_tables(session)
        failed = session.get_one(Submission, row_ids.submission)
        failed.status = session.query(ScoreTask).one().status = "failed"
        quota.settle(session, failed.id, "failed")
        other = submission(row_ids.phase, row_ids.team, row_ids.user, file_key="uploads/2")
        session.add(other)
        session.flush()
        session.add(QuotaEntry(**quota.reservation(other, DAY)))
        session.get_one(Phase, row_ids.phase).quota = {"total": limits}
        session.query(QuotaGrant).one().total = granted
    owner = Caller(user_id=row_ids.user, scopes=frozenset({"read", "submit", "organize"}))
    queue = LocalQueue(lambda _count, _woken: [], slots=1) if db.sqlite else JobTable()
    with db.write() as session:
        if fits:
            assert order_submission_rescoring(session, queue, owner, failed.id).submission.status == "queued"
        else:
            with pytest.raises(NotRescorable, match="used 1 of 1"):
                order_submission_rescoring(session, queue, owner, failed.id)


def test_names_that_read_the_same_have_one_key() -> None:
    names = ["Straße  7", " STRASSE 7", "ＳＴＲＡＳＳＥ 7", "strasse\u00a07\t"]
    assert {name_key(name) for name in names} == {"strasse 7"}
