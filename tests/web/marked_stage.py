"""A challenge in which every text that people write has a word of its own, so that a test sees where each is shown."""

import re
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import httpx

from app.actions.access import SCOPES
from app.actions.accounts.bootstrap import create_user
from tests.journeys.access_stage import SPLIT_GOLD, Stage, callers_of
from tests.journeys.support import CORRECT_PREDICTIONS, GOLD, People, require_finished, write_session_of
from tests.live_service import PASSWORD, Caller

PAGE_ROLES = ("vis", "str", "pen", "bar", "for", "riv", "mem", "cap", "vie", "edi", "own", "adm")
"""The roles of the access table that use pages; the others hold tokens with fewer rights."""
MARKS = tuple(
    map(
        re.compile,
        (
            r"zq[a-z]+(?![\w-])",
            r"[Aa]ccess-[a-z]+-[0-9a-f]{8}@example\.org",
            r"Access-[a-z]+",
            r"Team (?:cap|riv|pen|bar|zq[a-z]+)",
        ),
    )
)
"""Words that identify who or what they are about: marks, addresses and names of accounts, and teams.

Each begins with letters, so that searching a page for all of them costs less than one expression that tries each.
"""
HEX = re.compile(r"[0-9a-f]{32,}")


def readable(answer: httpx.Response) -> str:
    """What a person reads in an answer, who unpacks archives: packed bytes look like marks now and then."""
    if not answer.content.startswith(b"PK"):
        return answer.text
    with ZipFile(BytesIO(answer.content)) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def marks(text: str) -> set[str]:
    """The marks in a page or in a reply of the API, and the ids."""
    return {found.lower() for mark in MARKS for found in mark.findall(text)} | {
        found for found in HEX.findall(text) if len(found) == 32
    }


def marked_stage(people: People) -> Stage:
    """Everybody, with an administrator who has a password, and challenges that are marked as they are made."""
    email = "access-adm-00000000@example.org"
    with write_session_of(people.live) as session:
        create_user(session, email=email, name="Access-adm", password=PASSWORD, admin=True)
    answer = people.visitor.post("/tokens", json={"email": email, "password": PASSWORD, "scopes": list(SCOPES)})
    administrator = people.live.caller(_ok(answer)["token"], email=email)
    people.admin.post("/invitations", json={"note": "zqsitenote"}).raise_for_status()
    return Stage(people, callers_of(people) | {"adm": administrator}, before_state=_mark)


def _ok(answer: Any) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


def _mark(stage: Stage, state: str, fill: dict[str, str]) -> None:
    """Write a mark into everything that has a text, and remember the ids of what was made."""
    slug, admin = fill["slug"], stage.callers["adm"]
    path = f"/challenges/{slug}"
    texts = {"title": "zqtitle", "description": "zqdescription", "contact": "zqcontact@example.org", "terms": "zqterms"}
    fields = [{"name": "origin", "label": "zqfieldlabel", "required": False}]
    _ok(admin.patch(path, json=texts | {"registration_fields": fields}, params={"reason": "zqauditreason"}))
    news = _ok(admin.post(f"{path}/announcements", json={"title": "zqnewstitle", "body": "zqnewsbody"}))
    fill["announcement_id"] = news["id"]
    offered = {"name": "zqfile.csv", "licence": "zqlicence", "description": "zqfiledescription", "audience": "teams"}
    _ok(admin.post(f"{path}/files", params=offered, content=b"id\n"))
    _ok(admin.post(f"{path}/invitations", json={"note": "zqinvitation"}))
    _mark_gold(admin, f"{path}/phases/main/gold")
    fill["submissions"] = " ".join([fill["submission_id"], *_mark_submissions(stage, slug, state)])
    if state != "draft":
        _mark_people(stage, path, fill)
    if state == "anonymous":
        _ok(admin.patch(f"{path}/phases/main", json={"anonymous": True}))


def _mark_gold(admin: Caller, path: str) -> None:
    """A second version of the gold, which stays a draft; whose groups have names."""
    has_splits = admin.get(path).json()["items"][0]["has_splits"]
    gold = SPLIT_GOLD if has_splits else GOLD
    version = _ok(admin.post(path, json=gold, params={"reason": "zqgoldreason", "filename": "zqgold.json"}))["version"]
    _ok(admin.put(f"{path}/{version}/groups", json={row["id"]: "zqgroup" for row in GOLD}))


def _mark_submissions(stage: Stage, slug: str, state: str) -> list[str]:
    """Entries of the captain, of another team, which is disqualified, and of the organizers; gives their ids in this order."""
    admin, sent = stage.callers["adm"], list[str]()

    def submit(who: str, mark: str, **query: Any) -> None:
        texts: dict[str, Any] = {
            "method": f"zqmethod{mark}",
            "description": f"zqabout{mark}",
            "link": f"https://example.org/zq{mark}",
        }
        sent.append(require_finished(stage.callers[who].submit(slug, CORRECT_PREDICTIONS, **texts, **query))["id"])

    if state not in {"draft", "before"}:
        submit("cap", "cap")
        rejected = stage.callers["cap"].submit(slug, {"t1": "zqwronglabel"}, method="zqrejected")
        sent.append(rejected.json()["id"])
        submit("riv", "riv")
        reason = {"reason": "zqdisqualified"}
        _ok(admin.post(f"/submissions/{sent[-1]}/disqualify", json=reason))
    submit("own", "baseline", team="zqbaseline", baseline="true")
    submit("own", "test", test="true")
    return sent


def _mark_people(stage: Stage, path: str, fill: dict[str, str]) -> None:
    """A registration with an answer, a reason for a decision, a grant and an invitation to a team."""
    admin, captain = stage.callers["adm"], stage.callers["cap"]
    body = {"team": "Team zqanswering", "terms": 2, "fields": {"origin": "zqanswer"}}
    answer = stage.people["Access-ans"].post(f"{path}/registrations", json=body)
    if answer.status_code == 422:  # the terms have their first version
        answer = stage.people["Access-ans"].post(f"{path}/registrations", json=body | {"terms": 1})
    fill["registrations"] = f"{fill['registration_id']} {_ok(answer)['id']}"
    _ok(admin.patch(f"{path}/phases/main", json={"quota": {"total": 50}}))
    grant = {"team": "Team riv", "total": 1, "reason": "zqgrant"}
    _ok(admin.post(f"{path}/phases/main/quota/grants", json=grant))
    _ok(captain.post(f"{path}/teams/{fill['team_id']}/invitations", json={}))
