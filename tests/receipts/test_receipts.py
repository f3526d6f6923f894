"""Receipts verify with programs that share no code with ours, and nothing that was changed verifies with ours."""

import base64
import hashlib
import json
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from app.actions.receipts.signing_keys import ReceiptKey
from app.receipts.dsse import ReceiptRefused
from app.receipts.jwk import key_id, parse_key_set, thumbprint
from app.receipts.statement import ScoreContext, SignedScore, StatementTemplate
from app.receipts.verification import verify_receipt
from app.scoring.declaration.recipe import parse_recipe
from tests.each_case import for_each

KEY, OTHER = ReceiptKey.of(Ed25519PrivateKey.generate()), ReceiptKey.of(Ed25519PrivateKey.generate())
KEYS = {KEY.id: KEY.public_key}
RECIPE = parse_recipe({"primary": "f1_macro", "metrics": ["accuracy", "f1_macro"]}, "multiclass")
CONTEXT = ScoreContext(
    "pets", "main", "all", 1, "ab" * 32, "multiclass", None, ["cat", 'd"o\u2028g', "é"], 1, RECIPE, 2
)
METRICS: dict[str, dict[str, Any]] = {"f1_macro": {"value": 1 / 3}, "accuracy": {"value": None}}
PAYLOAD = StatementTemplate(CONTEXT).payload(
    SignedScore("0" * 32, "1" * 32, "c" * 64, "d" * 64, "2027-01-31T12:00:00.100Z", METRICS)
)
RECEIPT = KEY.envelope(PAYLOAD)


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(RECEIPT) | fields)


def test_the_payload_is_canonical_and_states_what_participants_are_shown() -> None:
    statement = json.loads(PAYLOAD)
    assert rfc8785.dumps(statement) == PAYLOAD
    assert statement["predicate"]["claims"] == [
        {"metric": "accuracy", "value": None},
        {"metric": "f1_macro", "value": "0.333333"},
    ]


def test_securesystemslib_verifies_it() -> None:
    envelope = Envelope.from_dict(json.loads(RECEIPT))
    key = SSlibKey(KEY.id, "ed25519", "ed25519", {"public": KEY.public_key.hex()})
    assert envelope.verify([key], 1)


def test_bare_cryptography_verifies_it() -> None:
    body = json.loads(RECEIPT)
    payload, kind = base64.b64decode(body["payload"]), body["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signature = base64.b64decode(body["signatures"][0]["sig"])
    Ed25519PublicKey.from_public_bytes(KEY.public_key).verify(signature, signed)


def test_ours_ignores_unknown_signatures_fields_and_key_ids() -> None:
    signature = json.loads(RECEIPT)["signatures"][0]["sig"]
    stranger = {"keyid": "x", "sig": base64.b64encode(bytes(64)).decode()}
    receipt = changed(signatures=[stranger, {"sig": signature, "more": 1}], more=[])
    assert verify_receipt(receipt, KEYS).key_id == KEY.id


@pytest.mark.parametrize(
    ("receipt", "code"),
    [
        (changed(payload=base64.b64encode(PAYLOAD.replace(b"0.333333", b"0.933333")).decode()), "signature"),
        (changed(payload=base64.b64encode(PAYLOAD).decode() + "\n"), "base64"),
        (changed(payload="%" + base64.b64encode(PAYLOAD).decode()), "base64"),
        (changed(payloadType="application/json"), "payload_type"),
        (changed(signatures=[{"keyid": KEY.id, "sig": base64.b64encode(bytes(64)).decode()}]), "signature"),
        (changed(signatures=[]), "envelope"),
        (RECEIPT[:-20], "envelope"),
        (OTHER.envelope(PAYLOAD), "signature"),
        (KEY.envelope(PAYLOAD.replace(b":1", b": 1", 1)), "payload"),
    ],
)
def test_whatever_was_changed_is_refused(receipt: str, code: str) -> None:
    with pytest.raises(ReceiptRefused) as refused:
        verify_receipt(receipt, KEYS)
    assert refused.value.code == code


REQUIRED = (
    *(("predicate", name) for name in ("submission", "team", "gold_version", "claims", "recipe", "positive_label")),
    *(("predicate", "recipe", "version"), ("predicate", "recipe", "disclosure", "digits"), ("predicate",)),
    *(("predicate", "claims", 0, "metric"), ("subject", 1, "digest", "sha256"), ("subject", 0, "name"), ("subject",)),
)


@pytest.mark.parametrize("path", REQUIRED)
@pytest.mark.parametrize("value", [1.5, True, "missing"])
def test_a_signed_statement_of_another_shape_is_refused(path: tuple[Any, ...], value: Any) -> None:
    statement = json.loads(PAYLOAD)
    place = statement
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    if value == "missing":
        del place[path[-1]]
    with pytest.raises(ReceiptRefused, match="The statement"):
        verify_receipt(KEY.envelope(rfc8785.dumps(statement)), KEYS)


def test_thumbprints_are_those_of_the_standards() -> None:
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3okn"
        "jhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6q"
        "MQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awap"
        "JzKnqDKgw"
    )
    rsa = {"kty": "RSA", "n": modulus, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}
    assert thumbprint(rsa) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"  # RFC 7638, section 3.1
    x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    assert key_id(base64.urlsafe_b64decode(x + "=")) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"  # RFC 8037, A.3
    content = json.dumps({"keys": [{"kty": "RSA"}, {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "other"}]})
    assert list(parse_key_set(content)) == ["kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"]
    assert len(hashlib.sha256(PAYLOAD).hexdigest()) == 64


@for_each(
    "keys, said",
    [
        (None, "no list 'keys'"),
        ([], "no Ed25519 key"),
        ([{"kty": "RSA"}], "no Ed25519 key"),
        ([{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}], "32 bytes"),
        ([{"kty": "OKP", "crv": "Ed25519"}], "32 bytes"),
    ],
)
def test_a_key_set_without_a_usable_key_is_refused(keys: Any, said: str) -> None:
    with pytest.raises(ReceiptRefused, match=said):
        parse_key_set(json.dumps({"keys": keys}))
