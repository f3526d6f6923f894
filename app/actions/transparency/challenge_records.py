"""Records of the transparency log that everybody who sees a challenge may read: its gold, switches and final results."""

import json
from typing import NamedTuple

from app.actions.access import Caller, load_visible_challenge
from app.actions.transparency.read_log import prove
from app.errors import NotFound
from app.store.queries import challenges, log_records
from app.store.session import ReadSession
from app.store.tables import LogRecord


class ChallengeRecord(NamedTuple):
    """A record, and the phase that it names by its id."""

    row: LogRecord
    phase: str | None
    """The slug of the phase; None if the record was erased."""


def list_challenge_records(session: ReadSession, caller: Caller, slug: str) -> list[ChallengeRecord]:
    """Commitments to gold, switches of boards, releases and frozen boards, newest first; raises NotFound.

    They hold ids, numbers and hashes alone.
    """
    challenge_id = load_visible_challenge(session, caller, slug).id
    phases = {phase.id: phase.slug for phase in challenges.phases_of(session, challenge_id)}
    return [ChallengeRecord(row, phases.get(_phase_id(row))) for row in log_records.of_challenge(session, challenge_id)]


def _phase_id(row: LogRecord) -> str:
    content = json.loads(row.record or "{}")
    return str(content.get("phase") or content.get("phase_id"))


def prove_challenge_record(session: ReadSession, caller: Caller, slug: str, record_id: str) -> str:
    """The proof that one of these is in the log; raises NotFound, LogPending and LogRecordErased."""
    of_challenge = log_records.of_challenge(session, load_visible_challenge(session, caller, slug).id)
    found = next((each for each in of_challenge if each.id == record_id), None)
    if found is None:
        raise NotFound("The challenge has no such record.")
    return prove(session, found)
