"""Record stored receipts in the transparency log, once what they say is public knowledge."""

from collections.abc import Collection

from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.receipts.issue_receipts import log_receipts
from app.actions.submissions.score_visibility import visible_split
from app.store.queries import receipts
from app.store.queries.board_versions import BoardVersion
from app.store.queries.receipts import LoggedReceipt
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase


def log_receipts_of(session: WriteSession, phase: Phase, *, splits: Collection[str], version: BoardVersion) -> int:
    """Record the receipts of these versions and splits that the log does not have; returns their number.

    Called in the transaction that makes them public: the final release, or a switch of the board.
    """
    found = _unlogged(session, phase, splits, version)
    log_receipts(session, phase.challenge_id, found)
    return len(found)


def log_shown_receipts(session: WriteSession, phase: Phase, version: BoardVersion) -> int:
    """Record the receipts of what participants are shown of these versions, which are in force."""
    return log_receipts_of(session, phase, splits=_shown_splits(phase, version), version=version)


def shown_but_unlogged(session: ReadSession, phase: Phase, version: BoardVersion) -> list[LoggedReceipt]:
    """The receipts that `log_shown_receipts` would record now."""
    return _unlogged(session, phase, _shown_splits(phase, version), version)


def _unlogged(
    session: ReadSession, phase: Phase, splits: Collection[str], version: BoardVersion
) -> list[LoggedReceipt]:
    return receipts.unlogged(
        session,
        phase.id,
        gold_id=version.gold.id,
        recipe_ids=equivalent_recipe_ids(session, version.recipe),
        scorer_version=version.scorer_version,
        splits=splits,
    )


def _shown_splits(phase: Phase, version: BoardVersion) -> set[str]:
    recipe, released = parse_stored_recipe(phase, version.recipe), phase.released_at is not None
    if recipe.ladder is not None and not released:
        return set()
    shown = visible_split(phase, version.gold)
    return {"public", shown} if version.gold.has_splits and released else {shown}
