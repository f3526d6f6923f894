"""Issue receipts: one for the scores of each split, in the transaction that stores the scores."""

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from cachetools import LRUCache

from app.actions.receipts.signing_keys import ReceiptKeyFile
from app.actions.submissions.score_visibility import current_split, round_for_participants
from app.actions.transparency.add_record import NewRecord, add_records
from app.receipts.statement import ScoreContext, SignedScore, StatementTemplate
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.store.queries import receipts
from app.store.queries.receipts import LoggedReceipt, ScoredFacts
from app.store.session import WriteSession
from app.store.tables import GoldVersion, Recipe
from app.store.types import new_id

MAX_CACHED_TEMPLATES = 64
LOG_KIND = "receipt"


class NewScores(NamedTuple):
    """Scores of a submission that were just stored, by split."""

    key: Mapping[str, Any]
    """The key of their task: submission, gold, recipe and scorer version."""
    scores: Mapping[str, Mapping[str, Any]]
    content_sha256: str | None
    scored_at: datetime
    """The stored time of scoring."""


class _SignedReceipt(NamedTuple):
    """The row of a receipt, and what the log records of it; None if it is not public knowledge."""

    row: dict[str, Any]
    record: NewRecord | None


def _versions(of: NewScores) -> tuple[str, str]:
    return of.key["gold_id"], of.key["recipe_id"]


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

    def issue(self, session: WriteSession, scored: Sequence[NewScores], now: datetime) -> None:
        """Store a receipt of the scores of each split, under the key of their task, and records for the log.

        Test entries get none. Where the hash or the commitment is missing, they are issued later (issue_missing.py).
        """
        signed: list[_SignedReceipt] = []
        for versions, found in groupby(sorted(scored, key=_versions), key=_versions):
            group = list(found)
            facts = receipts.scored_facts(session, *versions, {each.key["submission_id"] for each in group})
            for each in group:
                known = facts.get(each.key["submission_id"])
                if known is not None and not known.test and known.commitment and each.content_sha256 is not None:
                    signed += self._sign(session, each, known)
        if signed:
            receipts.add(session, [each.row | {"created_at": now} for each in signed])
            add_records(session, [each.record for each in signed if each.record is not None])

    def _sign(self, session: WriteSession, of: NewScores, facts: ScoredFacts) -> Iterator[_SignedReceipt]:
        """The receipts of one task, and what the log records of those that are public knowledge."""
        signer, time = self._keys.registered(session), round_for_participants(of.scored_at)
        assert time is not None
        assert of.content_sha256 is not None
        moment = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        named = (of.key["submission_id"], facts.team_id, facts.sha256, of.content_sha256, moment)
        for split, metrics in of.scores.items():
            template, recipe = self._template(session, of.key, facts, split)
            payload = template.payload(SignedScore(*named, metrics))
            sha256 = hashlib.sha256(payload).hexdigest()
            row = {**of.key, "id": new_id(), "split": split, "envelope": signer.envelope(payload)}
            row |= {"payload_sha256": sha256}
            is_public = is_public_knowledge(facts, of.key["scorer_version"], split, recipe)
            logged = LoggedReceipt(*(row[name] for name in LoggedReceipt._fields))
            yield _SignedReceipt(row, _log_record(facts.challenge_id, logged) if is_public else None)

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


def log_receipts(session: WriteSession, challenge_id: str, found: Iterable[LoggedReceipt]) -> None:
    """Record receipts in the transparency log."""
    add_records(session, [_log_record(challenge_id, each) for each in found])


def _log_record(challenge_id: str, of: LoggedReceipt) -> NewRecord:
    record = {"receipt_sha256": of.payload_sha256, "submission": of.submission_id, "split": of.split}
    return NewRecord(LOG_KIND, record, challenge_id, of.id)
