"""No page shows a role what the API does not: neither a page that it would refuse, nor a text that no reply has."""

import re
from collections.abc import Iterator
from functools import cache
from http.client import HTTPConnection

import httpx
import pytest

from tests.browser.page_table import page_routes
from tests.journeys.access_matrix import ACCESS_RULES, VISIBLE, AccessRule, read_table
from tests.journeys.access_stage import ABSENT, Stage
from tests.journeys.support import People
from tests.live_service import MAX_WAIT_SECONDS, Caller, Live
from tests.web.marked_stage import PAGE_ROLES, marked_stage, marks
from tests.web.page_needs import PAGE_NEEDS
from tests.web.reader import HTML, Reader

STATES = (
    "open",
    "released",
    "draft",
    *(
        pytest.param(state, marks=pytest.mark.ci)
        for state in ("private", "before", "closed", "late", "paused", "archived", "anonymous")
    ),
)
DIFFERENT_ROLES = ("vis", "for", "riv", "cap", "vie", "own")
"""The roles that differ most; the others are asked in the states that differ most."""
QUERIES = {
    "/submissions/{submission_id}/scores/{key}": ("", "split=private"),
    "/challenges/{slug}/leaderboard": ("", "split=private", "split=all", "phase=main&metric=accuracy"),
    "/challenges/{slug}/leaderboard/data": ("phase=main", "phase=main&split=private", "phase=main&split=all"),
    "/challenges/{slug}/leaderboard/changes": ("phase=main",),
    "/challenges/{slug}/leaderboard/order/data": (
        "phase=main",
        "phase=main&split=private",
        "phase=main&part=rankings",
        "phase=main&part=rankings&split=private",
    ),
}
"""Queries of a page, which may ask for more than it shows otherwise."""
LIST = "/"
"""The page that lists challenges, in all states of the stage; only the entry of one is compared with the API."""
FORM_TOKEN = re.compile(r'(name="csrf" value=")[^"]*')
BOARDS = [{}, {"split": "private"}, {"split": "all"}]


