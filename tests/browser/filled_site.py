"""A service filled as a busy one is: real systems, a challenge of two phases with teams, and one of each rarer kind.

Everything goes in by the API, as people would send it; only the administrator's password is set beside the service, as
`assay user` does. `names` tells the pages' addresses what is there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.actions.accounts.bootstrap import create_user
from app.cli.demo_data import DemoLoader
from tests.browser import crowded, sounds
from tests.journeys.audited_objects import ARCHIVE
from tests.journeys.support import require_finished, write_session_of
from tests.live_service import PASSWORD, ROOT, Caller, Live, open_challenge
from tests.settle import settle
from tests.web.reader import Reader

SETTINGS = {"challenge_creation": "approved", "comparison_interval": "3"}  # seconds: not with each team of a full board
FUTURE = "2090-01-01T00:00:00Z"
VISITOR = "visitor"


@dataclass
class FilledSite:
    """A running service with its people, and the names that pages are about."""

    live: Live
    people: dict[str, Caller] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    _cookies: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of the service."""
        return self.live.url

    def cookies(self, role: str) -> list[dict[str, Any]]:
        """The cookies of a session that this person has opened by the log-in page, as Playwright takes them."""
        if role == VISITOR:
            return []
        if role not in self._cookies:
            reader = self.reader(role)
            self._cookies[role] = [
                {"name": each.name, "value": each.value or "", "url": self.url} for each in reader.client.cookies.jar
            ]
            reader.close()
        return self._cookies[role]

    def reader(self, role: str) -> Reader:
        """A browser without scripts in which this person has logged in."""
        reader = Reader(self.url)
        return reader if role == VISITOR else reader.log_in(self.people[role].email)


def fill(live: Live) -> FilledSite:
    """Fill a new service, started with SETTINGS."""
    site = FilledSite(live)
    for name, words in {
        "organizer": "Olga Organizer",
        "captain": "Bea Blue",
        "member": "Ben Blue",
        "rival": "Gina Green",
        "late": "Omar Orange",
        "pending": "Pia Purple",
        "barred": "Mia Mirror",
        "stranger": "Sam Stranger",
    }.items():
        site.people[name] = _person(live, name, words)
    _administrator(site)
    _digits(site)
    sounds.fill(site.people, site.names)
    crowded.fill(site.people["organizer"], site.names)
    _others(site)
    _limited(site)
    _empty_account(site)
    settle(live, shown=True)
    return site


def _person(live: Live, name: str, words: str) -> Caller:
    email, admin = f"{name}@example.org", live.admin()
    body = {"email": email, "name": words, "password": PASSWORD, "approved": name == "organizer"}
    admin.post("/users", json=body).raise_for_status()
    token = live.caller().post("/tokens", json={"email": email, "password": PASSWORD}).raise_for_status().json()
    return live.caller(token["token"], email=email)


def _administrator(site: FilledSite) -> None:
    email = "administrator@example.org"
    with write_session_of(site.live) as session:
        create_user(session, email=email, name="Ada Administrator", password=PASSWORD, admin=True)
    admin = site.people["administrator"] = site.live.caller(site.live.admin_token, email=email)
    site.names["import"] = admin.post("/imports", content=ARCHIVE).raise_for_status().json()["id"]


def _digits(site: FilledSite) -> None:
    """The challenge of the demonstration, and a file with another team's predictions that its captain may read."""
    ignore: Callable[[str], None] = lambda _: None  # noqa: E731
    DemoLoader(site.url, site.live.admin_token, ROOT / "examples" / "digits", b"of the demonstration", ignore).load()
    admin = site.people["administrator"]
    body = {"email": site.people["organizer"].email, "role": "owner"}
    admin.post("/challenges/digits/organizers", json=body).raise_for_status()
    rows = admin.get("/challenges/digits/phases/main/submissions").raise_for_status().json()["items"]
    site.names |= {"digits": "digits"} | {
        f"digits_{row['team']['name'].lower()}": row["id"] for row in rows if row["status"] == "finished"
    }


def _others(site: FilledSite) -> None:
    """A challenge that is coming, a draft that is not ready, one by invitation, and one that is over and archived."""
    organizer = site.people["organizer"]
    gold = [{"id": f"w{number}", "label": "humpback" if number % 3 else "orca"} for number in range(1, 31)]
    open_challenge(
        organizer,
        "whales",
        gold,
        title="Songs of whales",
        description="Which species sings? Recordings of **one minute**, from three oceans.",
        phases=[{"name": "main", "opens_at": FUTURE}],
    )
    recipe = {"primary": "accuracy", "metrics": ["accuracy"]}
    draft = {"slug": "draft", "title": "Leaves of trees", "task": "multiclass", "recipe": recipe, "draft": True}
    organizer.post("/challenges", json=draft).raise_for_status()
    open_challenge(organizer, "secret", gold, title="By invitation", visibility="private", registration="invitation")
    open_challenge(organizer, "past", gold, title="Bird calls of 2026")
    for team, orcas in (("Robins", 9), ("Wrens", 4)):
        sent = {row["id"]: row["label"] if at > orcas else "orca" for at, row in enumerate(gold)}
        require_finished(organizer.submit("past", sent, team=team, method="Spectrograms"))
    body = {"closes_at": "2026-01-02T00:00:00Z", "opens_at": "2026-01-01T00:00:00Z"}
    organizer.patch("/challenges/past/phases/main", json=body).raise_for_status()
    organizer.post("/challenges/past/archive", json={"reason": "It is over."}).raise_for_status()
    site.names |= {"whales": "whales", "draft": "draft", "secret": "secret", "past": "past"}


def _limited(site: FilledSite) -> None:
    """A challenge whose Ladder limits feedback, with a file that improved its team's best so far and one that did not."""
    gold = [{"id": f"tide{number:03}", "label": "ebb" if number % 2 else "flood"} for number in range(100)]
    recipe = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro"], "ladder": {"step": 0.05}}
    open_challenge(site.people["organizer"], "tides", gold, title="Turning of the tides", recipe=recipe)
    captain = site.people["captain"].join("tides", "Blue whales")
    for name, floods in (("tides_better", 30), ("tides_equal", 31)):
        sent = {row["id"]: "flood" if at < floods else row["label"] for at, row in enumerate(gold)}
        site.names[name] = require_finished(captain.submit("tides", sent, method="Tables of the moon"))["id"]
    site.names["tides"] = "tides"


def _empty_account(site: FilledSite) -> None:
    """An invitation to the site and a second token, so that the lists of an account have rows."""
    captain = site.people["captain"]
    body = {"email": captain.email, "password": PASSWORD, "name": "laptop"}
    captain.post("/tokens", json=body).raise_for_status()
    site.people["administrator"].post("/invitations", json={"note": "Class of 2027", "max_uses": 30}).raise_for_status()
