"""The statement that a receipt signs: an in-toto Statement v1 with a predicate of our own about one score.

The fields that in-toto/attestation#575 proposes keep their names (docs/receipts.md); all others use our nouns.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import rfc8785

from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import round_significant

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:assay:predicate:score-receipt:v1"
COMMITMENT_ALGORITHM: Final = "hmac-sha256"
HARNESS: Final = "assay"
FILE_SUBJECT, CONTENT_SUBJECT = "predictions", "predictions-content"

CanonicalMembers = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class ScoreContext:
    """What all scores of one gold version, recipe, scorer version and split have in common."""

    challenge: str
    phase: str
    split: str
    gold_version: int
    gold_commitment: str
    task: str
    positive_label: str | None
    classes: Sequence[str]
    recipe_version: int
    recipe: ScoringRecipe
    scorer_version: int


@dataclass(frozen=True, slots=True)
class SignedScore:
    """What a receipt says of one submission."""

    submission: str
    team: str
    file_sha256: str
    content_sha256: str
    scored_at: str
    """RFC 3339 in UTC."""
    metrics: Mapping[str, Mapping[str, Any]]
    """By canonical string, with `value`, at full precision."""


class StatementTemplate:
    """The statements of one context: what they have in common is encoded once."""

    def __init__(self, context: ScoreContext) -> None:
        self._digits = context.recipe.digits
        self._claims = [
            (call.text, b'{"metric":%s,"value":' % rfc8785.dumps(call.text))
            for call in sorted(context.recipe.metrics, key=lambda call: call.text)
        ]
        self._fixed = {name: rfc8785.dumps(value) for name, value in _fixed_fields(context).items()}

    def payload(self, score: SignedScore) -> bytes:
        """The canonical JSON (RFC 8785) of the statement about one score."""
        predicate = self._fixed | {
            "claims": self._encoded_claims(score.metrics),
            "evaluatedAt": _string(score.scored_at),
            "submission": _string(score.submission),
            "team": _string(score.team),
        }
        digests = {FILE_SUBJECT: score.file_sha256, CONTENT_SUBJECT: score.content_sha256}
        subject = b",".join(
            b'{"digest":{"sha256":%s},"name":%s}' % (_string(digest), _string(name)) for name, digest in digests.items()
        )
        statement = {
            "_type": _string(STATEMENT_TYPE),
            "predicate": _object(predicate),
            "predicateType": _string(PREDICATE_TYPE),
            "subject": b"[%s]" % subject,
        }
        return _object(statement)

    def _encoded_claims(self, metrics: Mapping[str, Mapping[str, Any]]) -> bytes:
        values = (disclosed_text(metrics.get(name, {}).get("value"), self._digits) for name, _ in self._claims)
        encoded = (b"null" if value is None else _string(value) for value in values)
        return b"[%s]" % b",".join(
            b"%s%s}" % (head, value) for (_, head), value in zip(self._claims, encoded, strict=True)
        )


def disclosed_text(value: float | None, digits: int | None) -> str | None:
    """A value at so many significant digits, as the replies of the API write it; None stays None."""
    shown = round_significant(value, digits)
    return None if shown is None else json.dumps(shown)


def recipe_fields(recipe: ScoringRecipe, version: int) -> dict[str, Any]:
    """What of a recipe decides values, in a form that `parse_recipe` reads but for its version."""
    fields: dict[str, Any] = {
        "version": version,
        "primary": recipe.primary,
        "metrics": [call.text for call in recipe.metrics],
        "tie_breakers": list(recipe.tie_breakers),
        "options": dict(recipe.options),
        "disclosure": {"digits": "full" if recipe.digits is None else recipe.digits},
    }
    return fields if recipe.decision is None else fields | {"decision": dict(recipe.decision)}


def _fixed_fields(context: ScoreContext) -> dict[str, Any]:
    commitment = {"alg": COMMITMENT_ALGORITHM, "value": context.gold_commitment, "salted": True}
    return {
        "assuranceLevel": "third_party",
        "challenge": context.challenge,
        "classes": list(context.classes),
        "commitments": {"dataset": commitment},
        "gold_commitment": context.gold_commitment,
        "gold_version": context.gold_version,
        "harness": {"name": HARNESS, "version": str(context.scorer_version)},
        "phase": context.phase,
        "positive_label": context.positive_label,
        "recipe": recipe_fields(context.recipe, context.recipe_version),
        "scorer_version": context.scorer_version,
        "split": context.split,
        "suite": {"name": f"{context.challenge}/{context.phase}", "version": str(context.gold_version)},
        "task": context.task,
    }


def _string(text: str) -> bytes:
    """A text that needs no escape."""
    return b'"%s"' % text.encode()


def _object(members: CanonicalMembers) -> bytes:
    """The canonical object of members that are canonical; their names are plain ASCII."""
    return b"{%s}" % b",".join(b'"%s":%s' % (name.encode(), members[name]) for name in sorted(members))
