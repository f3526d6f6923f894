"""Examples of quotas in the API description."""

from app.api.openapi.examples import JSON, SUBMISSION, SUBMISSION_ID, TIMESTAMP

POSTED: JSON = SUBMISSION | {
    "remaining": {"per_day": 9, "total": None, "concurrent": None, "invalid_per_day": None},
    "reset_at": "2027-02-01T00:00:00Z",
    "reset_at_local": "2027-02-01T00:00:00+00:00",
    "timezone": "UTC",
}
QUOTA: JSON = {
    "limits": {"per_day": 10, "total": None, "concurrent": None, "invalid_per_day": None},
    "used": {"per_day": 1, "total": 1, "concurrent": 0, "invalid_per_day": 0},
    "remaining": {"per_day": 9, "total": None, "concurrent": None, "invalid_per_day": None},
    "reset_at": "2027-02-01T00:00:00Z",
    "reset_at_local": "2027-02-01T00:00:00+00:00",
    "timezone": "UTC",
    "grants": [],
    "ledger": [
        {"submission_id": SUBMISSION_ID, "kind": kind, "day": "2027-01-31", "reason": reason, "created_at": TIMESTAMP}
        for kind, reason in (("charge", "finished"), ("reserve", "admitted"))
    ],
}
