"""Issue receipts: one for the scores of each split, in the transaction that stores the scores."""

import hashlib
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cachetools import LRUCache

from app.actions.receipts.signing_keys import ReceiptKeyFile
from app.actions.submissions.score_visibility import current_split, round_for_participants
from app.actions.transparency.add_record import add_record
from app.receipts.statement import ScoreContext, SignedScore, StatementTemplate
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.store.queries import receipts
from app.store.queries.receipts import LoggedReceipt, ScoredFacts
from app.store.session import WriteSession
from app.store.tables import GoldVersion, Recipe
from app.store.types import new_id

MAX_CACHED_TEMPLATES = 64
LOG_KIND = "receipt"


class ReceiptIssuer:
    """Signs the statements of scores with the key of this installation."""

    def __init__(self, keys: ReceiptKeyFile) -> None:
        self._keys = keys
        self._templates: LRUCache[tuple[Any, ...], tuple[StatementTemplate, ScoringRecipe]] = LRUCache(
            MAX_CACHED_TEMPLATES
        )
        self._lock = threading.Lock()
        self._committed: LRUCache[tuple[str, str], bool] = LRUCache(MAX_CACHED_TEMPLATES)

    def has_commitment(self, gold_id: str, name: str) -> bool:
        """Whether gold with this content is known to have a commitment."""
        with self._lock:
            return (gold_id, name) in self._committed

    def note_commitment(self, gold_id: str, name: str) -> None:
        """Remember that gold with this content has a commitment."""
        with self._lock:
            self._committed[gold_id, name] = True

    def issue(
        self,
        session: WriteSession,
        key: Mapping[str, Any],
        scores: Mapping[str, Mapping[str, Any]],
        *,
        content_sha256: str | None,
        scored_at: datetime,
        now: datetime,
    ) -> None:
        """Store a receipt of the scores of each split, under the key of their task, and records for the log.

        `scored_at` is the stored time of scoring. Test entries get none. Where the hash or the commitment is missing,
        they are issued later (issue_missing.py).
        """
        facts = receipts.scored_facts(session, key)
        if facts is None or facts.test or content_sha256 is None or facts.commitment is None:
            return
        signer, time = self._keys.registered(session), round_for_participants(scored_at)
        assert time is not None
        rows, logged = [], []
        for split, metrics in scores.items():
            template, recipe = self._template(session, key, facts, split)
            moment = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            of = (key["submission_id"], facts.team_id, facts.sha256, content_sha256, moment)
            payload = template.payload(SignedScore(*of, metrics))
            sha256 = hashlib.sha256(payload).hexdigest()
            stored = {**key, "id": new_id(), "split": split, "envelope": signer.envelope(payload)}
            rows.append(stored | {"payload_sha256": sha256, "created_at": now})
            if is_public_knowledge(facts, key["scorer_version"], split, recipe):
                logged.append(rows[-1])
        if rows:
            receipts.add(session, rows)
        for row in logged:
            log_receipt(session, facts.challenge_id, LoggedReceipt(*(row[name] for name in LoggedReceipt._fields)))

    def _template(
        self, session: WriteSession, key: Mapping[str, Any], facts: ScoredFacts, split: str
    ) -> tuple[StatementTemplate, ScoringRecipe]:
        of = (key["gold_id"], key["recipe_id"], key["scorer_version"], split, facts.commitment)
        name = (*of, facts.challenge, facts.phase)  # slugs may change
        with self._lock:
            found = self._templates.get(name)
        if found is None:
            found = _build_template(session, key, facts, split)
            with self._lock:
                self._templates[name] = found
        return found


def _build_template(
    session: WriteSession, key: Mapping[str, Any], facts: ScoredFacts, split: str
) -> tuple[StatementTemplate, ScoringRecipe]:
    gold, stored = session.get_one(GoldVersion, key["gold_id"]), session.get_one(Recipe, key["recipe_id"])
    rules: dict[str, Any] = {"positive_label": gold.positive_label, "classes": gold.classes}
    recipe = parse_recipe(stored.body, gold.task, stored=True, **rules)  # type: ignore[arg-type]
    assert facts.commitment is not None
    context = ScoreContext(
        challenge=facts.challenge,
        phase=facts.phase,
        split=split,
        gold_version=gold.version,
        gold_commitment=facts.commitment,
        task=gold.task,
        positive_label=gold.positive_label,
        classes=gold.classes,
        recipe_version=stored.version,
        recipe=recipe,
        scorer_version=key["scorer_version"],
    )
    return StatementTemplate(context), recipe


def is_public_knowledge(facts: ScoredFacts, scorer_version: int, split: str, recipe: ScoringRecipe) -> bool:
    """Whether scores of these versions and this split are shown to participants now, so that the log records them."""
    in_force = facts.gold_status == "active" and facts.recipe_in_force
    if not in_force or facts.phase_scorer_version != scorer_version:
        return False
    if recipe.ladder is not None and facts.released_at is None:
        return False
    shown = current_split(has_splits=facts.has_splits, released=facts.released_at)
    return split in {shown, "public"} if facts.released_at is not None else split == shown


def log_receipt(session: WriteSession, challenge_id: str, of: LoggedReceipt) -> None:
    """Record a receipt in the transparency log."""
    record = {"receipt_sha256": of.payload_sha256, "submission": of.submission_id, "split": of.split}
    add_record(session, LOG_KIND, record, challenge_id=challenge_id, object_id=of.id)
