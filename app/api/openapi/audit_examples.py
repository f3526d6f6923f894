"""Examples of the audit trail in the API description."""

from app.api.openapi.examples import JSON, TIMESTAMP
from app.api.openapi.team_examples import USER_ID

_CHALLENGE: JSON = {"id": "01a1fbb9e18a70d2a4c1e5f6b7d80912", "slug": "digits"}
_PHASE: JSON = {"id": "01a1fbb9e18a71e3b5d2f60718293a4b", "slug": "main"}
AUDIT_ENTRY: JSON = {
    "id": "01a1fbb9e18e72f4c6e3071829304b5c",
    "at": TIMESTAMP,
    "actor": {"id": USER_ID, "name": "Ada"},
    "role": "owner",
    "action": "phase.edit",
    "object": {"type": "phase", "id": _PHASE["id"], "name": "main"},
    "challenge": _CHALLENGE,
    "phase": _PHASE,
    "team": None,
    "user": None,
    "changes": {"closes_at": {"from": "2027-02-28T12:00:00Z", "to": "2027-03-07T12:00:00Z"}},
    "names": {},
    "reason": None,
    "log": "logged",
    "log_position": 41,
}
