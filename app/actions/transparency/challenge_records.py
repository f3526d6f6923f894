"""Records of the transparency log that everybody who sees a challenge may read: its gold, switches and final results."""

from app.actions.access import Caller, load_visible_challenge
from app.actions.transparency.read_log import prove
from app.errors import NotFound
from app.store.queries import log_records
from app.store.session import ReadSession
from app.store.tables import LogRecord


def list_challenge_records(session: ReadSession, caller: Caller, slug: str) -> list[LogRecord]:
    """Commitments to gold, switches of boards, releases and frozen boards, newest first; raises NotFound.

    They hold ids, numbers and hashes alone.
    """
    return log_records.of_challenge(session, load_visible_challenge(session, caller, slug).id)


def prove_challenge_record(session: ReadSession, caller: Caller, slug: str, record_id: str) -> str:
    """The proof that one of these is in the log; raises NotFound, LogPending and LogRecordErased."""
    found = next((each for each in list_challenge_records(session, caller, slug) if each.id == record_id), None)
    if found is None:
        raise NotFound("The challenge has no such record.")
    return prove(session, found)
