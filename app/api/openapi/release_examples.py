"""Examples of final releases in the API description."""

from app.api.openapi.examples import BOARD, JSON, SUBMISSION_ID, TEAM

RELEASE: JSON = {
    "phase": "final",
    "closes_at": "2027-03-08T00:00:00Z",
    "closes_at_local": "2027-03-08T00:00:00+00:00",
    "released_at": None,
    "released_at_local": None,
    "timezone": "UTC",
    "selection": BOARD["selection"],
    "obstacles": [],
    "choices_until": None,
    "choices_until_local": None,
    "rows": [
        {
            "team": TEAM,
            "baseline": False,
            "mark": None,
            "submission": SUBMISSION_ID,
            "public_submission": SUBMISSION_ID,
            "public_rank": 2,
            "private_rank": 1,
            "move": 1,
        }
    ],
}
