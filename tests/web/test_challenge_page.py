"""The page of a challenge: what it says, its files, and lines that submit as they stand."""

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import PASSWORD, ROOT, Caller, open_challenge
from tests.web.reader import Reader, heading

GOLD = [{"id": f"t{number}", "label": "cat" if number % 3 else "dog"} for number in range(6)]
DESCRIPTION = """# About

Which *animal*? <script>alert(1)</script>

| a | b |
|---|---|
| 1 | 2 |
"""
PHASES = [
    {"name": "main", "quota": {"per_day": 3, "total": 1}, "opens_at": "2020-01-01T00:00:00Z"},
    {
        "name": "final",
        "opens_at": "2089-07-01T00:00:00Z",
        "closes_at": "2090-07-01T00:00:00Z",
        "late": "unofficial",
        "leaderboard": "after_close",
        "recipe": {
            "primary": "log_loss",
            "metrics": ["log_loss", "accuracy"],
            "decision": {"rule": "argmax"},
            "disclosure": {"digits": 3},
        },
    },
]
RECIPE = {"primary": "f1_macro:zero_division=1", "metrics": ["accuracy"], "tie_breakers": ["accuracy"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("challenge") / "data", challenge_creation="any")) as app:
        admin = app.admin()
        open_challenge(
            admin,
            "pets",
            GOLD,
            title="Cats & dogs",
            description=DESCRIPTION,
            classes=["cat", "dog"],
            terms="Be *fair*.",
            contact="ada@example.org",
            timezone="Europe/Vienna",
            recipe=RECIPE,
            phases=PHASES,
        )
        for title in ("First", "Second", "Third", "Fourth", "Fifth", "Sixth"):
            admin.post("/challenges/pets/announcements", json={"title": title, "body": "**news**"}).raise_for_status()
        for name, audience in (("train.csv", "public"), ("extra data.csv", "teams")):
            query = {"name": name, "licence": "CC0-1.0", "audience": audience}
            admin.post("/challenges/pets/files", params=query, content=b"id,label\nx,cat\n").raise_for_status()
        yield app


@pytest.fixture
def browser(site: ServedApp) -> Iterator[Reader]:
    reader = Reader(site.url)
    yield reader
    reader.close()


def person(app: ServedApp, name: str) -> Caller:
    body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
    app.admin().post("/users", json=body)
    token = app.caller().post("/tokens", json={"email": body["email"], "password": PASSWORD}).json()["token"]
    caller = app.caller(token)
    caller.email = body["email"]
    return caller


def part(page: httpx.Response, name: str) -> str:
    """A section of the page, by the id of its heading."""
    begin = page.text.index(f'aria-labelledby="{name}"')
    return page.text[begin : page.text.index("<h2", page.text.index("<h2", begin) + 3)]


def blocks(page: httpx.Response) -> dict[str, str]:
    """The blocks of code by their captions."""
    found = re.findall(r"<figcaption>(.*?)</figcaption>.*?<code>(.*?)</code>", page.text, re.DOTALL)
    return {label: html.unescape(code) for label, code in found}


