"""The administrator's desk, act by act, by forms alone."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.doctor import all_checks
from app.web.administration.checks import CheckRunner
from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.desk import administrator, new_account, person
from tests.web.reader import Reader, heading

PAGES = ("", "/users", "/challenges", "/workers", "/invitations", "/imports", "/audit")
USERS = "/administration/users"


def test_the_desk_is_for_administrators(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    visitor, stranger, root = new_reader(), new_reader(), new_reader()
    stranger.log_in(new_account(app, "Stranger"))
    administrator(app, root)
    for path in (f"/administration{name}" for name in PAGES):
        assert visitor.get(path).headers["location"] == f"/log-in?next={path}"
        assert stranger.get(path).status_code == 403, path
        answer = root.get(path)
        assert (answer.status_code, heading(answer)) == (200, "Administration"), path


def user_id(app: ServedApp, email: str) -> str:
    found: str = app.admin().get("/users", params={"q": email}).json()["items"][0]["id"]
    return found


def test_an_account_is_found_approved_disabled_and_enabled(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    email = new_account(app, "Hal")
    one = f"{USERS}/{user_id(app, email)}"
    assert one in reader.get(f"{USERS}?q={email}").text
    assert one not in reader.get(f"{USERS}?q={email}&state=disabled").text

    def read() -> dict[str, object]:
        found: dict[str, object] = app.admin().get(one.replace("/administration", "")).json()
        return found

    assert reader.send(one, f"{one}/edit", act="approve").status_code == 303
    assert read()["approved"] is True
    assert reader.send(one, f"{one}/edit", act="disable").status_code == 422
    assert reader.send(one, f"{one}/edit", act="disable", reason="Shared with others.").status_code == 303
    assert read()["disabled_reason"] == "Shared with others."
    assert reader.send(one, f"{one}/edit", act="enable").status_code == 303
    assert read()["disabled_at"] is None
    assert reader.send(one, f"{one}/delete", confirm="somebody else").status_code == 422
    assert reader.send(one, f"{one}/delete", confirm=email).status_code == 303
    assert app.admin().get("/users", params={"q": email}).json()["items"] == []
    assert reader.get(one).status_code == 404


def test_an_account_is_created(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    root, made = new_reader(), new_reader()
    administrator(app, root)
    fields = {"name": "Ida", "email": "ida@example.org", "password": PASSWORD}
    assert root.send(USERS, USERS, **fields | {"password": "short"}).status_code == 422
    assert root.send(USERS, USERS, **fields, approved="yes").status_code == 303
    assert app.admin().get("/users", params={"q": "ida@"}).json()["items"][0]["approved"] is True
    made.log_in("ida@example.org")


def test_a_link_needs_a_public_address(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    one = f"{USERS}/{user_id(app, new_account(app, 'Jo'))}"
    answer = reader.send(one, f"{one}/reset", reason="Asked by phone.")
    assert answer.status_code == 409
    assert "public address" in answer.text


def test_all_challenges_are_listed_with_their_use(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    owner = person(app, "Kim")
    body = {
        "slug": "kims",
        "title": "Kim's",
        "task": "multiclass",
        "recipe": {"primary": "accuracy", "metrics": ["accuracy"]},
    }
    assert owner.post("/challenges", json=body | {"draft": True}).status_code == 201
    row = next(each for each in app.admin().get("/usage").json()["items"] if each["slug"] == "kims")
    assert ([each["name"] for each in row["owners"]], row["submissions"], row["status"]) == (["Kim"], 0, "draft")
    assert owner.get("/usage").status_code == 403
    page = reader.get("/administration/challenges").text
    assert 'href="/challenges/kims"' in page
    assert ">Kim</a>" in page


def test_the_queue_is_shown(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    queue = app.admin().get("/queue").json()
    assert (queue["queued"], queue["workers"]) == (0, [])
    assert "scores by itself" in reader.get("/administration/workers").text


def test_the_checks_of_the_doctor_run_on_demand(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    page = reader.get("/administration/workers")
    assert "database.reachable" not in page.text
    shown = reader.send(page, "/administration/workers/checks#checks").text
    assert all(f"<code>{check.key}</code>" in shown for check in all_checks())


@dataclass(frozen=True)
class Seen:
    check: str = "a"
    state: str = "ok"
    seen: str = ""
    remedy: str = ""


def test_the_checks_run_once_at_a_time() -> None:
    go_on, runs = threading.Event(), []

    def checks() -> Iterator[Seen]:
        runs.append(1)
        yield Seen()
        go_on.wait(60)
        yield Seen("b", "problem")

    runner = CheckRunner(checks)
    first = runner.run(0.0)
    assert runner.run(0.0) is first
    assert first.running
    go_on.set()
    assert first.finished.wait(60)
    assert (len(runs), [each.check for each in first.findings], first.count("problem")) == (1, ["a", "b"], 1)
    assert runner.run(60) is not first


def test_invitations_to_the_site(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    path = "/administration/invitations"
    made = reader.send(path, path, note="autumn class")
    path_of_link, code = re.findall(rf"{app.url}(/[a-z-]+)#([\w-]+)", made.text)[0]
    assert "data-fragment" in reader.get(path_of_link).text  # where a script takes the code from the link
    guest = Reader(app.url)
    assert f'value="{code}"' in guest.follow(guest.send(path_of_link, path_of_link, code=code).headers["location"]).text
    guest.close()
    assert "autumn class" in app.admin().get("/invitations").text
    assert reader.send(path, f"{path}/revoke").status_code == 303
    assert "autumn class" not in app.admin().get("/invitations").text


def test_the_trail_of_the_site(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    page = reader.get("/administration/audit?challenge=digits").text
    assert "activate gold" in page
    assert "activate gold" not in reader.get("/administration/audit?action=user").text
