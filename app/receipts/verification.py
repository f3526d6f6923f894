"""Verifies receipts with public keys that the reader trusts; no key in a receipt is ever used."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.receipts.dsse import Envelope, ReceiptRefused, decode_envelope, strict_base64, strict_json
from app.receipts.statement import PREDICATE_TYPE, STATEMENT_TYPE

_PREDICATE_FIELDS = {
    **dict.fromkeys(
        ("challenge", "evaluatedAt", "gold_commitment", "phase", "split", "submission", "task", "team"), str
    ),
    "gold_version": int,
    "scorer_version": int,
    "positive_label": (str, type(None)),
    "claims": list,
    "classes": list,
    "recipe": dict,
}


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """What a receipt states, after one of its signatures was verified."""

    statement: Mapping[str, Any]
    key_id: str
    """The thumbprint of the key whose signature was relied on."""
    payload: bytes

    @property
    def predicate(self) -> Mapping[str, Any]:
        """What it says of the score."""
        return dict(self.statement["predicate"])

    @property
    def payload_sha256(self) -> str:
        """The hash that the transparency log has of it."""
        return hashlib.sha256(self.payload).hexdigest()

    def digests(self) -> dict[str, str]:
        """The SHA-256 of each subject by its name."""
        return {each["name"]: each["digest"]["sha256"] for each in self.statement["subject"]}


def verify_receipt(content: bytes | str, keys: Mapping[str, bytes]) -> VerifiedReceipt:
    """The statement of a receipt that one of these keys (by thumbprint) signed; raises ReceiptRefused.

    Signatures by other keys are ignored, as DSSE says. `keyid` only decides which key is tried first.
    """
    envelope = decode_envelope(content)
    signer = _verified_signer(envelope, keys)
    statement = _parse_statement(envelope.payload)
    return VerifiedReceipt(statement, signer, envelope.payload)


def _verified_signer(envelope: Envelope, keys: Mapping[str, bytes]) -> str:
    """The thumbprint of the first key that verifies a signature."""
    fault: ReceiptRefused | None = None
    for signature in envelope.signatures:
        try:
            content = strict_base64(signature.sig, "signature")
        except ReceiptRefused as error:
            fault = fault or error
            continue
        for name in sorted(keys, key=lambda name, hint=signature.keyid: name != hint):  # type: ignore[misc]
            if _is_signed(keys[name], content, envelope.signed_bytes):
                return name
    if fault is not None:
        raise fault
    named = [each.keyid for each in envelope.signatures if each.keyid in keys]
    if not named:
        detail = "No signature is by a key of the key set: another server signed it, or its content was changed."
        raise ReceiptRefused("signature", detail)
    detail = f"The signature of the key {named[0]} does not fit the content: one of them was changed."
    raise ReceiptRefused("signature", detail)


def _is_signed(public_key: bytes, signature: bytes, content: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def _parse_statement(payload: bytes) -> dict[str, Any]:
    statement = strict_json(payload, "payload", "The payload")
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        raise ReceiptRefused("payload", f"The payload is no statement of the type {STATEMENT_TYPE}.")
    kind = statement.get("predicateType")
    if kind != PREDICATE_TYPE:
        raise ReceiptRefused("predicate_type", f"The statement has the predicate type {kind!r}, not {PREDICATE_TYPE}.")
    try:
        is_canonical = rfc8785.dumps(statement) == payload
    except (rfc8785.CanonicalizationError, RecursionError):
        is_canonical = False
    if not is_canonical:
        raise ReceiptRefused("payload", "The payload is not in the canonical form of RFC 8785.")
    _require_fields(statement)
    return statement


def _require_fields(statement: Mapping[str, Any]) -> None:
    """Raise ReceiptRefused unless the statement has the fields of its type; others are ignored."""
    predicate, subjects = statement.get("predicate"), statement.get("subject")
    if not isinstance(predicate, dict) or not isinstance(subjects, list):
        raise ReceiptRefused("payload", "The statement has no subjects or no predicate.")
    _require(predicate, _PREDICATE_FIELDS, "predicate")
    _require(predicate["recipe"], {"version": int, "disclosure": dict}, "predicate.recipe")
    _require(predicate["recipe"]["disclosure"], {"digits": (str, int)}, "predicate.recipe.disclosure")
    for claim in predicate["claims"]:
        _require(claim, {"metric": str, "value": (str, type(None))}, "predicate.claims")
    for subject in subjects:
        _require(subject, {"name": str, "digest": dict}, "subject")
        _require(subject["digest"], {"sha256": str}, "subject.digest")


def _require(found: Any, fields: Mapping[str, Any], where: str) -> None:
    for name, kind in fields.items():
        missing = not isinstance(found, dict) or name not in found
        if missing or not isinstance(found[name], kind) or isinstance(found[name], bool):
            raise ReceiptRefused("payload", f"The statement lacks {where}.{name}, or has another type of value there.")
