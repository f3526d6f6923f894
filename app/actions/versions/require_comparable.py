"""Whether a later version of the gold can replace the active one after submissions, judged by what is stored of both."""

from typing import NoReturn

from app.actions.versions.gold_changes import gold_difference_between
from app.errors import InvalidGold
from app.store.queries import gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase

UPLOAD_AGAIN = "Upload the file again: it is then read against the active version, and every difference is listed."


def require_comparable(session: ReadSession, phase: Phase, active: GoldVersion, version: GoldVersion) -> None:
    """Raise InvalidGold unless both know the same instances and classes, and no instance leaves its split after release.

    A version that was uploaded before the first submission was never compared with the active one. Which versions are
    the same in this respect follows from their hashes of ids, so going back to a retired one is possible too.
    """
    if active.id == version.id:
        return
    if version.ids_hash is None or active.ids_hash is None or version.ids_hash != active.ids_hash:
        _refuse("knows other instances than the active version")
    if (version.task, version.positive_label) != (active.task, active.positive_label):
        _refuse("was read for another task or positive label than the active version")
    if version.classes != active.classes:
        _refuse("has other classes than the active version")
    if version.has_splits != active.has_splits:
        _refuse("has splits, but the active version has none" if version.has_splits else "lacks splits")
    if phase.released_at is not None and _may_move(session, phase, active, version):
        _refuse("may have instances in other splits than the active version, whose private scores are released")


def _may_move(session: ReadSession, phase: Phase, active: GoldVersion, version: GoldVersion) -> bool:
    """Whether an instance may be in another split: as compared, or else unless no version ever moved one."""
    known = gold_difference_between(session, active, version)
    if known is not None:
        return bool(known["counts"]["moved"])
    differences = [
        row.difference for row in gold.versions(session, phase.id) if row.status != "draft" or row is version
    ]
    return any(difference is not None and difference["counts"]["moved"] for difference in differences)


def _refuse(what: str) -> NoReturn:
    raise InvalidGold(
        f"This version {what}, so the submissions of this phase cannot be scored against it.", remedy=UPLOAD_AGAIN
    )
