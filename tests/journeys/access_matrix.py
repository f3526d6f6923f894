"""The access rules as a table: every route of the service, what is sent to it, and who may."""

from dataclasses import dataclass, field
from typing import Any

from tests.journeys.support import CORRECT_PREDICTIONS, GOLD

ROLES = (
    "nobody",
    "bad token",
    "stranger",
    "pending",
    "barred",
    "member",
    "rival",
    "viewer",
    "editor",
    "owner",
    "administrator",
)
ACCOUNTS = frozenset(ROLES[2:])
ORGANIZERS = frozenset(ROLES[7:])
EDITORS = frozenset(ROLES[8:])
OWNERS = frozenset(ROLES[9:])
MEMBERS = frozenset({"member", "rival"})
BARRED = frozenset({"barred"})  # sends nothing more, but keeps what it sent
EVERYBODY = frozenset(ROLES) - {"bad token"}
ADMINISTRATOR = frozenset({"administrator"})

VISIBLE = {  # who sees a challenge of each kind at all
    "public": EVERYBODY,
    "private": MEMBERS | ORGANIZERS,
    "draft": ORGANIZERS,
}

Roles = frozenset[str]


@dataclass(frozen=True)
class AccessRule:
    """One route with one body: who may use it, and what it answers then.

    `sees` are those to whom its object exists at all, among those who see the challenge; everybody else gets 404.
    Without an account it is 401 where the route needs one (`open` routes need none).
    """

    method: str
    path: str
    allowed: Roles
    success: int = 200
    open: bool = False
    sees: Roles = frozenset(ROLES)
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    at_root: bool = False
    token_matters: bool = True

    @property
    def address(self) -> str:
        """The whole path."""
        return self.path if self.at_root else f"/api/v1{self.path}"

    def status(self, role: str, visible: Roles) -> int:
        """What this role gets from a challenge that `visible` roles see."""
        if role == "bad token" and self.token_matters:
            return 401
        if role == "nobody" and not self.open:
            return 401
        if "{slug}" in self.path + "{slug}" * ("{submission_id}" in self.path) and role not in visible & self.sees:
            return 404
        return self.success if role in self.allowed else 403


CHALLENGE = "/challenges/{slug}"
PHASE = "/challenges/{slug}/phases/{phase}"
VERSION = PHASE + "/gold/{version}"
SUBMISSION = "/submissions/{submission_id}"
SUBMISSION_READERS = frozenset({"member"}) | ORGANIZERS  # the team of the submission in question, and organizers
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]}
NEW_PHASE_BODY = {"name": "later {unique}", "opens_at": "2090-01-01T00:00:00Z"}
NEW_CHALLENGE_BODY = {"slug": "new-{unique}", "title": "new", "task": "multiclass", "recipe": RECIPE, "draft": True}
NEW_ACCOUNT_BODY = {"email": "{spare}", "name": "New", "password": "{password}"}

