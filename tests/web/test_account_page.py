"""The own account: challenges, tokens, name, password, data and deletion."""

import re
import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD, open_challenge
from tests.web.conftest import GOLD
from tests.web.people import new_account
from tests.web.reader import Reader, destination

NEW = "another heap of random words"
SETTINGS, TOKENS = "/account/settings", "/account/tokens"


class Person(Reader):
    """Somebody who is logged in."""

    def __init__(self, app: ServedApp, name: str = "Ada") -> None:
        super().__init__(app.url)
        self.email = new_account(app, name)
        self.log_in(self.email)


@pytest.fixture
def ada(app: ServedApp) -> Iterator[Person]:
    person = Person(app)
    yield person
    person.close()


def new_token(person: Reader, **fields: str | list[str]) -> str:
    answer = person.send(TOKENS, TOKENS, name="laptop", password=PASSWORD, **fields)
    assert answer.status_code == 201, answer.text
    (line,) = re.findall(r"export ASSAY_TOKEN=(assay_[\w.-]+)", answer.text)
    return str(line)


def test_own_challenges_with_deadline_and_quota(app: ServedApp, ada: Person) -> None:
    assert "no challenge yet" in ada.get("/account").text
    slug = f"mine-{secrets.token_hex(4)}"
    open_challenge(app.admin(), slug, GOLD)
    rules = {"closes_at": "2999-01-01T00:00:00Z", "quota": {"per_day": 5, "total": 40}}
    app.admin().patch(f"/challenges/{slug}/phases/main", json=rules).raise_for_status()
    ada.send(f"/challenges/{slug}/register", f"/challenges/{slug}/register", team="Blue")
    page = ada.get("/account")
    for said in ("Blue", "Approved", "Closes", "1 Jan 2999", "<b>5</b> left today, <b>40</b> in total"):
        assert said in page.text
    assert f'href="/challenges/{slug}/submit"' in page.text


def test_own_roles_as_an_organizer(app: ServedApp, ada: Person) -> None:
    assert "that you organize" not in ada.get("/account").text
    slugs = [f"role-{secrets.token_hex(4)}" for _ in range(22)]
    admin, recipe = app.admin(), {"primary": "accuracy", "metrics": ["accuracy"]}
    for at, slug in enumerate(slugs):
        made = {"slug": slug, "title": f"Number {at}", "visibility": "private", "draft": at == 21}
        admin.post("/challenges", json=made | {"task": "multiclass", "recipe": recipe}).raise_for_status()
        body = {"email": ada.email, "role": "viewer" if at == 21 else "editor"}
        admin.post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    page = ada.get("/account").text
    organized = page.partition("Challenges that you organize")[2].partition("Challenges that you take part in")[0]
    first = organized.partition("</li>")[0]
    for said in ("Number 21", "<b>viewer</b>", "Draft", "Private", f'href="/challenges/{slugs[21]}/organize"'):
        assert said in first
    assert organized.count("<b>editor</b>") == 19
    assert "no challenge yet" in page
    (more,) = re.findall(r'href="(/account\?organized=[^"]+)"', organized)
    assert "Number 0" in ada.get(more).text
    app.admin().delete(f"/challenges/{slugs[0]}/organizers", params={"email": ada.email}).raise_for_status()
    assert "Number 0" not in ada.get(more).text
    read_only = app.caller(new_token(ada, scopes=["read"], days="7"))
    assert read_only.get("/me/roles").json()["items"] == []
    assert len(app.caller(new_token(ada, scopes=["read", "organize"], days="7")).get("/me/roles").json()["items"]) == 21


def test_a_token_is_shown_once_works_and_is_revoked(app: ServedApp, ada: Person) -> None:
    token = new_token(ada, scopes=["read"], days="7")
    api = app.caller(token)
    assert api.get("/me").json()["scopes"] == ["read"]
    page = ada.get(TOKENS)
    assert "laptop" in page.text
    assert token not in page.text
    assert destination(ada.send(page, f"{TOKENS}/revoke")) == (f"{TOKENS}", "token-revoked")
    assert api.get("/me").status_code == 401
    assert "You have no token." in ada.get(TOKENS).text


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"password": "wrong"}, 401, "This is not your password."),
        ({"days": "soon"}, 422, "Days until it expires: must be a whole number"),
        ({"days": "366"}, 422, "Days until it expires: must be at most 365"),
        ({"scopes": []}, 422, "Scopes: is missing"),
        ({"scopes": ["admin"]}, 403, "Only an administrator"),
    ],
)
def test_a_refused_token(ada: Person, fields: dict[str, str], status: int, said: str) -> None:
    answer = ada.send(TOKENS, TOKENS, **{"name": "kept", "password": PASSWORD, **fields})
    assert answer.status_code == status
    assert said in answer.text
    assert 'value="kept"' in answer.text
    assert "export ASSAY_TOKEN" not in answer.text


