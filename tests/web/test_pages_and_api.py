"""No page shows a role what the API does not: neither a page that it would refuse, nor a text that no reply has."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from http.client import HTTPConnection
from typing import NamedTuple

import httpx
import pytest

from tests.browser.page_table import page_routes
from tests.journeys.access_matrix import ACCESS_RULES, VISIBLE, AccessRule, read_table
from tests.journeys.access_stage import ABSENT, Stage
from tests.journeys.support import People
from tests.live_service import MAX_WAIT_SECONDS, Caller, Live
from tests.settle import settle
from tests.web.marked_stage import PAGE_ROLES, marked_stage, marks, readable
from tests.web.page_needs import PAGE_NEEDS
from tests.web.reader import HTML, Reader

ANALYSES = True

FIRST_STATE = "open"
STATES = (FIRST_STATE, "released", "closed", "private", "before", "draft", "late", "anonymous", "archived", "paused")
SHARE = {"released": 6, "private": 6, "draft": 6, "anonymous": 6}
"""In these states, which are about what a role may see, every sixth role asks for a page; in the others, every twelfth."""
GROUPS = 4
"""Of the submissions, versions and queries of a page each role asks for every fourth, for others in the next state."""
WHOLE = ("vis", "riv", "cap", "own")
"""Who asks for all pages in the first state: an outsider, a rival, who sent the files, and an organizer.

The others ask for every second page of a challenge there, and for the rest in other states.
"""
ALWAYS = {"released": "vis", "anonymous": "vis", "private": "str", "draft": "riv"}
"""Who asks for every page in a state that is about what this role may see."""
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
OF_CHALLENGE = ("/challenges/", "/submissions/")
"""How addresses begin that are about one challenge; the others but LIST are asked for in the first state alone."""
LIST = "/"
"""The page that lists challenges, in all states of the stage; only the entry of one is compared with the API."""
FORM_TOKEN = re.compile(r'(name="csrf" value=")[^"]*')


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

    def get(self, path: str) -> httpx.Response:
        """The answer; without the body of a stream of events."""
        try:
            return self._get(path)
        except ConnectionError:  # the service closed a connection that was idle
            return self._get(path)

    def _get(self, path: str) -> httpx.Response:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        if answer.getheader("content-type", "").startswith("text/event-stream"):
            self._connection.close()
            return httpx.Response(answer.status, headers=answer.getheaders())
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Reply(NamedTuple):
    """What the API answered a role."""

    status: int
    marks: set[str]


class Reading(NamedTuple):
    """A page that a role was shown."""

    marks: set[str]
    faults: list[str]


class Crowd:
    """Everybody at a browser, and everybody at the API, before the same challenges."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._browsers: dict[str, Browser] = {}
        self._replies: dict[tuple[str, str, str, tuple[str, ...]], Reply] = {}
        self._shown: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # by the API to a role in a state
        self._telling: set[str] = set()  # the requests that had what pages showed besides, which are made first

    def fill(self, state: str) -> dict[str, str]:
        """What a challenge in this state is about, once nothing changes it any more."""
        fill = self.stage.fill(state)
        settle(self.stage.people.live)
        return fill

    def look(self, role: str, path: str) -> httpx.Response:
        """What a role gets at a path; of a stream of events, which does not end, only how it begins."""
        if role not in self._browsers:
            self._browsers[role] = Browser(self.stage.people.live, self.stage.callers[role] if role != "vis" else None)
        return self._browsers[role].get(path)

    def readings(self, state: str) -> Iterator[Reading]:
        """The pages that the roles see which are asked in this state."""
        for role, declared, path, given in asked(state, self.fill(state)):
            answer = self.look(role, path)
            if answer.status_code == 200:
                text = entry_of(answer.text, given["slug"]) if declared == LIST else readable(answer)
                found = marks(FORM_TOKEN.sub("", text)) - {given["slug"]}
                wrong = [f"{role} at {path}: {each}" for each in self._compare(role, state, declared, given, found)]
                yield Reading(found, wrong)

    def _compare(self, role: str, state: str, declared: str, given: dict[str, str], found: set[str]) -> Iterator[str]:
        """What a page shows beyond the API.

        The API is asked at once, and again where it was asked before: each download adds an entry to the audit trail,
        of which page and API show the newest.
        """
        needed = needed_rules(declared)
        replies = {rule.line: self.ask(role, state, rule, given) for rule in needed}
        yield from (f"{line} answers {reply.status}" for line, reply in replies.items() if reply.status != 200)
        if found - self._shown[role, state]:
            for rule in needed:
                self.ask(role, state, rule, given, again=True)
        more = found - self._shown[role, state]
        if (more := self.kept_back(role, state, more)) and (more := self.kept_back(role, state, more, again=True)):
            yield f"only the page shows {', '.join(sorted(more))}"

    def ask(self, role: str, state: str, rule: AccessRule, given: dict[str, str], *, again: bool = False) -> Reply:
        """What the API answers a role, which asks once for what several pages need."""
        told = f"{rule.address} {rule.query}"
        key = role, state, rule.line, tuple(value for name, value in given.items() if f"{{{name}}}" in told)
        if again or key not in self._replies:
            answer = self.stage.send(role, rule, given)
            shown = marks(readable(answer)) if answer.status_code == 200 else set[str]()
            self._replies[key] = Reply(answer.status_code, shown)
            self._shown[role, state] |= shown
        return self._replies[key]

    def kept_back(self, role: str, state: str, found: set[str], *, again: bool = False) -> set[str]:
        """Those marks that no reply of the API to this role has; asks until all are found, and then no further."""
        left = set(found)
        for rule in sorted(READS, key=lambda rule: rule.line not in self._telling):
            for given in _fills(rule.address, self.stage.fill(state)):
                if not left:
                    return left
                if told := left & self.ask(role, state, rule, given, again=again).marks:
                    self._telling.add(rule.line)
                    left -= told
        return left

    def close(self) -> None:
        """Close all connections."""
        for browser in self._browsers.values():
            browser.close()
        for connection in self.stage.connections.values():
            connection.close()


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