class Browser:
    """Reads pages as an account that has logged in, or as a visitor, by a plain connection: httpx costs more."""

    def __init__(self, live: Live, account: Caller | None) -> None:
        self._connection = HTTPConnection("127.0.0.1", live.port, timeout=MAX_WAIT_SECONDS)
        reader = Reader(live.url)
        if account is None:
            reader.get("/log-in")
        else:
            reader.log_in(account.email)
        cookies = "; ".join(f"{each.name}={each.value}" for each in reader.client.cookies.jar)
        self._headers = HTML | ({"Cookie": cookies} if cookies else {})
        reader.close()

    def get(self, path: str, headers: dict[str, str]) -> httpx.Response:
        """The answer; without the body of a stream of events."""
        try:
            return self._get(path, headers)
        except ConnectionError:  # the service closed a connection that was idle
            return self._get(path, headers)

    def _get(self, path: str, headers: dict[str, str]) -> httpx.Response:
        self._connection.request("GET", path, headers=self._headers | headers)
        answer = self._connection.getresponse()
        if answer.getheader("content-type", "").startswith("text/event-stream"):
            self._connection.close()
            return httpx.Response(answer.status, headers=answer.getheaders())
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Crowd:
    """Everybody at a browser, and everybody at the API, before the same challenges."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._browsers: dict[str, Browser] = {}
        self._shown: dict[tuple[str, str], set[str]] = {}
        self._statuses: dict[tuple[str, str, tuple[str, ...]], int] = {}

    def look(self, role: str, path: str, **headers: str) -> httpx.Response:
        """What a role gets at a path; of a stream of events, which does not end, only how it begins."""
        if role not in self._browsers:
            self._browsers[role] = Browser(self.stage.people.live, self.stage.callers[role] if role != "vis" else None)
        return self._browsers[role].get(path, headers)

    def status_of_api(self, role: str, rule: AccessRule, given: dict[str, str]) -> int:
        """What the API answers a role, which asks once for what several pages need."""
        told = f"{rule.address} {rule.query}"
        key = role, rule.line, tuple(value for name, value in given.items() if f"{{{name}}}" in told)
        if key not in self._statuses:
            self._statuses[key] = self.stage.send(role, rule, given).status_code
        return self._statuses[key]

    def close(self) -> None:
        """Close all connections."""
        for browser in self._browsers.values():
            browser.close()
        for connection in self.stage.connections.values():
            connection.close()

    def marks_of_api(self, role: str, state: str, *, again: bool = False) -> set[str]:
        """All marks in the replies that the API gives a role about this challenge; `again` after others were made."""
        if again or (role, state) not in self._shown:
            fill = self.stage.fill(state)
            found: set[str] = set()
            for rule in ACCESS_RULES:
                if rule.method == "GET":
                    for given in _fills(rule.address, fill):
                        answer = self.stage.send(role, rule, given)
                        if answer.status_code == 200:
                            found |= marks(answer.text)
            self._shown[role, state] = found
        return self._shown[role, state]


def _fills(address: str, fill: dict[str, str]) -> Iterator[dict[str, str]]:
    """The fill for each submission, registration and version of gold that an address may be about."""
    several = {
        "submission_id": fill["submissions"],
        "registration_id": fill.get("registrations", ABSENT),
        "version": "1 2",
    }
    for name, values in several.items():
        if "{" + name + "}" in address:
            yield from (fill | {name: value} for value in values.split())
            return
    yield fill


TEXT_STATES = ("open", "released", "draft", "private", "before", "anonymous")
"""The states that differ in what a role may read; in the others pages and API differ in what they let do."""


@cache
def needed_rules(page: str) -> tuple[AccessRule, ...]:
    """The requests of the API that PAGE_NEEDS names for a page."""
    header = "(sent) vis str pen bar for riv mem c-r cap vie edi o-r own adm\n"
    lines = "\n".join(f"GET {need} {'. ' * 14}" for need in PAGE_NEEDS[page])
    return tuple(read_table(header + lines))


@pytest.fixture(scope="module")
def crowd(live: Live) -> Iterator[Crowd]:
    crowd = Crowd(marked_stage(People(live)))
    yield crowd
    crowd.close()


def test_the_api_shows_the_marks_to_some_and_not_to_others(crowd: Crowd) -> None:
    open_to_all = {"zqtitle", "zqdescription", "zqnewsbody", "zqlicence", "zqmethodbaseline", "zqfieldlabel"}
    of_team = {"zqaboutcap", "zqrejected", "zqwronglabel"}
    of_organizers = {"zqgoldreason", "zqanswer", "zqinvitation", "zqauditreason", "zqmethodtest", "zqgrant"}
    shown = {role: crowd.marks_of_api(role, "open") for role in ("vis", "cap", "own")}
    assert shown["vis"] & (open_to_all | of_team | of_organizers) == open_to_all
    assert shown["cap"] & (open_to_all | of_team | of_organizers) == open_to_all | of_team
    assert shown["own"] >= open_to_all | of_team | of_organizers
    assert "zqgroup" not in shown["own"]  # metadata of gold is not given back


def pages_of(fill: dict[str, str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Every page about a challenge: its path as declared, the path to ask for, and what this is about."""
    for declared in page_routes():
        if declared == "/account/data":
            continue  # GET /me/data itself, about all challenges of the person
        for given in _fills(declared, fill):
            for query in QUERIES.get(declared, ("",)):
                yield declared, declared.format(**given) + (f"?{query}" if query else ""), given


def test_every_page_says_what_the_api_must_show_first() -> None:
    assert set(page_routes()) - set(PAGE_NEEDS) == set()
    addresses = {rule.address for rule in ACCESS_RULES if rule.method == "GET"}
    assert {rule.address for page in PAGE_NEEDS for rule in needed_rules(page)} <= addresses


