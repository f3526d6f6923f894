"""Sessions of browsers: where their cookies come from, where they count, and when they end."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.store.tables import UserSession
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import PASSWORD, Live
from tests.web.page_routes import page_addresses
from tests.web.people import new_account, new_person
from tests.web.reader import HTML, Reader, csrf_of, destination

COOKIE = "assay_session"


def session_of(reader: Reader) -> str:
    return str(reader.client.cookies[COOKIE])


def is_logged_in(reader: Reader) -> bool:
    return reader.get("/account").status_code == 200


def test_a_planted_session_is_not_the_one_after_a_log_in(
    app: ServedApp, reader: Reader, new_reader: Callable[[], Reader]
) -> None:
    attacker = new_reader().log_in(new_account(app, "planter"))
    planted = session_of(attacker)
    for text in (planted, "0" * 32 + ".planted", "planted"):
        victim, email = new_reader(), new_account(app, f"victim-{len(text)}")
        page = victim.get("/log-in")
        victim.client.cookies.set(COOKIE, text, domain="127.0.0.1", path="/")
        if text == planted:
            page = victim.get("/challenges/digits/register")  # the log-in page would lead on
            token = csrf_of(page)
        else:
            token = csrf_of(victim.get("/log-in"))
        victim.client.post(
            "/log-in", data={"csrf": token, "email": email, "password": PASSWORD}, headers={"Origin": app.url}
        )
        assert session_of(victim) != text
        assert email in victim.get("/account").text
    assert not is_logged_in(attacker)  # the planted session ended when somebody logged in over it


def test_each_log_in_gives_another_session(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    email = new_account(app, "twice")
    first, second = new_reader().log_in(email), new_reader().log_in(email)
    assert session_of(first) != session_of(second)
    first.send("/", "/log-out")
    assert (is_logged_in(first), is_logged_in(second)) == (False, True)


def test_a_session_that_was_logged_out_stays_ended_if_its_cookie_comes_back(app: ServedApp, reader: Reader) -> None:
    reader.log_in(new_account(app, "back"))
    text = session_of(reader)
    reader.send("/", "/log-out")
    assert COOKIE not in reader.client.cookies
    reader.client.cookies.set(COOKIE, text, domain="127.0.0.1", path="/")
    assert not is_logged_in(reader)


def test_a_disabled_account_is_a_visitor_at_once(app: ServedApp, reader: Reader) -> None:
    email = new_account(app, "soon-disabled")
    reader.log_in(email)
    (user,) = app.admin().get("/users", params={"q": email}).json()["items"]
    app.admin().patch(f"/users/{user['id']}", json={"disabled": True, "reason": "tried"}).raise_for_status()
    assert reader.get("/account").headers["location"] == "/log-in?next=/account"
    answer = reader.send("/log-in", "/log-in", email=email, password=PASSWORD)
    assert answer.status_code == 403
    assert "tried" in answer.text


def test_a_session_expires(app: ServedApp, reader: Reader) -> None:
    reader.log_in(new_account(app, "slow"))
    assert is_logged_in(reader)
    with app.app.state.service.db.write() as session:
        row = session.get_one(UserSession, session_of(reader).partition(".")[0])
        row.expires_at = row.created_at
    assert not is_logged_in(reader)


def test_a_cookie_that_no_session_has_makes_a_visitor(reader: Reader) -> None:
    for text in ('"a\\000b"', "x" * 3000, "0" * 32 + "." + "y" * 101, ".", "\x7f.", "0" * 32 + ".wrong", "' OR 1=1 --"):
        answer = reader.get("/account", headers={"Cookie": f"{COOKIE}={text}"})
        assert answer.status_code == 303, text
        assert reader.get("/", headers={"Cookie": f"{COOKIE}={text}"}).status_code == 200, text


def test_the_api_ignores_cookies_and_pages_ignore_tokens(app: ServedApp, reader: Reader) -> None:
    email = new_account(app, "both")
    reader.log_in(email)
    assert reader.get("/api/v1/me").status_code == 401
    answer = reader.client.post("/api/v1/challenges", json={}, headers={"Origin": app.url})
    assert answer.status_code == 401
    token = app.caller().post("/tokens", json={"email": email, "password": PASSWORD}).json()["token"]
    answer = httpx.get(f"{app.url}/account", headers=HTML | {"Authorization": f"Bearer {token}"}, trust_env=False)
    assert answer.headers["location"] == "/log-in?next=/account"
    both = reader.get("/account", headers={"Authorization": f"Bearer {token}"})
    assert both.headers["cache-control"] == "no-store"


def test_no_page_is_framed_or_cached_or_sniffed(app: ServedApp, reader: Reader) -> None:
    reader.log_in(new_account(app, "framed"))
    pages = [path for path in page_addresses(app, "GET") if not path.endswith(("/embed", "/data", "/changes"))]
    assert {"/", "/account", "/challenges/digits/register"} <= set(pages)
    for path in [*pages, "/no-such-page"]:
        answer = reader.follow(path)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, path
        assert "default-src 'self'" in policy, path
        assert "unsafe" not in policy, path
        assert answer.headers["x-content-type-options"] == "nosniff", path
        assert answer.headers["referrer-policy"] == "same-origin", path
        assert answer.headers["cache-control"] == "no-store", path
        assert "Cookie" in answer.headers["vary"], path


def test_a_page_of_somebody_is_in_no_answer_of_a_cache(app: ServedApp, reader: Reader) -> None:
    reader.log_in(new_account(app, "etag"))
    answer = reader.get("/account/data")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["account"]["name"] == "etag"


def test_no_file_that_a_session_gets_is_kept_by_a_cache(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    bob = new_person(app, new_reader, "bob")
    bob.api.join("digits", "Cached")
    sent = bob.api.submit("digits", {"t1": "zebra"}).json()["id"]
    admin = new_person(app, new_reader, "admin", admin=True)
    desk = "/challenges/digits/organize"
    own, organized = (
        [f"/submissions/{sent}/file"],
        [f"{desk}/phases/main/gold/1/data", f"{desk}/copy/export?phase=main"],
    )
    for who, path in [(bob, own[0]), *((admin, path) for path in [*own, *organized])]:
        answer = who.browser.get(path)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store"), path
        assert not answer.headers["content-type"].startswith("text/html")


@contextmanager
def served(tmp_path: Path, **settings: Any) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path / "data", **settings)) as app:
        yield app


def attributes(cookie: str) -> tuple[str, set[str]]:
    pair, *rest = cookie.split("; ")
    return pair.partition("=")[0], {each for each in rest if not each.startswith("Max-Age")}


def log_in_at(app: ServedApp, host: str, origin: str, email: str) -> httpx.Response:
    """Log in as a browser does that reaches the service at this host, by a proxy that sends it the cookies."""
    with httpx.Client(base_url=app.url, headers=HTML | {"Host": host}, trust_env=False) as client:
        page = client.get("/log-in")
        cookies = "; ".join(each.partition(";")[0] for each in page.headers.get_list("set-cookie"))
        found = re.search(r'name="csrf" value="([^"]+)"', page.text)
        data = {"csrf": found[1] if found else "", "email": email, "password": PASSWORD}
        return client.post("/log-in", data=data, headers={"Origin": origin, "Cookie": cookies})


def test_cookies_of_a_site_with_https(tmp_path: Path) -> None:
    with served(tmp_path, public_url="https://assay.example.org") as app:
        email = new_account(app, "secure")
        answer = log_in_at(app, "internal:8000", "https://assay.example.org", email)
        assert answer.status_code == 303
        (session,) = (each for each in answer.headers.get_list("set-cookie") if "_session=" in each)
        name, given = attributes(session)
        assert name == "__Host-assay_session"
        assert given == {"Secure", "HttpOnly", "SameSite=lax", "Path=/"}
        assert "domain" not in session.lower()
        kept = {"Cookie": session.partition(";")[0], "Host": "internal:8000"} | HTML
        data = {"csrf": csrf_of(httpx.get(f"{app.url}/account", headers=kept, trust_env=False))}
        sent = kept | {"Origin": "https://assay.example.org"}
        left = httpx.post(f"{app.url}/log-out", data=data, headers=sent, trust_env=False).headers.get_list("set-cookie")
        assert {attributes(each)[0] for each in left} >= {"__Host-assay_notice", "__Host-assay_session"}
        assert all(attributes(each)[1] == given for each in left)
        for origin in ("http://assay.example.org", "https://assay.example.org:8443", "https://internal:8000"):
            assert log_in_at(app, "internal:8000", origin, email).status_code == 403


def test_cookies_on_this_machine_have_no_prefix(tmp_path: Path) -> None:
    with served(tmp_path) as app:
        email, port = new_account(app, "local"), app.url.rpartition(":")[2]
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", f"a.localhost:{port}"):
            answer = log_in_at(app, host, f"http://{host}", email)
            assert answer.status_code == 303, host
            (session,) = (each for each in answer.headers.get_list("set-cookie") if "_session=" in each)
            assert attributes(session) == ("assay_session", {"HttpOnly", "SameSite=lax", "Path=/"})


HOSTS = (
    "assay.example.org",
    "10.0.0.5:8000",
    "localhost.example.org",
    "localhost@example.org",
    "127.0.0.1.example.org",
    "example.org#localhost",
    "[::1",
    "",
)


@pytest.mark.parametrize("host", HOSTS)
def test_no_password_is_taken_by_plain_http_elsewhere(app: ServedApp, host: str) -> None:
    answer = httpx.get(f"{app.url}/log-in", headers=HTML | {"Host": host}, trust_env=False)
    if answer.status_code == 400:
        return  # the server takes no such header
    assert "no encryption" in answer.text
    assert 'type="password"' not in answer.text
    email = new_account(app, f"plain-{abs(hash(host))}")
    for path in ("/log-in", "/sign-up", "/password-reset"):
        assert (
            'type="password"' not in httpx.get(f"{app.url}{path}", headers=HTML | {"Host": host}, trust_env=False).text
        )
    refused = log_in_at_elsewhere(app, host, email)
    assert refused.status_code == 403
    assert not [each for each in refused.headers.get_list("set-cookie") if "_session=" in each]


def log_in_at_elsewhere(app: ServedApp, host: str, email: str) -> httpx.Response:
    """Send the log-in form although the page shows none, with a token from another page of the same browser."""
    with httpx.Client(base_url=app.url, headers=HTML | {"Host": host}, trust_env=False) as client:
        page = client.get("/invitation")
        cookies = "; ".join(each.partition(";")[0] for each in page.headers.get_list("set-cookie"))
        data = {"csrf": csrf_of(page), "email": email, "password": PASSWORD}
        return client.post("/log-in", data=data, headers={"Origin": f"http://{host}", "Cookie": cookies})


def test_an_operator_may_accept_the_risk(tmp_path: Path) -> None:
    with served(tmp_path, insecure_login=True) as app:
        answer = log_in_at(app, "10.0.0.5:8000", "http://10.0.0.5:8000", new_account(app, "risk"))
        assert answer.status_code == 303
        assert any(each.startswith("assay_session=") for each in answer.headers.get_list("set-cookie"))


def test_no_address_of_a_page_comes_from_the_host_header(app: ServedApp, reader: Reader) -> None:
    for path in page_addresses(app, "GET"):
        reader.client.cookies.clear()
        answer = reader.get(path, headers={"Host": "evil.example"})
        assert "evil.example" not in answer.headers.get("location", ""), path
        # Commands to copy name the address that the reader used; what a browser or a crawler follows does not.
        assert re.findall(r'(?:href|src|action|content)="[^"]*//evil\.example[^"]*"', answer.text) == [], path


def test_wrong_passwords_are_limited_as_in_the_api(tmp_path: Path) -> None:
    with served(tmp_path, rate_limits="6000/minute", login_limit="3/minute") as app:
        email, reader = new_account(app, "guessed"), Reader(app.url)
        for _ in range(3):
            assert reader.send("/log-in", "/log-in", email=email, password="wrong").status_code == 401
        answer = reader.send("/log-in", "/log-in", email=email, password=PASSWORD)
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
        api = app.caller().post("/tokens", json={"email": email, "password": PASSWORD})
        assert api.status_code == 429  # one count for both
        reader.close()


OPEN_REDIRECTS = (
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    " //evil.example",
    "javascript:alert(1)",
    "https:evil.example",
    "http:/\\evil.example",
    "///evil.example",
    "evil.example",
)


READS_NEXT = ("/log-in", "/sign-up", "/account", "/invitation", "/password-reset")
"""Pages that lead on, or to the log-in page; they are given every target, and each other page one."""


@pytest.mark.parametrize("logged_in", [False, True])
def test_next_leads_to_no_other_site(app: ServedApp, reader: Reader, logged_in: bool) -> None:
    if logged_in:
        reader.log_in(new_account(app, "next"))
    pages = page_addresses(app, "GET")
    assert set(READS_NEXT) <= set(pages)
    for at, path in enumerate(pages):
        for target in OPEN_REDIRECTS if path in READS_NEXT else OPEN_REDIRECTS[at % len(OPEN_REDIRECTS) :][:1]:
            answer = reader.get(path, params={"next": target})
            location = answer.headers.get("location", "/")
            assert location.startswith("/"), (path, target)
            assert not location.startswith(("//", "/\\")), (path, target)
            for link in re.findall(r'(?:href|action)="([^"]*evil[^"]*)"', answer.text):
                assert link.startswith("/"), (path, link)  # quoted in the query of a link of this site
                assert not link.startswith(("//", "/\\")), (path, link)
            assert f'name="next" value="{target}"' not in answer.text


def test_forms_lead_to_no_other_site(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    for place, target in enumerate(OPEN_REDIRECTS):
        reader = new_reader()
        answer = reader.send(
            "/sign-up", "/sign-up", email=f"to{place}@example.org", name="To", password=PASSWORD, next=target
        )
        assert destination(answer) == ("/", "signed-up")


def test_nothing_secret_is_logged(tmp_path: Path) -> None:
    live = Live(tmp_path / "data", log_format="json").start()
    try:
        reader = Reader(live.url)
        reader.send("/sign-up", "/sign-up", email="ada@example.org", name="Ada", password=PASSWORD)
        reader.get("/account")
        secrets = [session_of(reader), session_of(reader).partition(".")[2], PASSWORD, csrf_of(reader.get("/account"))]
        made = reader.send("/account/tokens", "/account/tokens", name="t", password=PASSWORD)
        (token,) = set(re.findall(r"assay_[0-9a-f]{32}\.[\w-]+", made.text))
        code = live.admin().post("/invitations", json={}).json()["code"]
        reader.send("/invitation", "/invitation", code=code)
        reader.send("/password-reset", "/password-reset", secret="0" * 32 + ".reset-secret", password=PASSWORD)
        reader.get("/account")
        reader.close()
    finally:
        live.stop()
    log = live.log()
    assert "/account/tokens" in log
    for secret in (*secrets, token, code, "reset-secret"):
        assert secret not in log
