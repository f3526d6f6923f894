"""Examples of accounts, reset links and invitations."""

from typing import Any

from app.api.openapi.examples import TIMESTAMP, TOKEN, USER, named_examples

RESET_SECRET = "01a1fbb9e166769a847b420d51b59783.3Jx0Vt2b8s"  # noqa: S105
RESET_LINK: dict[str, Any] = {
    "link": f"https://assay.example.org/password-reset#{RESET_SECRET}",
    "expires_at": TIMESTAMP,
}
INVITATION: dict[str, Any] = {
    "id": "01a1fbb9e166769a847b420d51b59784",
    "note": "The class of 2027",
    "uses": 0,
    "max_uses": 30,
    "created_at": TIMESTAMP,
    "expires_at": "2027-02-14T12:00:00Z",
}
FRESH_INVITATION: dict[str, Any] = INVITATION | {"code": "q9Zs4kTnX2mVb7RwLd0HpYcE"}
PERSONAL_DATA: dict[str, Any] = {
    "account": USER,
    "tokens": [TOKEN],
    "sessions": [],
    "password_resets": [],
    "known_addresses": [{"block": "192.0.2.7", "last_at": TIMESTAMP}],
    "organizer_of": [],
    "registrations": [],
    "teams": [],
    "invitations": [],
    "submissions": [],
    "acts": [],
}
PERSONAL_DATA_FILE = {"application/json": named_examples(data=PERSONAL_DATA)}
