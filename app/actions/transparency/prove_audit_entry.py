"""Prove that entries of the audit trail are in the transparency log, to those who may read them."""

from app.actions.access import Caller, load_organized_challenge, require_administrator
from app.actions.audit.record import AUDIT_KIND
from app.actions.transparency.read_log import prove_record
from app.errors import NotFound
from app.store.session import ReadSession
from app.store.tables import AuditEntry


def prove_challenge_entry(session: ReadSession, caller: Caller, slug: str, entry_id: str) -> str:
    """The proof for an entry of a challenge, for its organizers; raises Forbidden, NotFound, LogPending, LogRecordErased."""
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    entry = session.get(AuditEntry, entry_id)
    if entry is None or entry.challenge_id != challenge.id:
        raise NotFound("The challenge has no such entry.")
    return prove_record(session, entry.id, AUDIT_KIND)


def prove_site_entry(session: ReadSession, caller: Caller, entry_id: str) -> str:
    """The proof for any entry, for administrators; raises Forbidden, NotFound, LogPending, LogRecordErased."""
    require_administrator(caller, "Only administrators may read the audit trail of the site.")
    if session.get(AuditEntry, entry_id) is None:
        raise NotFound("There is no such entry.")
    return prove_record(session, entry_id, AUDIT_KIND)
