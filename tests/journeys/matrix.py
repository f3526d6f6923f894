"""The access rules as a table: every route of the service, what is sent to it, and who may."""

from dataclasses import dataclass, field
from typing import Any

from tests.journeys.support import GOLD, RIGHT

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
class Row:
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
OWN = frozenset({"member"}) | ORGANIZERS  # the team of the submission in question, and organizers
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]}
LATER = {"name": "later {unique}", "opens_at": "2090-01-01T00:00:00Z"}
NEW = {"slug": "new-{unique}", "title": "new", "task": "multiclass", "recipe": RECIPE, "draft": True}
ACCOUNT = {"email": "{spare}", "name": "New", "password": "{password}"}

ROWS = (
    # ---- the site
    # the address is taken and the password missing: as far as one gets without the cost of hashing one
    Row("POST", "/users", EVERYBODY, 409, open=True, body=ACCOUNT),
    Row("POST", "/users", ADMINISTRATOR, 409, open=True, body=ACCOUNT | {"approved": True}),
    Row("POST", "/tokens", frozenset(ROLES), 422, open=True, token_matters=False, body={"email": "{spare}"}),
    Row("GET", "/tokens", ACCOUNTS),
    Row("DELETE", "/tokens/{token_id}", ACCOUNTS, 404),
    Row("GET", "/me", ACCOUNTS),
    Row("GET", "/metrics", EVERYBODY, open=True),
    Row("GET", "/metrics/{key}", EVERYBODY, open=True),
    Row("GET", "/metrics", ADMINISTRATOR, headers={"X-Forwarded-For": "192.0.2.7"}, at_root=True),
    Row("GET", "/challenges", EVERYBODY, open=True),
    Row("POST", "/challenges", ADMINISTRATOR, 201, body=NEW),
    # ---- a challenge
    Row("GET", CHALLENGE, EVERYBODY, open=True),
    Row("PATCH", CHALLENGE, EDITORS, body={"title": "renamed"}),
    Row("GET", CHALLENGE + "/recipe", EVERYBODY, open=True),
    Row("PUT", CHALLENGE + "/recipe", EDITORS, body=RECIPE),
    Row("GET", CHALLENGE + "/organizers", ORGANIZERS),
    Row("POST", CHALLENGE + "/organizers", OWNERS, 201, body={"email": "{spare}", "role": "viewer"}),
    Row("DELETE", CHALLENGE + "/organizers", OWNERS, 204, query={"email": "{spare}"}),
    Row("GET", CHALLENGE + "/phases", EVERYBODY, open=True),
    Row("POST", CHALLENGE + "/phases", EDITORS, 201, body=LATER),
    Row("GET", PHASE, EVERYBODY, open=True),
    Row("PATCH", PHASE, EDITORS, body={"anonymous": False}),
    Row("GET", PHASE + "/template", EVERYBODY, open=True),
    Row("GET", PHASE + "/leaderboard", EVERYBODY, open=True),
    # ---- teams: the name is taken, so whoever may register gets as far as a conflict
    Row("POST", CHALLENGE + "/registrations", ACCOUNTS, 409, body={"team": "Member"}),
    Row("GET", CHALLENGE + "/registrations", ACCOUNTS),
    Row("PATCH", CHALLENGE + "/registrations/{registration_id}", EDITORS, body={"status": "approved"}),
    Row("GET", CHALLENGE + "/teams", ORGANIZERS),
    # ---- gold: version 1 is in force, so it no longer changes
    Row("POST", PHASE + "/gold", EDITORS, 201, body=GOLD),
    Row("GET", PHASE + "/gold", ORGANIZERS),
    Row("GET", VERSION, ORGANIZERS),
    Row("GET", VERSION + "/data", ORGANIZERS),
    Row("POST", VERSION + "/activate", EDITORS, 201),
    Row("PUT", VERSION + "/classes", EDITORS, 409, body=["a", "b"]),
    Row("PUT", VERSION + "/train-frequencies", EDITORS, 409, body={"a": 1}),
    Row("PUT", VERSION + "/class-weights", EDITORS, 409, body={"a": 1}),
    Row("PUT", VERSION + "/cost-matrix", EDITORS, 409, body={"a": {"b": 1}}),
    Row("PUT", VERSION + "/hierarchy", EDITORS, 409, body={"parents": {"a": ["r"], "b": ["r"]}}),
    Row("PUT", VERSION + "/folds", EDITORS, 409, body={"t1": "1"}),
    Row("PUT", VERSION + "/groups", EDITORS, 409, body={"t1": "1"}),
    # ---- submissions: participants for themselves, organizers for a team they name
    Row("POST", PHASE + "/submissions", MEMBERS, 202, body=RIGHT),
    Row("POST", PHASE + "/submissions", MEMBERS, 200, body=RIGHT, query={"dry_run": "true"}),
    Row("POST", PHASE + "/submissions", EDITORS, 202, body=RIGHT, query={"team": "Bench"}),
    Row("POST", PHASE + "/submissions", EDITORS, 202, body=RIGHT, query={"team": "Bench", "baseline": "true"}),
    Row("POST", CHALLENGE + "/submissions", MEMBERS, 202, body=RIGHT),
    Row("POST", CHALLENGE + "/submissions", EDITORS, 202, body=RIGHT, query={"team": "Bench"}),
    Row("GET", PHASE + "/submissions", MEMBERS | BARRED | ORGANIZERS),
    Row("GET", PHASE + "/quota", MEMBERS | BARRED),
    Row("GET", SUBMISSION, OWN, sees=OWN),
    Row("GET", SUBMISSION + "/predictions", OWN, sees=OWN),
    Row("GET", SUBMISSION + "/report", OWN, sees=OWN),
    Row("POST", SUBMISSION + "/rerun", EDITORS, 202, sees=OWN),
    Row("POST", PHASE + "/rerun", EDITORS, 202),
    Row("GET", PHASE + "/rerun", ORGANIZERS),
    Row("DELETE", PHASE + "/rerun", EDITORS),
    Row("POST", SUBMISSION + "/select", OWN - {"viewer"}, sees=OWN),
    Row("POST", SUBMISSION + "/unselect", OWN - {"viewer"}, sees=OWN),
    Row("POST", SUBMISSION + "/cancel", OWN - {"viewer"}, 409, sees=OWN),
    Row("DELETE", CHALLENGE, OWNERS, 409),
)
