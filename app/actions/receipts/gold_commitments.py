"""The commitment to a gold version: computed when gold is uploaded, and here for gold that has none."""

from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.files import FileStore
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import CheckGold, GoldSummary
from app.store.session import Database
from app.store.tables import GoldVersion


def ensure_commitment(db: Database, files: FileStore, processes: ScoringProcesses, gold: GoldReference) -> str | None:
    """The commitment to stored gold, computed and stored if it has none; None for gold that was deleted or changed.

    Gold of an older installation has none, nor has gold whose classes were declared when it was activated. Raises
    ScoringProcessError and FileNotFoundError.
    """
    with db.read() as session:
        version = session.get(GoldVersion, gold.id)
        if version is None or version.commitment is not None:
            return None if version is None else version.commitment
        request = CheckGold(gold.source, nonce=version.nonce)
    reply = send_scoring_request(db, files, processes, gold, request)
    if not isinstance(reply, GoldSummary):
        return None
    with db.write() as session:
        version = session.get(GoldVersion, gold.id)
        if version is None or gold_reference(version).name != gold.name:
            return None
        if version.commitment is None:
            version.commitment = reply.commitment
        return version.commitment
