"""Examples of what administrators and organizers see of the use of a site, in the API description."""

from app.api.openapi.examples import CHALLENGE_ROW, JSON, TIMESTAMP

CHALLENGE_USE: JSON = {
    "id": "01a1fbb9e1711c22ba0a51db7c3a4f55",
    "slug": CHALLENGE_ROW["slug"],
    "title": CHALLENGE_ROW["title"],
    "status": "published",
    "visibility": "public",
    "archived_at": None,
    "created_at": TIMESTAMP,
    "owners": [{"id": "01a1fbb9e166769a847b420d51b59782", "name": "Ada", "email": "ada@example.org"}],
    "submissions": 120,
    "bytes": 2400000,
}
QUEUE: JSON = {
    "queued": 12,
    "running": 2,
    "oldest_seconds": 3.5,
    "mean_seconds": 0.2,
    "empty_at": TIMESTAMP,
    "workers": [
        {
            "id": "01a1fbb9e166769a847b420d51b59783",
            "name": "host-1, process 4711",
            "slots": 2,
            "started_at": TIMESTAMP,
            "heartbeat_at": TIMESTAMP,
            "claimed_at": TIMESTAMP,
            "alive": True,
        }
    ],
}
CHALLENGE_FACTS: JSON = {
    "teams": 12,
    "pending_registrations": 2,
    "submissions": 340,
    "today": 17,
    "waiting": 3,
    "failed": 0,
}
FAILURES: JSON = {
    "timezone": "UTC",
    "days": [
        {
            "day": "2027-01-31",
            "statuses": {"finished": 40, "rejected": 3, "failed": 1},
            "rejected": {"unknown_id": 2, "missing_id": 3},
            "failed": {"crashed": 1},
        }
    ],
}