def test_the_page_says_what_the_challenge_is_about(browser: Reader) -> None:
    page = browser.get("/challenges/pets")
    assert heading(page) == "Cats &amp; dogs"
    assert "<h2>About</h2>" in page.text
    assert "<script>alert" not in page.text
    assert "Be <em>fair</em>." in page.text
    assert "Version 1." in page.text
    assert "mailto:ada@example.org" in page.text
    assert re.search(r'<div class="scroll" tabindex="0"[^>]*><table>', page.text)
    levels = [int(level) for level in re.findall(r"<h([1-6])", page.text)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_timeline_has_every_phase_with_its_rules_in_words(browser: Reader) -> None:
    table = part(browser.get("/challenges/pets"), "timeline")
    assert "3 submissions a day." in table
    assert "1 submission in all." in table
    assert "1 Jul 2089, 00:00 UTC" in table
    assert "1 Jul 2089, 02:00" in table
    assert "Europe/Vienna" in table
    assert "Late files are scored as unofficial entries" in table
    assert "It is shown after the close" in table
    assert "not open yet" in table


def test_the_agreed_metrics_stand_there_as_equations_with_their_conventions(browser: Reader) -> None:
    measured = part(browser.get("/challenges/pets"), "measured")
    assert measured.count("<math") == 3  # accuracy once, though both recipes have it
    assert "Teams are ranked by <b>macro F1</b>. If it is equal, accuracy decides." in measured
    assert "<code>zero_division=1</code>: 1." in measured
    assert 'href="/catalogue/f1_macro%3Azero_division%3D1"' in measured
    assert "the label with the highest score" in measured
    assert "values with 3 significant digits" in measured
    assert "The best submission of each team" in measured


def test_announcements_are_newest_first_with_pages_and_a_feed(browser: Reader) -> None:
    page = browser.get("/challenges/pets")
    titles = re.findall(r'<article class="item">\s*<h3>(\w+)</h3>', page.text)
    assert titles == ["Sixth", "Fifth", "Fourth", "Third", "Second"]
    assert "<strong>news</strong>" in page.text
    (older,) = re.findall(r'href="([^"]*[?]news=[^"]*)"', page.text)
    assert ">First</h3>" in browser.get(html.unescape(older)).text
    feed = re.findall(r'href="([^"]*announcements.atom)"', page.text)[0]
    assert "Sixth" in browser.get(feed).text


def test_files_download_by_the_session_with_the_rule_of_the_api(site: ServedApp, browser: Reader) -> None:
    page = browser.get("/challenges/pets")
    links = re.findall(r'href="(/challenges/pets/files/[^"]+)"', page.text)
    assert links == ["/challenges/pets/files/extra%20data.csv", "/challenges/pets/files/train.csv"]
    public = browser.get(links[1])
    assert (public.status_code, public.text) == (200, "id,label\nx,cat\n")
    assert "attachment" in public.headers["content-disposition"]
    assert browser.get(links[0]).headers["location"].startswith("/log-in?next=")
    stranger = person(site, "stranger")
    browser.log_in(stranger.email)
    assert browser.get(links[0]).status_code == 403
    accepted = {"team": "Blue", "terms": 1}
    stranger.post("/challenges/pets/registrations", json=accepted).raise_for_status()
    own = browser.get(links[0])
    assert (own.status_code, own.headers["cache-control"]) == (200, "no-store")


def test_the_example_has_invented_ids_until_the_template_was_read(site: ServedApp, browser: Reader) -> None:
    open_challenge(site.admin(), "ids", GOLD, classes=["cat", "dog"])
    before = browser.get("/challenges/ids")
    assert "The ids of this example are invented." in before.text
    template = browser.get("/challenges/ids/phases/main/template?format=csv")
    assert template.text.splitlines()[1] == "t0,"
    page = browser.get("/challenges/ids")
    assert "These are the first ids of the phase" in page.text
    assert blocks(page)["predictions.csv"].splitlines() == ["id,label", "t0,cat", "t1,dog", "t2,cat"]


@pytest.mark.parametrize(
    ("task", "extra", "labels"),
    [
        ("multiclass", {}, ["cat", "dog", "cat"]),
        ("multiclass", {"recipe": {"primary": "log_loss"}}, ["cat", "dog", "cat"]),
        ("binary", {"positive_label": "cat"}, ["cat", "dog", "cat"]),
        ("binary", {"positive_label": "cat", "recipe": {"primary": "auc"}}, ["cat", "dog", "cat"]),
        ("multilabel", {}, [["cat"], ["dog"], []]),
    ],
)
def test_the_example_is_a_file_that_the_phase_accepts(
    site: ServedApp, browser: Reader, task: str, extra: dict[str, object], labels: list[object]
) -> None:
    slug = f"{task}-{'scores' if 'recipe' in extra else 'labels'}"
    field = "labels" if task == "multilabel" else "label"
    gold = [{"id": f"t{at}", field: label} for at, label in enumerate(labels, start=1)]
    open_challenge(
        site.admin(),
        slug,
        gold,
        task=task,
        classes=["cat", "dog"],
        **{"recipe": {"primary": "accuracy"} if task != "multilabel" else {"primary": "f1_micro"}} | extra,
    )
    shown = blocks(browser.get(f"/challenges/{slug}"))
    for name, media in (("predictions.csv", "text/csv"), ("predictions.jsonl", "application/x-ndjson")):
        answer = site.admin().post(
            f"/challenges/{slug}/phases/main/submissions",
            params={"dry_run": "true", "test": "true"},
            content=shown[name].encode(),
            headers={"Content-Type": media},
        )
        assert answer.json()["valid"] is True, (shown[name], answer.text)


@pytest.mark.ci  # starts a program for each line
def test_the_lines_of_the_page_submit_as_they_stand(site: ServedApp, browser: Reader, tmp_path: Path) -> None:
    open_challenge(site.admin(), "lines", GOLD, title="Lines", classes=["cat", "dog"])
    caller = person(site, "typist").join("lines", "Typists")
    shown = blocks(browser.get("/challenges/lines"))
    (tmp_path / "predictions.csv").write_text("id,label\n" + "".join(f"{row['id']},cat\n" for row in GOLD))
    token = caller.headers["Authorization"].removeprefix("Bearer ")
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": programs, "HOME": str(tmp_path), "ASSAY_TOKEN": token, "PYTHONPATH": str(ROOT), "no_proxy": "*"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    answers = [json.loads(line) for line in run("sh", "-c", shown["curl"]).splitlines()]
    assert answers[0]["valid"] is True
    assert answers[-1]["status"] == "finished"
    assert run(sys.executable, "-c", shown["Python"]).startswith("finished {")
    lines = [line for line in shown["The command line"].splitlines() if line.startswith("assay ")]
    assert lines[0] == f"assay login --url {site.url}"
    env["ASSAY_URL"] = site.url
    for line in lines[2:]:  # the template would empty the file
        run("sh", "-c", line)
    run("sh", "-c", lines[1].replace("predictions.csv", "empty.csv"))
    assert (tmp_path / "empty.csv").read_text().startswith("id,label\nt0,")
    rows = caller.get("/challenges/lines/phases/main/submissions").json()["items"]
    assert [row["method"] for row in rows] == ["My system"] * 3


def test_a_challenge_that_is_over_does_not_say_how_to_submit(site: ServedApp, browser: Reader) -> None:
    over = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}
    open_challenge(site.admin(), "over", GOLD, phases=[over])
    page = browser.get("/challenges/over").text
    assert "How to submit" not in page
    assert "closed" in page
    late = over | {"late": "unofficial"}
    open_challenge(site.admin(), "late", GOLD, phases=[late])
    assert "How to submit" in browser.get("/challenges/late").text


