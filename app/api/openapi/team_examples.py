"""Examples of teams, their invitations and merges in the API description."""

from app.api.openapi.examples import JSON, REGISTRATION, TEAM, TIMESTAMP

USER_ID = "01a1fbb9e18b7692865072a1c4d9f310"
OTHER_TEAM: JSON = {"id": "01a1fbb9e18c7b30a1f0c2d6e8b74f52", "name": "Green"}
INVITATION: JSON = {
    "id": "01a1fbb9e18d71c0b6a2f3e4d5c6b7a8",
    "note": "for Bob",
    "created_at": TIMESTAMP,
    "expires_at": "2027-02-14T12:00:00Z",
}
NEW_INVITATION: JSON = {"code": "q3Zt0m1wYb8cVxK2aLr7Pn5e"} | INVITATION
TEAM_DETAILS: JSON = TEAM | {
    "baseline": False,
    "created_at": TIMESTAMP,
    "disqualified_at": None,
    "disqualified_reason": None,
    "captain": USER_ID,
    "members": [
        {
            "id": USER_ID,
            "name": "Ada",
            "email": "ada@example.org",
            "status": "approved",
            "captain": True,
            "joined_at": TIMESTAMP,
        }
    ],
    "invitations": [INVITATION],
    "merges": [{"team": TEAM, "with": OTHER_TEAM, "proposed_at": TIMESTAMP}],
}
MERGE: JSON = {"merged": False, "team": TEAM, "with": OTHER_TEAM}
REGISTRATION_DECISION: JSON = {
    "at": TIMESTAMP,
    "actor_id": USER_ID,
    "role": "owner",
    "action": "registration.approve",
    "changes": {"status": {"from": "pending", "to": "approved"}},
    "reason": None,
}
OWN_REGISTRATION: JSON = {
    "id": REGISTRATION["id"],
    "challenge": "pets",
    "title": "Cats and dogs",
    "status": "approved",
    "reason": None,
    "team": TEAM,
    "created_at": TIMESTAMP,
    "phases": [
        {
            "slug": "main",
            "name": "main",
            "opens_at": TIMESTAMP,
            "closes_at": None,
            "open": True,
            "remaining": {"per_day": 10, "total": None, "concurrent": None, "invalid_per_day": None},
        }
    ],
}
INVITATION_TARGET: JSON = {"kind": "team", "challenge": "pets", "title": "Cats and dogs", "team": "Blue"}
REGISTRATION_DETAILS: JSON = REGISTRATION | {"history": [REGISTRATION_DECISION]}
