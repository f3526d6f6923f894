"""DSSE envelopes (Dead Simple Signing Envelope, version 1): their signed bytes, encoding and strict decoding."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MEDIA_TYPE = "application/vnd.dsse.envelope.v1+json"


class ReceiptRefused(ValueError):
    """A receipt or a key set is not accepted; `code` names the reason for programs."""

    def __init__(self, code: str, detail: str) -> None:
        """The reason as a stable code, and as a sentence."""
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature as an envelope has it; `keyid` is a hint that nothing relies on."""

    keyid: str
    sig: str
    """Standard base64; checked only when it is relied on."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload with its type and signatures, of which none was verified."""

    payload_type: str
    payload: bytes
    signatures: Sequence[Signature]

    @property
    def signed_bytes(self) -> bytes:
        """What each signature covers."""
        return pre_authentication_encoding(self.payload_type, self.payload)


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """PAE of DSSE version 1: the type and the payload, each with its length in bytes."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def encode_envelope(payload: bytes, signatures: Mapping[str, bytes]) -> str:
    """The envelope of an in-toto payload as JSON, with signatures by key id."""
    body = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [
            {"keyid": keyid, "sig": base64.b64encode(signature).decode()} for keyid, signature in signatures.items()
        ],
    }
    return json.dumps(body, separators=(",", ":"))


def decode_envelope(content: bytes | str) -> Envelope:
    """The envelope in a JSON text. Unknown fields are ignored; raises ReceiptRefused."""
    body = strict_json(content, "envelope", "The receipt")
    if not isinstance(body, dict):
        _refuse("The receipt is no JSON object.")
    kind, payload, signatures = (body.get(name) for name in ("payloadType", "payload", "signatures"))
    if not isinstance(kind, str) or not isinstance(payload, str) or not isinstance(signatures, list) or not signatures:
        _refuse("The receipt lacks 'payload', 'payloadType' or 'signatures' of a DSSE envelope.")
    if kind != PAYLOAD_TYPE:
        raise ReceiptRefused("payload_type", f"Its payloadType is {kind[:100]!r}, not '{PAYLOAD_TYPE}'.")
    return Envelope(kind, strict_base64(payload, "payload"), [_signature(each) for each in signatures])


def _signature(body: Any) -> Signature:
    if not isinstance(body, dict) or not isinstance(body.get("sig"), str):
        _refuse("An entry of 'signatures' has no 'sig'.")
    keyid = body.get("keyid")
    return Signature(keyid if isinstance(keyid, str) else "", body["sig"])


def _refuse(detail: str) -> NoReturn:
    raise ReceiptRefused("envelope", detail)


def strict_base64(text: str, what: str) -> bytes:
    """The bytes of standard base64 with padding; raises ReceiptRefused for every other spelling of the same bytes."""
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found = None
    if found is None or base64.b64encode(found).decode() != text:
        raise ReceiptRefused("base64", f"Its {what} is not standard base64 with padding and nothing else.")
    return found


def strict_json(content: bytes | str, code: str, what: str) -> Any:
    """The value of a JSON text in UTF-8; raises ReceiptRefused, also for a member that occurs twice."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ReceiptRefused(code, f"{what} has an object with two members of the same name.")
        return found

    try:
        return json.loads(content if isinstance(content, str) else content.decode(), object_pairs_hook=members)
    except ReceiptRefused:
        raise
    except (ValueError, RecursionError):
        raise ReceiptRefused(code, f"{what} is no valid JSON; it may have been cut short.") from None
