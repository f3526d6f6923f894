"""Public keys as JSON Web Keys (RFC 7517, RFC 8037), named by their thumbprints (RFC 7638)."""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import rfc8785

from app.receipts.dsse import ReceiptRefused, strict_json

ALGORITHM: Final = "Ed25519"
"""The fully specified algorithm of RFC 9864."""
KEY_BYTES: Final = 32
_THUMBPRINT_MEMBERS: Final = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
    "oct": ("k", "kty"),
}


def encode_base64url(content: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes | None:
    """The bytes of base64url without padding; None for anything else."""
    try:
        found = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if encode_base64url(found) == text else None


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """The SHA-256 thumbprint of a key (RFC 7638), of a kind for which it is defined."""
    required = {name: jwk[name] for name in _THUMBPRINT_MEMBERS[jwk["kty"]]}
    return encode_base64url(hashlib.sha256(rfc8785.dumps(required)).digest())


def key_id(public_key: bytes) -> str:
    """The name of an Ed25519 public key of 32 bytes."""
    return thumbprint(_required_members(public_key))


def public_jwk(public_key: bytes) -> dict[str, str]:
    """An Ed25519 public key of 32 bytes as a JWK for signatures."""
    return _required_members(public_key) | {"kid": key_id(public_key), "alg": ALGORITHM, "use": "sig"}


def key_set(public_keys: Iterable[bytes]) -> dict[str, Any]:
    """A JWK set of these public keys."""
    return {"keys": [public_jwk(each) for each in public_keys]}


def parse_key_set(content: bytes | str) -> dict[str, bytes]:
    """The Ed25519 public keys of a JWK set by thumbprint; keys of other kinds are ignored. Raises ReceiptRefused.

    Their names are computed: nothing relies on `kid`.
    """
    body = strict_json(content, "keys", "The key set")
    if not isinstance(body, dict) or not isinstance(body.get("keys"), list):
        raise ReceiptRefused("keys", "The key set has no list 'keys', so it is no JWK set.")
    keys = {}
    for each in body["keys"]:
        if not isinstance(each, dict) or (each.get("kty"), each.get("crv")) != ("OKP", "Ed25519"):
            continue
        x = each.get("x")
        public_key = decode_base64url(x) if isinstance(x, str) else None
        if public_key is None or len(public_key) != KEY_BYTES:
            raise ReceiptRefused("keys", "An Ed25519 key of the key set has no 'x' of 32 bytes in base64url.")
        keys[key_id(public_key)] = public_key
    if not keys:
        raise ReceiptRefused("keys", "The key set holds no Ed25519 key.")
    return keys


def _required_members(public_key: bytes) -> dict[str, str]:
    return {"kty": "OKP", "crv": "Ed25519", "x": encode_base64url(public_key)}
