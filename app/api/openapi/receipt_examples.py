"""Examples of receipts and keys for the API description."""

from app.api.openapi.examples import JSON

_X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
KEY_ID = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
KEY_SET: JSON = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": _X, "kid": KEY_ID, "alg": "Ed25519", "use": "sig"}]}
RECEIPT = (
    '{"payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",'
    '"payloadType":"application/vnd.in-toto+json",'
    f'"signatures":[{{"keyid":"{KEY_ID}","sig":"cjwRf3b8…"}}]}}'
)
RECEIPT_BY_NAME: JSON = {"receipt": {"summary": "A receipt, shortened", "value": RECEIPT}}
OPENING: JSON = {
    "gold_version": 1,
    "algorithm": "hmac-sha256",
    "nonce": "5f0c1d7f6f4f4a0f8f2b2f4f8e0a6d3c1b9a7e5d3c2b1a0f9e8d7c6b5a493827",
    "commitment": "9b1f0d6a2c4e8f7b3a5d9c1e0f2b4a6c8e0d1f3b5a7c9e1d3f5b7a9c0e2d4f6b",
}
