"""Record stored receipts in the transparency log, once what they say is public knowledge."""

from collections.abc import Collection

from app.actions.challenges.change_recipe import equivalent_recipe_ids
from app.actions.receipts.issue_receipts import log_receipt
from app.store.queries import receipts
from app.store.queries.board_versions import BoardVersion
from app.store.session import WriteSession
from app.store.tables import Phase


def log_receipts_of(session: WriteSession, phase: Phase, *, splits: Collection[str], version: BoardVersion) -> int:
    """Record the receipts of these versions and splits that the log does not have; returns their number.

    Called in the transaction that makes them public: the final release, or a switch of the board.
    """
    found = receipts.unlogged(
        session,
        phase.id,
        gold_id=version.gold.id,
        recipe_ids=equivalent_recipe_ids(session, version.recipe),
        scorer_version=version.scorer_version,
        splits=splits,
    )
    for each in found:
        log_receipt(session, phase.challenge_id, each)
    return len(found)
