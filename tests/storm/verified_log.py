"""The transparency log after a storm, as a stranger verifies it: all entries are there, and give the signed root."""

import httpx
from sqlalchemy import func, select

from app.actions.receipts.log_receipts import shown_but_unlogged
from app.actions.transparency.sequence_records import is_up_to_date
from app.errors import AssayError
from app.store.queries import receipts
from app.store.queries.board_versions import active_version
from app.store.session import Database
from app.store.tables import LogRecord, Phase
from app.tlog.note import parse_verifier_key
from app.tlog.verification import verified_checkpoint, verify_log
from tests.live_service import eventually
from tests.storm.deployments import Deployment


def faults_of_log(site: Deployment) -> list[str]:
    """What is wrong with the log that the service serves, once no record waits any more; empty if nothing is.

    A score that was stored beside a switch is put on the board, and its receipt into the log, within half a minute.
    """
    database = Database(site.settings)

    def is_complete() -> bool:
        with database.read() as session:
            phase = session.scalars(select(Phase)).one()
            version = active_version(session, phase)
            assert version is not None
            return is_up_to_date(session) and not shown_but_unlogged(session, phase, version)

    try:
        eventually(is_complete, "the transparency log has all records, and receipts of all that is shown")
        faults = _faults_of_receipts(database)
    finally:
        database.close()
    with httpx.Client(base_url=site.apis[-1].url, timeout=60) as client:
        (log,) = client.get("/api/v1/log").raise_for_status().json()["logs"]
        try:
            checkpoint = verified_checkpoint(client.get("/log/checkpoint").text, parse_verifier_key(log["vkey"]))
            verify_log(checkpoint, lambda path: client.get(f"/log/{path}").raise_for_status().content)
        except (AssayError, httpx.HTTPError) as error:
            return [*faults, f"The transparency log: {error}"]
    return faults


def _faults_of_receipts(database: Database) -> list[str]:
    """Scores without a receipt, and receipts with several records."""
    with database.read() as session:
        lacking = [each.submission_id for each in receipts.scores_without_receipt(session, after="", limit=1000)]
        of_receipts = select(LogRecord.object_id).where(LogRecord.kind == "receipt").group_by(LogRecord.object_id)
        twice = session.scalars(of_receipts.having(func.count() > 1)).all()
    faults = [f"scores of submission {each} have no receipt" for each in lacking]
    return faults + [f"receipt {each} has several records in the log" for each in twice]