@cache
def needed_rules(page: str) -> tuple[AccessRule, ...]:
    """The requests of the API that PAGE_NEEDS names for a page."""
    header = "(sent) vis str pen bar for riv mem c-r cap vie edi o-r own adm\n"
    lines = "\n".join(f"GET {need} {'. ' * 14}" for need in PAGE_NEEDS[page])
    return tuple(read_table(header + lines))


NEEDED = {rule.line for page in PAGE_NEEDS for rule in needed_rules(page)}
READS = sorted(
    (rule for rule in ACCESS_RULES if rule.method == "GET" and not rule.address.startswith("/api/v1/metrics")),
    key=lambda rule: rule.line not in NEEDED,
)
"""All that the API lets read but the catalogue, which no person writes; first what pages need and roles ask for anyway."""


@pytest.fixture(scope="module")
def crowd(live: Live) -> Iterator[Crowd]:
    crowd = Crowd(marked_stage(People(live)))
    yield crowd
    crowd.close()


@pytest.mark.ci
def test_the_api_shows_the_marks_to_some_and_not_to_others(crowd: Crowd) -> None:
    open_to_all = {"zqtitle", "zqdescription", "zqnewsbody", "zqlicence", "zqmethodbaseline", "zqfieldlabel"}
    of_team = {"zqaboutcap", "zqrejected", "zqwronglabel"}
    of_organizers = {"zqgoldreason", "zqanswer", "zqinvitation", "zqauditreason", "zqmethodtest", "zqgrant", "zqgroup"}
    crowd.fill("open")
    every = open_to_all | of_team | of_organizers
    hidden = {role: crowd.kept_back(role, "open", every) for role in ("vis", "cap", "own")}
    assert hidden == {"vis": every - open_to_all, "cap": every - open_to_all - of_team, "own": set()}


