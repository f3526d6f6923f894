"""The versions that a submission is scored by besides those of its task, so that it is on the board before and after a switch.

The task of a submission names the gold and recipe that were active at its admission, which decide whether the file is
valid. If the board has switched since, the submission is also scored by what is active now; if it is about to switch,
by what will be.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache, cached

from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference
from app.actions.versions.request_switch import target_of
from app.actions.versions.target_scores import target_provenance
from app.scoring import SCORER_VERSION
from app.store.queries import target_scores
from app.store.queries.score_provenance import ScoreProvenance
from app.store.queries.tasks import Claimed
from app.store.session import ReadSession, WriteSession
from app.store.tables import BoardSwitch

MAX_CACHED_SWITCHES = 1024


@dataclass(frozen=True, slots=True)
class FurtherVersion:
    """Versions to score by, with everything that needs."""

    provenance: ScoreProvenance
    recipe_id: str
    gold: GoldReference
    recipe: Mapping[str, Any]

    def covers(self, key: Mapping[str, Any]) -> bool:
        """Whether scores with this key are scores of these versions."""
        origin = self.provenance
        same = (key["gold_id"], key["scorer_version"]) == (origin.gold_id, origin.scorer_version)
        return same and key["recipe_id"] in origin.recipe_ids

    def score_key(self, submission_id: str) -> dict[str, Any]:
        """The key of the scores of a submission by these versions."""
        origin = self.provenance
        key = {"submission_id": submission_id, "gold_id": origin.gold_id, "recipe_id": self.recipe_id}
        return key | {"scorer_version": origin.scorer_version}


def find_further_versions(session: ReadSession, claimed: Claimed) -> tuple[FurtherVersion, ...]:
    """What to score a claimed submission by besides its task; nothing for most, without another query."""
    key = {"gold_id": claimed.gold_id, "recipe_id": claimed.recipe_id, "scorer_version": SCORER_VERSION}
    found: list[FurtherVersion] = []
    if claimed.last_switch is not None:
        found.append(_version_of_done(session, claimed.last_switch))
    if claimed.pending_switch is not None:
        found.append(_load_version(session, claimed.pending_switch))
    further: list[FurtherVersion] = []
    for version in found:
        known = any(version.covers(each.score_key("")) for each in further)
        # Another scorer version is a matter of the workers that have it.
        if version.provenance.scorer_version == SCORER_VERSION and not version.covers(key) and not known:
            further.append(version)
    return tuple(further)


def _load_version(session: ReadSession, switch_id: str) -> FurtherVersion:
    target = target_of(session, session.get_one(BoardSwitch, switch_id))
    provenance = target_provenance(session, target)
    return FurtherVersion(provenance, target.recipe.id, gold_reference(target.gold), target.recipe.body)


# What a switch that was done led to never changes.
_version_of_done = cached(
    LRUCache(MAX_CACHED_SWITCHES), key=lambda _session, switch_id: switch_id, lock=threading.Lock()
)(_load_version)


def add_missing_active_task(
    session: WriteSession, submission_id: str, last_switch: str | None, keys: list[dict[str, Any]]
) -> None:
    """Have a submission rescored that this transaction finishes with scores of these keys, none by what is active now.

    Its board switched after it was claimed, or scoring by the active versions crashed.
    """
    if last_switch is None:
        return
    active = _version_of_done(session, last_switch)
    if active.provenance.scorer_version == SCORER_VERSION and not any(map(active.covers, keys)):
        target_scores.add_tasks(session, [submission_id], active.provenance, active.recipe_id)
