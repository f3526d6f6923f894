"""The page of a leaderboard, read as a browser without scripts does."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from app.api.caching.board_cache import BoardKey, BoardPageKey
from tests.api.conftest import GOLD
from tests.api.in_process_app import ServedApp
from tests.journeys.support import create_challenge, make_recipe
from tests.live_service import PASSWORD, Caller
from tests.settle import settle
from tests.web.people import new_account
from tests.web.reader import Reader, heading

IDS = [row["id"] for row in GOLD]
PATH = "/challenges/{}/leaderboard"


def sent_labels(hits: int) -> dict[str, str]:
    """Predictions of which this many are right."""
    return {row["id"]: row["label"] if place < hits else "wrong" for place, row in enumerate(GOLD)}


def submit(admin: Caller, slug: str, team: str, hits: int, **fields: Any) -> str:
    answer = admin.submit(slug, sent_labels(hits), team=team, **fields)
    assert answer.json()["status"] == "finished", answer.text
    key: str = answer.json()["id"]
    return key


def new_challenge(admin: Caller, stem: str, **fields: Any) -> str:
    labels = sorted({row["label"] for row in GOLD} | {"wrong"})
    return create_challenge(
        admin, stem, GOLD, **{"classes": labels, "recipe": make_recipe("accuracy", "f1_macro")} | fields
    )


@pytest.fixture(scope="module")
def slug(app: ServedApp) -> str:
    """A challenge with a board of every kind of row."""
    admin = app.admin()
    slug = new_challenge(admin, "rows", phases=[{"name": "main", "reports": ["scores"]}])
    submit(admin, slug, "Blue <b>", 3, method="method of & blue")
    submit(admin, slug, "Green", 3)
    submit(admin, slug, "Red", 2, method="red method")
    submit(admin, slug, "Majority", 1, baseline=True)
    banned = submit(admin, slug, "Banned", 4)
    assert admin.post(f"/submissions/{banned}/disqualify", json={"reason": "r"}).status_code == 200
    settle(app, shown=True)
    return slug


def table_rows(answer: httpx.Response | str) -> list[list[str]]:
    """The texts of the cells of each row of the table."""
    text = answer if isinstance(answer, str) else answer.text
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    cells = (re.findall(r"<t[dh][ >].*?</t[dh]>", row, re.DOTALL) for row in body.split("</tr>") if "<tr" in row)
    return [[" ".join(unescape(re.sub(r"<[^>]+>", " ", cell)).split()) for cell in row] for row in cells]


def teams(answer: httpx.Response | str) -> list[str]:
    return [row[1] for row in table_rows(answer)]


def test_the_table_shows_ranks_ties_marks_methods_and_values(reader: Reader, slug: str) -> None:
    answer = reader.get(PATH.format(slug))
    assert answer.status_code == 200
    rows = {row[1].split(" sent by")[0]: row for row in table_rows(answer)}
    assert rows["Blue <b>"][0] == rows["Green"][0] == "1 = shared"
    assert rows["Red"][0] == "3"
    assert rows["Majority baseline"][0] == "\N{EN DASH}"
    assert rows["Banned disqualified"][0] == "\N{EN DASH}"
    assert rows["Blue <b>"][1].endswith("method of & blue")
    decimals = {len(row[2].partition(".")[2]) for row in table_rows(answer)}
    assert len(decimals) == 1
    assert "Blue &lt;b&gt;" in answer.text
    for words in ("Teams with equal values share a rank", "gold <b>1</b>", "recipe <b>1</b>", "as of <b>", "<math"):
        assert words in answer.text


def test_the_table_is_that_of_the_api(app: ServedApp, reader: Reader, slug: str) -> None:
    board = app.caller().board(slug).json()
    shown = table_rows(reader.get(PATH.format(slug)))
    assert len(shown) == board["total"]
    for row, cells in zip(board["rows"], shown, strict=True):
        assert cells[1].startswith(row["team"]["name"])
        assert float(cells[2].split()[0]) == pytest.approx(row["scores"]["accuracy"]["value"], rel=1e-5)
        assert cells[4] == str(row["entries"])


def test_headers_say_how_the_table_is_sorted_and_sort_it(reader: Reader, slug: str) -> None:
    first = reader.get(PATH.format(slug))
    assert re.findall(r'aria-sort="(\w+)"', first.text) == ["ascending"]
    by_team = reader.get(PATH.format(slug), params={"sort": "team"})
    names = teams(by_team)
    assert names == sorted(names, key=str.casefold)
    assert re.findall(r'aria-sort="(\w+)"', by_team.text) == ["ascending"]
    backwards = next(link for link in links(by_team) if "order=descending" in link and "sort=team" in link)
    assert teams(reader.get(backwards)) == names[::-1]
    by_value = reader.get(PATH.format(slug), params={"sort": "f1_macro"})
    values = [float(row[3].split()[0]) for row in table_rows(by_value)]
    assert values == sorted(values, reverse=True)
    assert teams(reader.get(PATH.format(slug), params={"order": "descending"})) == teams(first)[::-1]


def links(answer: httpx.Response) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]+)"', answer.text)]


def test_a_search_finds_teams_and_methods(reader: Reader, slug: str) -> None:
    answer = reader.get(PATH.format(slug), params={"q": "  RED  method "})
    assert [name.split()[0] for name in teams(answer)] == ["Red"]
    assert table_rows(answer)[0][0].split()[-1] == "3"  # its rank on the whole board
    assert "1 row has these words." in answer.text
    nothing = reader.get(PATH.format(slug), params={"q": '"><script>'})
    assert teams(nothing) == []
    assert "<script>" not in nothing.text.partition("<main")[2]
    assert PATH.format(slug) in links(nothing)


def test_a_board_that_is_too_long_is_not_even_built_to_be_sorted(
    app: ServedApp, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = new_challenge(app.admin(), "too-long")
    for number in range(3):
        submit(app.admin(), slug, f"Team {number}", number)
    settle(app, shown=True)
    monkeypatch.setattr("app.web.board_table.MAX_SORTED_ROWS", 2)
    for query in ("q=team", "sort=team", "order=descending"):
        answer = reader.get(f"{PATH.format(slug)}?{query}")
        assert answer.status_code == 400
        assert "more than 2 rows" in answer.text
    boards = app.app.state.service.board_cache._entries
    assert {key.limit for key in boards if getattr(key, "slug", "") == slug} == {200}


def test_no_page_is_built_that_no_link_leads_to(app: ServedApp, reader: Reader, slug: str) -> None:
    owner = reader.log_in(new_account(app, "cursors"))
    for form in ("", "/embed"):
        for query in ("cursor=1", "cursor=199", "cursor=200", "cursor=2000000", "cursor=2&sort=team"):
            for headers in ({}, {"Cookie": ""}):
                answer = owner.get(f"{PATH.format(slug)}{form}?{query}", headers=headers)
                assert answer.status_code == 400, (form, query)
                assert "Begin with the first page of the list." in answer.text
    cursors = {key.cursor for key in map(board_of, app.app.state.service.board_cache._entries) if key.slug == slug}
    assert cursors == {None}


def board_of(key: BoardKey | BoardPageKey) -> BoardKey:
    return key.board if isinstance(key, BoardPageKey) else key


def test_ranked_by_another_metric(reader: Reader, slug: str) -> None:
    answer = reader.get(PATH.format(slug), params={"metric": "f1_macro"})
    assert "Ranked by macro F1" in answer.text
    assert any("format=csv&metric=f1_macro" in link for link in links(answer))


def test_what_cannot_be_shown_is_refused_in_words(reader: Reader, slug: str) -> None:
    refused = {"sort=nope": 400, "metric=nope": 400, "cursor=x": 400, "cursor=0&sort=team": 400}
    for query, status in (refused | {"phase=nope": 404, "split=private": 403}).items():
        answer = reader.get(f"{PATH.format(slug)}?{query}")
        assert answer.status_code == status, query
        assert heading(answer)


def test_the_other_forms_are_linked(app: ServedApp, reader: Reader, slug: str) -> None:
    for form, begin in (("json", '{"challenge"'), ("csv", "rank,team"), ("latex", "% Leaderboard")):
        link = next(each for each in links(reader.get(PATH.format(slug))) if f"format={form}" in each)
        assert reader.get(link).text.startswith(begin)
    person = reader.log_in(new_account(app, "reads-data"))
    link = next(each for each in links(person.get(PATH.format(slug))) if "format=csv" in each)
    answer = person.get(link)
    assert answer.text == app.caller().board(slug, format="csv").text
    assert answer.headers["cache-control"] == "no-store"


def test_an_own_team_is_marked_and_leads_to_its_submission(
    app: ServedApp, new_reader: Callable[[], Reader], slug: str
) -> None:
    admin = app.admin()
    own = new_challenge(admin, "own")
    email = new_account(app, "member")
    token = app.caller().post("/tokens", json={"email": email, "password": PASSWORD})
    member = app.caller(token.json()["token"])
    assert member.post(f"/challenges/{own}/registrations", json={"team": "Mine"}).status_code == 201
    key = member.submit(own, sent_labels(2)).json()["id"]
    other = submit(admin, own, "Theirs", 3)
    page = new_reader().log_in(email).get(PATH.format(own))
    assert any(name.startswith("Mine your team") for name in teams(page))
    assert f"/submissions/{key}" in links(page)
    assert f"/submissions/{other}" not in links(page)
    assert page.headers["cache-control"] == "no-store"
    visitor = new_reader().get(PATH.format(own))
    assert not [link for link in links(visitor) if link.startswith("/submissions/")]
    assert "your team" not in visitor.text


HIDDEN = [
    ({"leaderboard": "hidden"}, "do not show a leaderboard"),
    ({"leaderboard": "after_close"}, "No time for that is set yet"),
    ({"leaderboard": "after_close", "closes_at": "2999-01-01T00:00:00Z"}, "The phase closes on"),
]


@pytest.mark.parametrize(("rules", "words"), HIDDEN)
def test_a_hidden_board_says_why_and_shows_no_row(
    app: ServedApp, reader: Reader, rules: dict[str, Any], words: str
) -> None:
    slug = new_challenge(app.admin(), "unseen", phases=[{"name": "main", **rules}])
    submit(app.admin(), slug, "Secret team", 3)
    for path in (PATH.format(slug), PATH.format(slug) + "/embed"):
        answer = reader.get(path)
        assert answer.status_code == 200
        assert "Secret team" not in answer.text
        assert "<table" not in answer.text
    page = reader.get(PATH.format(slug))
    assert words in page.text
    assert "canonical" not in page.text
    assert "iframe" not in page.text


def test_organizers_see_a_hidden_board_and_every_submission(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    email = new_account(app, "organizer")
    token = app.caller().post("/tokens", json={"email": email, "password": PASSWORD}).json()["token"]
    gold = [row | {"split": "public" if place % 2 else "private"} for place, row in enumerate(GOLD)]
    rules = {"phases": [{"name": "main", "leaderboard": "hidden"}], "recipe": make_recipe("accuracy", "f1_macro")}
    slug = create_challenge(app.caller(token), "organized", gold, classes=["cat", "dog", "wrong"], **rules)
    key = submit(app.caller(token), slug, "Blue", 3)
    browser = new_reader().log_in(email)
    page = browser.get(PATH.format(slug))
    assert "Only organizers see this leaderboard now." in page.text
    assert f"/submissions/{key}" in links(page)
    assert not {"canonical", "iframe"} & set(re.findall(r"canonical|iframe", page.text))
    private = browser.get(next(link for link in links(page) if link.endswith("split=private")))
    assert "private split, which decides" in private.text
    assert table_rows(private)[0][2] != table_rows(page)[0][2]


@pytest.mark.parametrize("form", ["", "/embed"])
def test_what_one_visitor_adds_to_the_address_is_on_no_page_of_others(
    app: ServedApp, new_reader: Callable[[], Reader], form: str
) -> None:
    slug = new_challenge(app.admin(), "kept")
    path = PATH.format(slug) + form
    told = {"Cookie": f"assay_notice=account-deleted:{quote(path, safe='')}"}
    first = new_reader().get(path, params={"phase": "main", "added": "by-somebody"}, headers=told)
    assert first.status_code == 200
    second = new_reader().get(path, params={"phase": "main"})
    assert second.headers["etag"] == first.headers["etag"]
    assert "by-somebody" not in second.text
    assert "Your account is deleted" not in second.text


def test_a_stale_cookie_makes_a_visitor(reader: Reader, slug: str) -> None:
    visitor = reader.get(PATH.format(slug))
    answer = reader.get(PATH.format(slug), headers={"Cookie": "assay_session=x"})
    assert (answer.status_code, answer.text) == (200, visitor.text)


def test_a_board_without_gold_and_one_without_rows_say_so(app: ServedApp, reader: Reader) -> None:
    admin = app.admin()
    bare = admin.post(
        "/challenges",
        json={
            "slug": "bare",
            "title": "Bare",
            "task": "binary",
            "positive_label": "a",
            "recipe": make_recipe("accuracy"),
        },
    )
    assert bare.status_code == 201, bare.text
    assert "no active gold labels" in reader.get(PATH.format("bare")).text
    assert "No team has a scored submission" in reader.get(PATH.format(new_challenge(admin, "empty"))).text


def test_phases_are_tabs_and_the_open_one_comes_first(app: ServedApp, reader: Reader) -> None:
    past = {"opens_at": "2001-01-01T00:00:00Z", "closes_at": "2002-01-01T00:00:00Z"}
    phases = [{"name": "Early", **past}, {"name": "Now"}, {"name": "Later", "opens_at": "2999-01-01T00:00:00Z"}]
    slug = new_challenge(app.admin(), "phases", phases=phases)
    page = reader.get(PATH.format(slug))
    assert re.findall(r'<a href="[^"]*phase=(\w+)" aria-current="page"', page.text) == ["now"]
    early = reader.get(PATH.format(slug), params={"phase": "early"})
    assert "Leaderboard: Early" in early.text
    assert "closed <b>" in early.text
    assert "opens <b>" in reader.get(PATH.format(slug), params={"phase": "later"}).text


def without_nonces(answer: httpx.Response) -> tuple[int, str]:
    text = answer.text.replace(answer.headers["x-request-id"], "")
    return answer.status_code, re.sub(r'name="csrf" value="[^"]+"', "", text)


def test_a_private_challenge_looks_as_an_absent_one(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    slug = new_challenge(app.admin(), "private", visibility="private")
    absent = "x" * len(slug)
    for browser in (new_reader(), new_reader().log_in(new_account(app, "stranger"))):
        for below in ("", "/embed", "/changes?phase=main", "/data?phase=main"):
            status, hidden = without_nonces(browser.get(PATH.format(slug) + below))
            assert status == 404, below
            assert (status, hidden.replace(slug, absent)) == without_nonces(browser.get(PATH.format(absent) + below))


def test_the_embedded_board_ignores_cookies_and_may_be_framed(
    app: ServedApp, new_reader: Callable[[], Reader], slug: str
) -> None:
    visitor, person = new_reader(), new_reader().log_in(new_account(app, "framed"))
    framed = person.get(PATH.format(slug) + "/embed")
    assert framed.text == visitor.get(PATH.format(slug) + "/embed").text
    assert "framed" not in framed.text
    assert "<script" not in framed.text
    assert "set-cookie" not in framed.headers
    assert framed.headers["content-security-policy"].endswith("frame-ancestors *")
    page = visitor.get(PATH.format(slug))
    assert page.headers["content-security-policy"].endswith("frame-ancestors 'none'")
    assert f"{app.url}{PATH.format(slug)}/embed?phase=main" in unescape(unescape(page.text))
    hidden = new_challenge(app.admin(), "framed-private", visibility="private")
    path = PATH.format(hidden) + "/embed"
    assert without_nonces(person.get(path)) == without_nonces(visitor.get(path))


def test_a_long_board_has_pages(app: ServedApp, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("app.web.board_page", "app.web.board_table"):
        monkeypatch.setattr(f"{module}.PAGE_ROWS", 2)
    slug = new_challenge(app.admin(), "long")
    for number in range(5):
        submit(app.admin(), slug, f"Team {number}", number)
    for query in ({}, {"sort": "team"}):
        page, shown = reader.get(PATH.format(slug), params=query), []
        while True:
            shown += teams(page)
            following = re.search(r'rel="next"[^>]* href="([^"]+)"', page.text)
            if following is None:
                break
            page = reader.get(unescape(following.group(1)))
        assert sorted(name.split(" sent")[0] for name in shown) == [f"Team {number}" for number in range(5)]
        assert "Rows 5 to 5 of 5" in page.text
        back = re.search(r'rel="prev"[^>]* href="([^"]+)"', page.text)
        assert back is not None
        assert "Rows 3 to 4 of 5" in reader.get(unescape(back.group(1))).text
