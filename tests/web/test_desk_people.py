"""The organizer's desk: registrations, teams, organizers and invitations, act by act, by forms alone."""

import re
from collections.abc import Callable

from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.conftest import GOLD
from tests.web.desk import DESK, organizer, person
from tests.web.reader import Reader, destination

PAGES = (
    "registrations",
    "teams",
    "submissions",
    "quota",
    "release",
    "announcements",
    "files",
    "organizers",
    "invitations",
    "audit",
    "failures",
    "copy",
)


def test_the_pages_are_for_organizers_of_every_role(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    visitor, stranger, viewer = new_reader(), new_reader(), new_reader()
    stranger.log_in(person(app, "Stranger").email)
    organizer(app, viewer, "viewer")
    own = {f"{DESK}/organizers/remove", f"{DESK}/copy"}
    for name in PAGES:
        path = f"{DESK}/{name}"
        assert visitor.get(path).headers["location"] == f"/log-in?next={path}"
        assert stranger.get(path).status_code == 403, name
        answer = viewer.get(path)
        assert answer.status_code == 200, name
        assert f'<a href="{path}" aria-current="page">' in answer.text
        forms = set(re.findall(r'<form[^>]* method="post" action="(/challenges[^"]*)"', answer.text))
        assert forms <= own, f"{name}: a viewer gets no form that a viewer may not send"


def test_several_registrations_are_barred_and_approved_at_once(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "editor")
    ids = []
    for name in ("Ann", "Ben"):
        answer = person(app, name).post("/challenges/digits/registrations", json={"team": f"Team {name}"})
        ids.append(answer.json()["id"])
    path = f"{DESK}/registrations"
    refused = reader.send(path, path, ids=ids, act="bar")
    assert refused.status_code == 422
    assert '<a href="#field-reason">Reason: is needed to bar somebody' in refused.text
    assert reader.send(path, path, ids=[], act="approve").status_code == 422
    assert reader.send(path, path, ids=ids).status_code == 422  # no button was pressed
    assert reader.send(path, path, ids=ids, act="bar", reason="The same people twice.").status_code == 303
    barred = app.admin().get("/challenges/digits/registrations", params={"status": "barred"}).json()["items"]
    assert {row["id"] for row in barred} == set(ids)
    shown = reader.get(f"{path}?status=barred").text
    assert "The same people twice." in shown
    assert f"{path}/{ids[0]}" in shown
    assert f"{path}/{ids[0]}" not in reader.get(f"{path}?status=approved").text
    one = reader.send(f"{path}/{ids[0]}", path, act="approve")
    assert one.status_code == 303
    assert app.admin().get(f"/challenges/digits/registrations/{ids[0]}").json()["status"] == "approved"
    assert "bar registration" in reader.get(f"{path}/{ids[0]}").text


def test_all_registrations_of_a_list_are_ticked_by_a_link_and_decided(app: ServedApp, reader: Reader) -> None:
    open_challenge(app.admin(), "ticked", GOLD, registration="approval")
    organizer(app, reader, "editor", "ticked")
    for name in ("Uma", "Val"):
        body = {"team": f"Team {name}"}
        person(app, name).post("/challenges/ticked/registrations", json=body).raise_for_status()
    path = "/challenges/ticked/organize/registrations"
    assert f'href="{path}?status=pending"' in reader.get("/challenges/ticked/organize").text
    page = reader.get(f"{path}?status=pending")
    assert page.text.count(" checked") == 0
    assert f"{path}?status=pending&amp;tick=all" in page.text
    ticked = reader.get(f"{path}?status=pending&tick=all")
    ids = re.findall(r'name="ids" value="(\w+)"[^>]* checked', ticked.text)
    assert len(ids) == 2
    answer = reader.send(ticked, path, ids=ids, act="approve", status="pending")
    assert destination(answer) == (f"{path}?status=pending", "desk-registrations-decided")
    assert "No registration has this status." in reader.get(f"{path}?status=pending").text


def test_a_viewer_cannot_decide(app: ServedApp, reader: Reader) -> None:
    row = person(app, "Cy").post("/challenges/digits/registrations", json={"team": "Cyan"}).json()
    organizer(app, reader, "viewer")
    path = f"{DESK}/registrations"
    data = {"csrf": _csrf(reader, path), "ids": row["id"], "act": "bar", "reason": "r"}
    refused = reader.client.post(path, data=data, headers={"Origin": reader.url})
    assert "may only read" in refused.text
    assert app.admin().get(f"/challenges/digits/registrations/{row['id']}").json()["status"] == "approved"


def test_a_team_is_renamed_invited_to_disqualified_and_reinstated(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "editor")
    founder = person(app, "Dan")
    team = founder.post("/challenges/digits/registrations", json={"team": "Violet"}).json()["team"]
    path = f"{DESK}/teams/{team['id']}"
    assert path in reader.get(f"{DESK}/teams").text

    def read() -> dict[str, object]:
        found: dict[str, object] = founder.get("/challenges/digits/teams").json()["items"][0]
        return found

    assert reader.send(path, f"{path}/edit", name="Ultraviolet", reason="A typing error.").status_code == 303
    assert read()["name"] == "Ultraviolet"
    made = reader.send(path, f"{path}/invite", note="for Eve")
    code = re.search(r"/invitation#([^<\s]+)", made.text)
    assert code is not None
    eve = person(app, "Eve")
    assert eve.post("/challenges/digits/registrations", json={"invitation": code[1]}).status_code == 201
    assert code[1] not in reader.get(path).text
    captain = eve.get("/me").json()["id"]
    assert reader.send(path, f"{path}/edit", captain=captain).status_code == 303
    assert read()["captain"] == captain
    assert reader.send(path, f"{path}/disqualify", reason="").status_code == 422
    assert reader.send(path, f"{path}/disqualify", reason="Copied.").status_code == 303
    assert read()["disqualified_reason"] == "Copied."
    assert "Copied." in reader.get(path).text
    assert reader.send(path, f"{path}/reinstate").status_code == 303
    assert read()["disqualified_at"] is None
    assert reader.send(path, f"{path}/remove", member=captain, reason="Asked for it.").status_code == 303
    assert len(read()["members"]) == 1  # type: ignore[arg-type]


def test_an_owner_adds_changes_and_removes_organizers(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    owner, editor = new_reader(), new_reader()
    organizer(app, owner)
    email, path = person(app, "Flo").email, f"{DESK}/organizers"
    assert owner.send(path, path, email=email, role="viewer").status_code == 303
    roles = {row["email"]: row["role"] for row in app.admin().get("/challenges/digits/organizers").json()["items"]}
    assert roles[email] == "viewer"
    assert owner.send(path, path, email="nobody@example.org").status_code in {404, 422}
    organizer(app, editor, "editor")
    assert f'action="{path}"' not in editor.get(path).text
    removed = owner.client.post(
        f"{path}/remove", data={"csrf": _csrf(owner, path), "email": email}, headers={"Origin": owner.url}
    )
    assert removed.status_code == 303
    assert email not in app.admin().get("/challenges/digits/organizers").text


def _csrf(reader: Reader, path: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', reader.get(path).text)
    assert found is not None
    return found[1]


def test_a_code_is_shown_once_and_revoked(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "editor")
    path = f"{DESK}/invitations"
    made = reader.send(path, path, note="spring class", max_uses="", days="7")
    code = re.search(r"/invitation#([^<\s]+)", made.text)
    assert code is not None
    rows = app.admin().get("/challenges/digits/invitations").json()["items"]
    assert [row["max_uses"] for row in rows if row["note"] == "spring class"] == [None]
    shown = reader.get(path)
    assert "spring class" in shown.text
    assert code[1] not in shown.text
    assert reader.send(path, f"{path}/revoke").status_code == 303
    assert "spring class" not in app.admin().get("/challenges/digits/invitations").text
    assert reader.send(path, path, days="900").status_code == 422
