"""Reads access_table.txt: every route of the service, what is sent to it, and what each role gets in each state."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.journeys.support import CORRECT_PREDICTIONS, GOLD

TABLE = Path(__file__).with_name("access_table.txt")
STATES = ("open", "before", "paused", "closed", "late", "released", "private", "draft")
ROLES = ("vis", "str", "pen", "bar", "for", "riv", "mem", "c-r", "cap", "vie", "edi", "o-r", "own", "adm")
INVALID = ("unknown token", "expired token", "disabled user")
OTHERS = {"owner of another challenge": "str", **dict.fromkeys(INVALID, "401")}
"""Further roles: as which one they are answered."""
ORGANIZERS = frozenset({"vie", "edi", "own", "adm"})
VISIBLE = {  # who sees a challenge that is not public
    "private": frozenset({"for", "riv", "mem", "c-r", "cap"}) | ORGANIZERS,
    "draft": ORGANIZERS,
}
NO_TOKEN_READ = {("POST", "/api/v1/tokens"), ("POST", "/api/v1/password-resets"), ("GET", "/api/v1/log")}
NO_TOKEN_READ |= {("GET", "/api/v1/jwks.json")}
NO_TOKEN_READ |= {("GET", f"/log/{path}") for path in ("checkpoint", "tile/{level}/{number}")}
NO_TOKEN_READ |= {("GET", f"/log/{{label}}/{path}") for path in ("checkpoint", "tile/{level}/{number}")}

PATHS = {
    "V": "/challenges/{slug}/phases/{phase}/gold/{version}",
    "P": "/challenges/{slug}/phases/{phase}",
    "T": "/challenges/{slug}/teams/{team_id}",
    "C": "/challenges/{slug}",
    "S": "/submissions/{submission_id}",
}
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]}
ACCOUNT = {"email": "{spare}", "name": "New"}  # the address is taken and the password missing: no hash is computed
SENT: dict[str, Any] = {
    "account": ACCOUNT | {"password": "{password}"},
    "approved-account": ACCOUNT | {"password": "{password}", "approved": True},
    "challenge": {"slug": "new-{unique}", "title": "new", "task": "multiclass", "recipe": RECIPE, "draft": True},
    "copy": {"slug": "copy-{unique}"},
    "gold": GOLD,
    "grant": {"team": "Nobody", "total": 1, "reason": "r"},
    "hierarchy": {"parents": {"a": ["r"], "b": ["r"]}},
    "changes": {"changes": [{"id": "t1", "label": "a"}]},
    "new-viewer": {"email": "{spare}", "role": "viewer"},
    "phase": {"name": "later {unique}", "opens_at": "2090-01-01T00:00:00Z"},
    "predictions": CORRECT_PREDICTIONS,
    "reason": {"reason": "Agreed with the team."},
    "recipe": RECIPE,
}
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
CELL = re.compile(r"\d{3}|[.-]")


@dataclass
class AccessRule:
    """One request of the table, with the cells of the line itself ("") and of the states that differ."""

    line: str  # as the table has it, for messages
    method: str
    address: str
    query: dict[str, str]
    body: Any
    cells: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def is_about_challenge(self) -> bool:
        """Whether it depends on the challenge; others are asked once."""
        return "{slug}" in self.address or "{submission_id}" in self.address

    @property
    def is_about_phase(self) -> bool:
        """Whether the state of the phase may matter to it."""
        return ("{phase}" in self.address and "/gold" not in self.address) or "submission" in self.address

    def status(self, role: str, state: str) -> int | None:
        """What this role gets in this state; None if it is not asked."""
        if role in INVALID and (self.method, self.address) not in NO_TOKEN_READ:
            return 401
        column = "vis" if role in INVALID else OTHERS.get(role, role)
        written = self.cells.get(state, {}).get(column, ".")
        cell = self.cells[""][column] if written == "." else written
        if cell == "-":
            return None
        hidden = self.is_about_challenge and state in VISIBLE and column not in VISIBLE[state]
        return 404 if hidden and cell != "401" else int(cell)


def _parse_request(words: list[str]) -> AccessRule:
    method, target, *sent = words
    path, _, query = target.partition("?")
    address = path.removeprefix("ROOT") if path.startswith("ROOT") else f"/api/v1{_long_path(path)}"
    body = None if not sent else SENT[sent[0]] if sent[0] in SENT else json.loads(sent[0])
    return AccessRule(
        f"{method} {target}", method, address, dict(pair.split("=") for pair in query.split("&") if pair), body
    )


def _long_path(path: str) -> str:
    first, slash, rest = path.partition("/")
    return PATHS.get(first, first) + slash + rest


def read_table(text: str) -> list[AccessRule]:
    """The requests of the table; raises ValueError for a line of another shape, KeyError for an unknown name."""
    rules: list[AccessRule] = []
    _, _, lines = text.partition("(sent)")
    header, *rows = lines.splitlines()
    if tuple(header.split()) != ROLES:
        raise ValueError(header)
    for line in rows:
        words = line.split()
        if not words or words[0] == "#":
            continue
        names, cells = words[: -len(ROLES)], words[-len(ROLES) :]
        by_role = dict(zip(ROLES, cells, strict=True))
        if not all(map(CELL.fullmatch, cells)):
            raise ValueError(line)
        if line[0].isspace():
            if not names or set(names) - set(STATES):
                raise ValueError(line)
            rules[-1].cells |= dict.fromkeys(names, by_role)
        elif names[0] in METHODS:
            rules.append(_parse_request(names))
            rules[-1].cells[""] = by_role
        else:
            raise ValueError(line)
    return rules


ACCESS_RULES = read_table(TABLE.read_text(encoding="utf-8"))