def paths_of(declared: str, fill: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """The paths of a page, for each query and each of what it may be about."""
    return [
        (declared.format(**given) + (f"?{query}" if query else ""), given)
        for query in QUERIES.get(declared, ("",))
        for given in _fills(declared, fill)
    ]


def asked(state: str, fill: dict[str, str]) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Which role asks for which page in a state: together, each asks for each page."""
    for at, declared in enumerate(page_routes()):
        if declared == "/account/data":
            continue  # GET /me/data itself, about all challenges of the person
        if state != FIRST_STATE and declared != LIST and not declared.startswith(OF_CHALLENGE):
            continue
        paths, turn = paths_of(declared, fill), STATES.index(state)
        share = SHARE.get(state, len(PAGE_ROLES))
        if state == FIRST_STATE:
            share = 2 if declared.startswith(OF_CHALLENGE) else 1
        for place, role in enumerate(PAGE_ROLES):
            if (at + place + turn) % share == 0 or role in (WHOLE if state == FIRST_STATE else [ALWAYS.get(state)]):
                groups = 1 if state == FIRST_STATE and role in WHOLE else min(GROUPS, len(paths))
                mine = [each for number, each in enumerate(paths) if number % groups == (at - place + turn) % groups]
                plain = [] if paths[0] in mine or QUERIES.get(declared, ("",))[0] else paths[:1]
                yield from ((role, declared, *each) for each in (*plain, *mine))


def test_every_page_says_what_the_api_must_show_first() -> None:
    assert set(page_routes()) - set(PAGE_NEEDS) == set()
    addresses = {rule.address for rule in ACCESS_RULES if rule.method == "GET"}
    assert {rule.address for page in PAGE_NEEDS for rule in needed_rules(page)} <= addresses


def test_every_role_asks_for_every_page_and_in_every_state_somebody_does() -> None:
    names = re.findall(r"{(\w+)}", " ".join(page_routes()))
    fill = dict.fromkeys(names, "x") | {"submissions": "a b c d e f", "registrations": "a b"}
    by_state = {state: {(role, page) for role, page, _, _ in asked(state, fill)} for state in STATES}
    pages = set(page_routes()) - {"/account/data"}
    assert set().union(*by_state.values()) == {(role, page) for role in PAGE_ROLES for page in pages}
    of_challenge = {page for page in pages if page.startswith(OF_CHALLENGE)}
    for pairs in by_state.values():
        assert {page for _, page in pairs} >= of_challenge
        assert {role for role, _ in pairs} == set(PAGE_ROLES)


@pytest.mark.ci
@pytest.mark.parametrize("state", STATES)
def test_a_page_shows_a_role_nothing_that_the_api_does_not_show(crowd: Crowd, state: str) -> None:
    readings = list(crowd.readings(state))
    assert any("zqtitle" in each.marks for each in readings)
    wrong = [fault for each in readings for fault in each.faults]
    assert not wrong, "\n".join(wrong)


def test_no_cache_keeps_what_an_account_reads(crowd: Crowd) -> None:
    cached, fill = dict[tuple[str, str], str](), crowd.fill(FIRST_STATE)
    for role, declared, path, _ in asked(FIRST_STATE, fill):
        # The board to embed ignores accounts.
        if role in {"cap", "own"} and (role, declared) not in cached and not declared.endswith("/embed"):
            answer = crowd.look(role, path)
            if answer.status_code == 200:
                cached[role, declared] = answer.headers.get("cache-control", "")
    assert {key: value for key, value in cached.items() if value != "no-store"} == {}
    files = {path for path in page_routes() if path.endswith(("/file", "/report", "/data", "/export"))}
    assert files - {declared for _, declared in cached} <= {
        "/account/data",
        "/challenges/{slug}/phases/{phase}/frozen-boards/{key}/data",  # no board is frozen
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


@pytest.mark.parametrize("state", ["draft", pytest.param("private", marks=pytest.mark.ci)])
def test_a_hidden_and_an_absent_challenge_look_the_same(crowd: Crowd, state: str) -> None:
    hidden, wrong = crowd.fill(state), list[str]()
    absent = hidden | {
        "slug": "x" * len(hidden["slug"]),
        "submission_id": ABSENT,
        "team_id": "f" * 32,
        "registration_id": "e" * 32,
    }
    outside = [role for role in PAGE_ROLES if role not in VISIBLE[state] and role != "vis"]
    about = [page for page in page_routes() if "{slug}" in page or "{submission_id}" in page]
    for at, declared in enumerate(about):
        for role in ("vis", outside[at % len(outside)]):
            for query in QUERIES.get(declared, ("",)):
                there, not_there = (
                    crowd.look(role, declared.format(**fill) + f"?{query}") for fill in (hidden, absent)
                )
                if there.status_code not in {303, 404} or likeness(there, hidden) != likeness(not_there, absent):
                    wrong.append(f"{declared}?{query} as {role}: {there.status_code}, {not_there.status_code}")
    assert not wrong, "\n".join(wrong)