def test_nobody_revokes_the_token_of_somebody_else(app: ServedApp, ada: Person) -> None:
    token = new_token(ada)
    bob = Person(app, "Bob")
    new_token(bob)
    answer = bob.send(TOKENS, f"{TOKENS}/revoke", token=token.partition("_")[2].partition(".")[0])
    assert answer.status_code == 404
    assert app.caller(token).get("/me").status_code == 200
    bob.close()


def test_a_name_changes(ada: Person) -> None:
    assert ada.send(SETTINGS, "/account/name", name="Ada <b>").status_code == 303
    page = ada.get("/account")
    assert "Ada &lt;b&gt;" in page.text
    answer = ada.send(SETTINGS, "/account/name", name="  ")
    assert (answer.status_code, "Name: is missing" in answer.text) == (422, True)


def test_a_new_password_ends_all_sessions_but_this_one(
    app: ServedApp, ada: Person, new_reader: Callable[[], Reader]
) -> None:
    elsewhere, token = new_reader().log_in(ada.email), new_token(ada)
    before = ada.client.cookies["assay_session"]
    answer = ada.send(SETTINGS, "/account/password", current=PASSWORD, new=NEW)
    assert destination(answer) == (f"{SETTINGS}", "password-changed")
    after = ada.client.cookies["assay_session"]
    assert after.partition(".")[0] != before.partition(".")[0]
    assert ada.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 303
    assert app.caller(token).get("/me").status_code == 401
    stolen = new_reader()
    stolen.client.cookies.set("assay_session", before, domain="127.0.0.1", path="/")
    assert stolen.get("/account").status_code == 303
    new_reader().log_in(ada.email, NEW)


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"current": "wrong"}, 401, "current"),
        ({"new": "short"}, 422, "new"),
        ({"new": "password123"}, 422, "new"),
        ({"new": ""}, 422, "new"),
    ],
)
def test_a_refused_password_is_said_at_its_field(ada: Person, fields: dict[str, str], status: int, field: str) -> None:
    answer = ada.send(SETTINGS, "/account/password", **{"current": PASSWORD, "new": NEW, **fields})
    assert answer.status_code == status
    assert f'id="fault-{field}"' in answer.text
    assert PASSWORD not in answer.text
    assert ada.get("/account").status_code == 200


def test_own_data_is_a_file(ada: Person) -> None:
    answer = ada.get("/account/data")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.json()["account"]["email"] == ada.email.lower()
    assert ada.client.cookies["assay_session"].partition(".")[2] not in answer.text


def test_an_account_is_deleted_with_password_and_address(app: ServedApp, ada: Person) -> None:
    for fields, status in (
        ({"confirm": "yes", "password": PASSWORD}, 422),
        ({"confirm": ada.email, "password": "wrong"}, 401),
        ({"confirm": ada.email, "password": ""}, 422),
    ):
        answer = ada.send("/account/delete", "/account/delete", **fields)
        assert (answer.status_code, 'role="alert"' in answer.text) == (status, True)
    answer = ada.send("/account/delete", "/account/delete", confirm=ada.email.upper(), password=PASSWORD)
    assert destination(answer) == ("/", "account-deleted")
    assert "assay_session" not in ada.client.cookies
    assert ada.get("/account").status_code == 303
    assert app.admin().get("/users", params={"q": ada.email}).json()["items"] == []


def test_an_only_owner_is_told_which_challenge_needs_another(app: ServedApp, ada: Person) -> None:
    token = new_token(ada, scopes=["read", "organize"])
    slug = f"owned-{secrets.token_hex(4)}"
    open_challenge(app.caller(token), slug, GOLD)
    answer = ada.send("/account/delete", "/account/delete", confirm=ada.email, password=PASSWORD)
    assert answer.status_code == 409
    assert slug in answer.text


def test_visitors_are_sent_to_log_in_and_come_back(reader: Reader) -> None:
    for path in ("/account", TOKENS, SETTINGS, "/account/delete", "/account/data"):
        assert reader.get(path).headers["location"] == f"/log-in?next={path}"
