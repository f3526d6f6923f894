"""The forms that an owner of a challenge finds on the desk, sent by people who do not find them."""

import re
from collections.abc import Callable
from typing import Any

from app.web.organize.frame import PAGES
from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.settle import settle
from tests.web.conftest import GOLD
from tests.web.desk import TRUTH, organizer, person
from tests.web.people import new_account
from tests.web.reader import Reader, csrf_of, forms_of

SLUG = "guarded"
DESK = f"/challenges/{SLUG}/organize"
TYPED = {"reason": "Tried.", "confirm": SLUG, "do": "save", "email": "ada@example.org", "note": "x", "per_day": "1"}
TYPED |= {"licence": "CC0", "slug": f"{SLUG}-2", "title": "Guarded"}
"""What a person would type into the fields of these forms, or press, where the page leaves that open."""


def stage(app: ServedApp) -> dict[str, str]:
    """A challenge with something of everything that the desk is about; ids by what they are of."""
    admin = app.admin()
    open_challenge(admin, SLUG, GOLD)
    captain = person(app, "Captain").join(SLUG, "Blue")
    sent = captain.submit(SLUG, TRUTH).json()["id"]
    news = admin.post(f"/challenges/{SLUG}/announcements", json={"title": "News", "body": ""}).json()["id"]
    admin.post(f"/challenges/{SLUG}/invitations", json={"note": "x"}).raise_for_status()
    offered = {"name": "train.csv", "licence": "CC0", "audience": "public"}
    admin.post(f"/challenges/{SLUG}/files", params=offered, content=b"id\n").raise_for_status()
    admin.post(f"/challenges/{SLUG}/phases/main/gold", json=GOLD).raise_for_status()
    registration = admin.get(f"/challenges/{SLUG}/registrations").json()["items"][0]
    return {"sent": sent, "news": news, "registration": registration["id"], "team": registration["team"]["id"]}


def offered_forms(owner: Reader, ids: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """The address and the fields of each form that changes something, on all pages of the desk and on a submission's.

    Of forms with the same address and fields, such as those beside each row of a list, it gives the first.
    """
    pages = [f"{DESK}/{name}" if name else DESK for part in PAGES.values() for name in part]
    pages += [f"{DESK}/phases/main", f"{DESK}/phases/main/gold", f"{DESK}/files/train.csv", f"{DESK}/quota?team=Blue"]
    pages += [f"{DESK}/announcements/{ids['news']}", f"{DESK}/teams/{ids['team']}"]
    pages += [f"{DESK}/registrations/{ids['registration']}", f"/submissions/{ids['sent']}"]
    found: dict[tuple[str, ...], tuple[str, dict[str, Any]]] = {}
    for page in pages:
        answer = owner.get(page)
        assert answer.status_code == 200, page
        for form in forms_of(answer):
            if form["method"] == "post" and form["action"].startswith((DESK, "/submissions/")):
                found.setdefault((form["action"], *form["fields"]), (form["action"], form["fields"]))
    return list(found.values())


def pressed(action: str, ids: dict[str, str]) -> dict[str, Any]:
    """The button that is pressed, and the rows that are ticked."""
    if action == f"{DESK}/submissions":
        return {"ids": ids["sent"], "act": "disqualify"}
    if action == f"{DESK}/registrations":
        return {"ids": ids["registration"], "act": "bar"}
    return {"act": "post", "title": "More news"} if action == f"{DESK}/announcements" else {}


def trail(app: ServedApp) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = app.admin().get(f"/challenges/{SLUG}/audit").json()["items"]
    return items


def test_nobody_else_can_send_the_forms_of_an_owner(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    ids, owner, viewer = stage(app), new_reader(), new_reader()
    organizer(app, owner, "owner", slug=SLUG)
    organizer(app, viewer, "viewer", slug=SLUG)
    stranger, visitor = new_reader().log_in(new_account(app, "stranger")), new_reader()
    forms = offered_forms(owner, ids)
    settle(app)
    before = trail(app)
    assert {re.sub(r"[0-9a-f]{32}", "ID", action.removeprefix(DESK)) for action, _ in forms} >= {
        "/submissions", "/registrations", "/announcements", "/copy/delete", "/organizers", "/invitations/revoke",
        "/teams/ID/disqualify", "/quota", "/files/train.csv/delete", "/settings", "/recipe", "/phases/main/pause",
        "/phases/main/gold/2/activate", "/submissions/ID/disqualify",
    }  # fmt: skip
    for reader, allowed in ((viewer, {403}), (stranger, {403, 404}), (visitor, {401})):
        token = csrf_of(reader.get("/invitation"))
        for action, fields in forms:
            if reader is viewer and action in {f"{DESK}/copy", f"{DESK}/items"}:
                continue  # Whoever reads everything may copy it, with the right to create challenges, and ask what if.
            data = fields | TYPED | pressed(action, ids) | {"csrf": token}
            answer = reader.client.post(action, data=data, headers={"Origin": app.url})
            if answer.status_code in {400, 415}:  # a form with a file
                texts = {name: data[name][-1] if isinstance(data[name], list) else data[name] for name in fields}
                file = {"file": ("more.csv", b"id,label\na,cat\n")}
                answer = reader.client.post(action, data=texts, files=file, headers={"Origin": app.url})
            refused = {422} if "ids" in data and reader is viewer else allowed  # which lists the rows that refuse
            assert answer.status_code in refused, (action, answer.status_code)
    settle(app)
    assert trail(app) == before