ACCESS_RULES = (
    # ---- the site
    # the address is taken and the password missing: as far as one gets without the cost of hashing one
    AccessRule("POST", "/users", EVERYBODY, 409, open=True, body=NEW_ACCOUNT_BODY),
    AccessRule("POST", "/users", ADMINISTRATOR, 409, open=True, body=NEW_ACCOUNT_BODY | {"approved": True}),
    AccessRule("POST", "/tokens", frozenset(ROLES), 422, open=True, token_matters=False, body={"email": "{spare}"}),
    AccessRule("GET", "/tokens", ACCOUNTS),
    AccessRule("DELETE", "/tokens/{token_id}", ACCOUNTS, 404),
    AccessRule("GET", "/me", ACCOUNTS),
    AccessRule("GET", "/metrics", EVERYBODY, open=True),
    AccessRule("GET", "/metrics/{key}", EVERYBODY, open=True),
    AccessRule("GET", "/metrics", ADMINISTRATOR, headers={"X-Forwarded-For": "192.0.2.7"}, at_root=True),
    AccessRule("GET", "/challenges", EVERYBODY, open=True),
    AccessRule("POST", "/challenges", ADMINISTRATOR, 201, body=NEW_CHALLENGE_BODY),
    # ---- a challenge
    AccessRule("GET", CHALLENGE, EVERYBODY, open=True),
    AccessRule("PATCH", CHALLENGE, EDITORS, body={"title": "renamed"}),
    AccessRule("GET", CHALLENGE + "/recipe", EVERYBODY, open=True),
    AccessRule("PUT", CHALLENGE + "/recipe", EDITORS, body=RECIPE),
    AccessRule("GET", CHALLENGE + "/organizers", ORGANIZERS),
    AccessRule("POST", CHALLENGE + "/organizers", OWNERS, 201, body={"email": "{spare}", "role": "viewer"}),
    AccessRule("DELETE", CHALLENGE + "/organizers", OWNERS, 204, query={"email": "{spare}"}),
    AccessRule("GET", CHALLENGE + "/phases", EVERYBODY, open=True),
    AccessRule("POST", CHALLENGE + "/phases", EDITORS, 201, body=NEW_PHASE_BODY),
    AccessRule("GET", PHASE, EVERYBODY, open=True),
    AccessRule("PATCH", PHASE, EDITORS, body={"anonymous": False}),
    AccessRule("GET", PHASE + "/template", EVERYBODY, open=True),
    AccessRule("GET", PHASE + "/leaderboard", EVERYBODY, open=True),
    # ---- teams: the name is taken, so whoever may register gets as far as a conflict
    AccessRule("POST", CHALLENGE + "/registrations", ACCOUNTS, 409, body={"team": "Member"}),
    AccessRule("GET", CHALLENGE + "/registrations", ACCOUNTS),
    AccessRule("PATCH", CHALLENGE + "/registrations/{registration_id}", EDITORS, body={"status": "approved"}),
    AccessRule("GET", CHALLENGE + "/teams", ORGANIZERS),
    # ---- gold: version 1 is in force, so it no longer changes
    AccessRule("POST", PHASE + "/gold", EDITORS, 201, body=GOLD),
    AccessRule("GET", PHASE + "/gold", ORGANIZERS),
    AccessRule("GET", VERSION, ORGANIZERS),
    AccessRule("GET", VERSION + "/data", ORGANIZERS),
    AccessRule("POST", VERSION + "/activate", EDITORS, 201),
    AccessRule("PUT", VERSION + "/classes", EDITORS, 409, body=["a", "b"]),
    AccessRule("PUT", VERSION + "/train-frequencies", EDITORS, 409, body={"a": 1}),
    AccessRule("PUT", VERSION + "/class-weights", EDITORS, 409, body={"a": 1}),
    AccessRule("PUT", VERSION + "/cost-matrix", EDITORS, 409, body={"a": {"b": 1}}),
    AccessRule("PUT", VERSION + "/hierarchy", EDITORS, 409, body={"parents": {"a": ["r"], "b": ["r"]}}),
    AccessRule("PUT", VERSION + "/folds", EDITORS, 409, body={"t1": "1"}),
    AccessRule("PUT", VERSION + "/groups", EDITORS, 409, body={"t1": "1"}),
    # ---- submissions: participants for themselves, organizers for a team they name
    AccessRule("POST", PHASE + "/submissions", MEMBERS, 202, body=CORRECT_PREDICTIONS),
    AccessRule("POST", PHASE + "/submissions", MEMBERS, 200, body=CORRECT_PREDICTIONS, query={"dry_run": "true"}),
    AccessRule("POST", PHASE + "/submissions", EDITORS, 202, body=CORRECT_PREDICTIONS, query={"team": "Bench"}),
    AccessRule(
        "POST",
        PHASE + "/submissions",
        EDITORS,
        202,
        body=CORRECT_PREDICTIONS,
        query={"team": "Bench", "baseline": "true"},
    ),
    AccessRule("POST", CHALLENGE + "/submissions", MEMBERS, 202, body=CORRECT_PREDICTIONS),
    AccessRule("POST", CHALLENGE + "/submissions", EDITORS, 202, body=CORRECT_PREDICTIONS, query={"team": "Bench"}),
    AccessRule("GET", PHASE + "/submissions", MEMBERS | BARRED | ORGANIZERS),
    AccessRule("GET", PHASE + "/quota", MEMBERS | BARRED),
    AccessRule("GET", SUBMISSION, SUBMISSION_READERS, sees=SUBMISSION_READERS),
    AccessRule("GET", SUBMISSION + "/predictions", SUBMISSION_READERS, sees=SUBMISSION_READERS),
    AccessRule("GET", SUBMISSION + "/report", SUBMISSION_READERS, sees=SUBMISSION_READERS),
    AccessRule("POST", SUBMISSION + "/rerun", EDITORS, 202, sees=SUBMISSION_READERS),
    AccessRule("POST", PHASE + "/rerun", EDITORS, 202),
    AccessRule("GET", PHASE + "/rerun", ORGANIZERS),
    AccessRule("DELETE", PHASE + "/rerun", EDITORS),
    AccessRule("POST", SUBMISSION + "/select", SUBMISSION_READERS - {"viewer"}, sees=SUBMISSION_READERS),
    AccessRule("POST", SUBMISSION + "/unselect", SUBMISSION_READERS - {"viewer"}, sees=SUBMISSION_READERS),
    AccessRule("POST", SUBMISSION + "/cancel", SUBMISSION_READERS - {"viewer"}, 409, sees=SUBMISSION_READERS),
    AccessRule("DELETE", CHALLENGE, OWNERS, 409),
)
