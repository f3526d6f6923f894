"""The examples of withdrawn and disqualified submissions and teams in the API documentation."""

from app.api.openapi.examples import JSON, SUBMISSION, TEAM_DETAILS, TIMESTAMP

REASON = "It used labels of the test set."
WITHDRAWN: JSON = SUBMISSION | {"withdrawn_at": TIMESTAMP, "withdrawn_reason": REASON}
DISQUALIFIED: JSON = SUBMISSION | {"disqualified_at": TIMESTAMP, "disqualified_reason": REASON}
DISQUALIFIED_TEAM: JSON = TEAM_DETAILS | {"disqualified_at": TIMESTAMP, "disqualified_reason": REASON}
