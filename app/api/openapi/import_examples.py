"""Examples of imports for the API description."""

from app.api.openapi.examples import JSON, SUBMISSION_ID, TIMESTAMP
from app.api.openapi.receipt_examples import RECEIPT
from app.api.openapi.team_examples import USER_ID

_ORIGIN: JSON = {
    "url": "https://assay.example.org",
    "challenge": "digits",
    "phase": "main",
    "program": "1.0.0",
    "scorer_version": 2,
    "exported_at": TIMESTAMP,
    "challenge_id": "01a1fbb9e18a70d2a4c1e5f6b7d80912",
    "phase_id": "01a1fbb9e18a71e3b5d2f60718293a4b",
}
IMPORT: JSON = {
    "id": "01a1fbb9e1a07c53b7d1e2f3a4b5c6d7",
    "status": "running",
    "stage": "scoring",
    "done": 3,
    "total": 5,
    "slug": "digits",
    "origin": _ORIGIN,
    "sha256": "9b1f0d6a2c4e8f7b3a5d9c1e0f2b4a6c8e0d1f3b5a7c9e1d3f5b7a9c0e2d4f6b",
    "size": 48213,
    "reason": "The workshop has moved.",
    "requested_by": {"id": USER_ID, "name": "Ada"},
    "requested_at": TIMESTAMP,
    "finished_at": None,
    "failure": None,
    "challenge": None,
    "phase": None,
}
IMPORTED_ID: JSON = {
    "kind": "submission",
    "origin_id": "01a1fbb9e19f7363aa2acd3d856536aa",
    "local_id": SUBMISSION_ID,
}
FOREIGN_RECEIPTS: JSON = {
    "submission": SUBMISSION_ID,
    "origin_id": "01a1fbb9e19f7363aa2acd3d856536aa",
    "origin": _ORIGIN,
    "receipts": [
        {
            "split": "all",
            "gold_version": 1,
            "recipe_version": 1,
            "scorer_version": 2,
            "envelope": RECEIPT,
            "proof": None,
        }
    ],
}
