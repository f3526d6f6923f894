"""The first page: challenges by stage, who leads, and what each reader sees of it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.api.test_database_statements import recorded_statements
from tests.live_service import PASSWORD, Caller, open_challenge
from tests.settle import settle
from tests.web.reader import Reader, heading

GOLD = [{"id": f"t{number}", "label": "cat" if number % 3 else "dog"} for number in range(6)]
RIGHT = {row["id"]: row["label"] for row in GOLD}
FUTURE, PAST = "2090-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


def entry(page: httpx.Response | str, slug: str) -> str:
    """The entry of a challenge; empty if the page has none."""
    text = page if isinstance(page, str) else page.text
    found = [
        each for each in re.findall(r'<li class="item">.*?</li>', text, re.DOTALL) if f'/challenges/{slug}"' in each
    ]
    return found[0] if found else ""


def section(page: httpx.Response, stage: str) -> str:
    """The part of the page for a stage."""
    found = re.search(rf'<section aria-labelledby="stage-{stage}">.*?</section>', page.text, re.DOTALL)
    return found[0] if found else ""


def person(app: ServedApp, name: str) -> Caller:
    body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
    app.admin().post("/users", json=body).raise_for_status()
    token = app.caller().post("/tokens", json={"email": body["email"], "password": PASSWORD}).json()["token"]
    return app.caller(token)


def compete(app: ServedApp, slug: str, team: str, wrong: int = 0) -> Caller:
    """A team with one scored submission."""
    caller = person(app, f"{slug}-{team}".lower()).join(slug, team)
    sent = {name: "dog" if at < wrong else label for at, (name, label) in enumerate(RIGHT.items())}
    answer = caller.submit(slug, sent)
    assert answer.json()["status"] == "finished", answer.text
    return caller


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("home") / "data", challenge_creation="approved")) as app:
        admin = app.admin()
        closing = (datetime.now(UTC) + timedelta(days=2, hours=3)).isoformat()
        open_challenge(
            admin,
            "open",
            GOLD,
            title="Open & <b>bold</b>",
            description="# Pets\n\nWhich *animal* does a [picture](https://example.org) show? Two kinds.",
            phases=[{"name": "main", "closes_at": closing, "opens_at": PAST}],
        )
        for team, wrong in (("Ada", 1), ("Bob", 3)):
            compete(app, "open", team, wrong)
        open_challenge(admin, "coming", GOLD, phases=[{"name": "main", "opens_at": FUTURE}])
        open_challenge(admin, "over", GOLD, phases=[{"name": "main", "opens_at": PAST, "closes_at": FUTURE}])
        compete(app, "over", "Cleo")
        admin.patch("/challenges/over/phases/main", json={"closes_at": "2020-02-01T00:00:00Z"}).raise_for_status()
        open_challenge(admin, "hidden-board", GOLD, phases=[{"name": "main", "leaderboard": "hidden"}])
        compete(app, "hidden-board", "Dan")
        open_challenge(admin, "masked", GOLD, phases=[{"name": "main", "anonymous": True}])
        compete(app, "masked", "Eve")
        open_challenge(admin, "secret", GOLD, visibility="private")
        draft: dict[str, Any] = {"slug": "draft", "title": "draft", "task": "multiclass", "draft": True}
        admin.post("/challenges", json=draft | {"recipe": {"primary": "accuracy"}}).raise_for_status()
        open_challenge(admin, "archived", GOLD)
        admin.post("/challenges/archived/archive", json={"reason": "over"}).raise_for_status()
        settle(app, shown=True)
        yield app


@pytest.fixture
def browser(site: ServedApp) -> Iterator[Reader]:
    reader = Reader(site.url)
    yield reader
    reader.close()


def test_a_visitor_reads_what_is_open_coming_and_past_and_who_leads(browser: Reader) -> None:
    page = browser.get("/")
    assert heading(page) == "Challenges"
    shown = entry(section(page, "open"), "open")
    assert "Which animal does a picture show?" in shown
    assert "Two kinds" not in shown
    assert "Open &amp; &lt;b&gt;bold&lt;/b&gt;" in shown
    assert "in 2 days" in shown
    assert re.search(r"<dt>Leader</dt>\s*<dd><a [^>]*>Ada</a>", shown)
    assert re.search(r"<dt>Teams</dt>\s*<dd>2</dd>", shown)
    assert "1 Jan 2090, 00:00 UTC" in entry(section(page, "coming"), "coming")
    past = entry(section(page, "past"), "over")
    assert re.search(r"<dt>First</dt>\s*<dd><a [^>]*>Cleo</a>", past)
    assert entry(page, "archived") == ""
    assert entry(browser.get("/?show=archived"), "archived")


def test_a_visitor_sees_no_draft_no_private_challenge_and_no_leader_of_a_hidden_board(browser: Reader) -> None:
    page = browser.get("/")
    assert not entry(page, "draft")
    assert not entry(page, "secret")
    assert "Dan" not in entry(page, "hidden-board")
    masked = entry(page, "masked")
    assert "Eve" not in masked
    assert "Anonymous " in masked


def test_an_organizer_sees_drafts_marked_and_the_leader_of_a_hidden_board(site: ServedApp, browser: Reader) -> None:
    person(site, "olga")
    for slug in ("draft", "secret", "hidden-board"):
        body = {"email": "olga@example.org", "role": "editor"}
        site.admin().post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    page = browser.log_in("olga@example.org").get("/")
    assert '<span class="tag">draft</span>' in entry(page, "draft")
    assert '<span class="tag">private</span>' in entry(page, "secret")
    assert "Dan" in entry(page, "hidden-board")
    assert "you organize it" in entry(page, "draft")


def test_a_team_sees_its_own_name_on_an_anonymous_board(browser: Reader) -> None:
    page = browser.log_in("masked-eve@example.org").get("/")
    assert "Eve" in entry(page, "masked")
    assert "you take part" in entry(page, "masked")


def test_a_second_reading_of_the_page_takes_as_many_statements_however_many_challenges_it_lists(
    site: ServedApp, browser: Reader
) -> None:
    def statements(path: str) -> int:
        browser.get(path)
        with recorded_statements(of="AnyIO") as recorded:
            assert browser.get(path).status_code == 200
        return len(recorded)

    assert len(re.findall("<h3>", browser.get("/?show=open").text)) == 3
    assert statements("/?show=open") == statements("/?show=past")


def test_a_stage_with_many_challenges_has_pages(tmp_path: Any) -> None:
    with serve_app(app_settings(tmp_path / "data")) as app:
        admin, reader = app.admin(), Reader(app.url)
        body = {"title": "x", "task": "multiclass", "recipe": {"primary": "accuracy"}}
        for number in range(23):
            admin.post("/challenges", json=body | {"slug": f"c{number}"}).raise_for_status()
        first = reader.get("/")
        (target,) = re.findall(r'rel="next" href="([^"]+)"', first.text)
        second = reader.get(target.replace("&amp;", "&"))
        slugs = [re.findall(r'<h3><a href="/challenges/(c\d+)"', page.text) for page in (first, second)]
        assert [len(each) for each in slugs] == [20, 3]
        assert len({slug for each in slugs for slug in each}) == 23
        assert heading(second) == "Open challenges"
        reader.close()


def test_an_empty_service_invites_those_who_may_create_a_challenge(tmp_path: Any) -> None:
    with serve_app(app_settings(tmp_path / "data", challenge_creation="approved")) as app:
        reader = Reader(app.url)
        page = reader.get("/")
        assert "There is no challenge here yet" in page.text
        assert 'href="/new-challenge"' not in page.text
        for name, approved in (("olga", True), ("sam", False)):
            email = f"{name}@example.org"
            body = {"email": email, "name": name, "password": PASSWORD, "approved": approved}
            app.admin().post("/users", json=body).raise_for_status()
            other = Reader(app.url).log_in(email)
            assert ('href="/new-challenge"' in other.get("/").text) is approved
            other.close()
        reader.close()


def test_an_unknown_stage_is_an_error_in_words(browser: Reader) -> None:
    page = browser.get("/?show=never")
    assert page.status_code in {400, 422}
    assert heading(page) == "This address is not right"