@pytest.mark.parametrize("state", STATES)
def test_a_page_shows_a_role_nothing_that_the_api_does_not_show(crowd: Crowd, state: str) -> None:
    wrong, shown, seen = list[str](), 0, set[str]()
    roles = PAGE_ROLES if state in {"open", "released", "private", "draft"} else DIFFERENT_ROLES
    for declared, path, given in pages_of(crowd.stage.fill(state)):
        for role in roles:
            answer = crowd.look(role, path)
            if answer.status_code != 200:
                continue
            shown += 1
            statuses = {rule.line: crowd.status_of_api(role, rule, given) for rule in needed_rules(declared)}
            wrong += [
                f"{role} sees {path}, but {line} answers {code}" for line, code in statuses.items() if code != 200
            ]
            if state in TEXT_STATES:
                text = entry_of(answer.text, given["slug"]) if declared == LIST else answer.text
                found = marks(FORM_TOKEN.sub("", text)) - {given["slug"]}
                seen |= found
                more = found - crowd.marks_of_api(role, state)
                if more and (more := found - crowd.marks_of_api(role, state, again=True)):
                    wrong.append(f"{path} shows {role}: {', '.join(sorted(more))}")
    assert shown > 0
    assert "zqtitle" in seen or state not in TEXT_STATES
    assert not wrong, "\n".join(wrong)


def test_no_cache_keeps_what_an_account_reads(crowd: Crowd) -> None:
    read = set()
    for declared, path, _ in pages_of(crowd.stage.fill("open")):
        answer = crowd.look("own", path)
        if answer.status_code == 200 and not declared.endswith("/embed"):  # which ignores accounts
            assert answer.headers["cache-control"] == "no-store", path
            read.add(declared)
    assert {path for path in page_routes() if path.endswith(("/file", "/report", "/data", "/export"))} <= read | {
        "/account/data",
        "/challenges/{slug}/phases/{phase}/frozen-boards/{key}/data",  # of a closed phase alone
    }


def entry_of(page: str, slug: str) -> str:
    """The entry of a challenge on the page that lists challenges."""
    entries = re.findall(r"<li>.*?</li>", page, re.DOTALL)
    return "".join(entry for entry in entries if f'/challenges/{slug}"' in entry)


def likeness(answer: httpx.Response, fill: dict[str, str]) -> tuple[int, str]:
    """All of a reply that could tell something; without the token of its forms, its id, and what the request said."""
    headers = {key: value for key, value in answer.headers.items() if key not in {"date", "x-request-id"}}
    body = FORM_TOKEN.sub(r"\1", answer.text).replace(answer.headers["x-request-id"], "")
    text = repr((body, sorted(headers.items())))
    for name in ("submission_id", "registration_id", "team_id", "slug"):
        text = text.replace(fill[name], name)
    return answer.status_code, text


@pytest.mark.parametrize("state", ["private", "draft"])
def test_a_hidden_and_an_absent_challenge_look_the_same(crowd: Crowd, state: str) -> None:
    hidden = crowd.stage.fill(state)
    absent = hidden | {
        "slug": "x" * len(hidden["slug"]),
        "submission_id": ABSENT,
        "team_id": "f" * 32,
        "registration_id": "e" * 32,
    }
    for declared in page_routes():
        if "{slug}" not in declared and "{submission_id}" not in declared:
            continue
        for role in set(PAGE_ROLES) - VISIBLE[state]:
            for query in QUERIES.get(declared, ("",)):
                there, not_there = (
                    crowd.look(role, declared.format(**fill) + f"?{query}", **{"Accept-Encoding": "identity"})
                    for fill in (hidden, absent)
                )
                assert there.status_code in {303, 404}, (declared, role, query)
                assert likeness(there, hidden) == likeness(not_there, absent), (declared, role, query)