def test_before_the_phase_opens_no_template_is_offered(site: ServedApp, browser: Reader) -> None:
    open_challenge(site.admin(), "soon", GOLD, phases=[{"name": "main", "opens_at": "2090-01-01T00:00:00Z"}])
    assert "/template?" not in browser.get("/challenges/soon").text
    answer = browser.get("/challenges/soon/phases/main/template?format=csv")
    assert answer.status_code == 409
    assert "opens_at" not in answer.text


def test_organizers_read_what_is_not_ready_each_with_the_page_that_mends_it(site: ServedApp, browser: Reader) -> None:
    assert 'id="todo"' not in browser.get("/challenges/pets").text
    olga = person(site, "olga")
    body = {"email": olga.email, "role": "viewer"}
    site.admin().post("/challenges/pets/organizers", json=body).raise_for_status()
    page = browser.log_in(olga.email).get("/challenges/pets")
    todo = part(page, "todo")
    assert "To consider" in todo
    assert 'href="/challenges/pets/organize/recipe"' in todo
    assert "log_loss" in todo


def test_only_public_challenges_of_a_public_address_have_metadata_for_previews(site: ServedApp, tmp_path: Path) -> None:
    assert "og:" not in httpx.get(f"{site.url}/challenges/pets", trust_env=False).text
    with serve_app(app_settings(tmp_path / "data", public_url="https://assay.example.org/")) as app:
        admin = app.admin()
        open_challenge(admin, "shown", GOLD, title="A & B", description="It is **here**. And more.")
        page = httpx.get(f"{app.url}/challenges/shown", trust_env=False).text
        assert '<link rel="canonical" href="https://assay.example.org/challenges/shown">' in page
        assert '<meta property="og:title" content="A &amp; B">' in page
        assert '<meta property="og:description" content="It is here.">' in page
