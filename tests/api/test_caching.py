"""What a cache may keep of each answer: all routes that read, asked by everybody, again with the tag, and by HEAD."""

import hashlib
from collections.abc import Iterator

import httpx
import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.api.routes_that_read import PHASES, READ, SUBMISSIONS
from tests.api.test_gold_secrecy import PHASE, PRIVATE_IDS, PUBLIC_IDS, RECIPE, person
from tests.live_service import PASSWORD, Caller, open_challenge
from tests.settle import settle

GOLD = [
    {"id": key, "label": "ab"[place % 2], "split": "public" if key in PUBLIC_IDS else "private"}
    for place, key in enumerate(PUBLIC_IDS + PRIVATE_IDS)
]
CHALLENGE = "/api/v1/challenges/{slug}"
FILE = CHALLENGE + "/files/{file_name}"
STREAMED = {"/api/v1/me/data", CHALLENGE + "/export", SUBMISSIONS + "/events"}
"""What is sent while it is made, so it has no tag."""
CHANGING = {"/metrics", "/api/v1/tokens", "/api/v1/log", "/log/checkpoint", "/log/{label}/checkpoint"}
CHANGING |= {"/api/v1/audit", CHALLENGE + "/audit", CHALLENGE + "/log", SUBMISSIONS + "/receipt/proof"}
"""What may change between two requests: counters, the last use of a token, and what the transparency log has.

It grows while this test reads, because reading gold and predictions is audited.
"""
SAVED = {
    "/api/v1/me/data",
    CHALLENGE + "/export",
    FILE,
    PHASES + "/template",
    PHASES + "/gold/{version}/data",
    SUBMISSIONS + "/predictions",
    SUBMISSIONS + "/report",
}
"""What a browser saves and never shows."""
SAVED_AS_TABLES = {(PHASES + "/items", "format=csv")}
"""The same under this query."""
OTHER = '"other"'
"""A tag of no version."""
OF_THIS_ANSWER = {"date", "x-request-id"}


class Stage:
    """A challenge with a file and a scored submission, and those who read."""

    def __init__(self, app: ServedApp) -> None:
        admin = app.admin()
        open_challenge(admin, "pets", GOLD, recipe=RECIPE, phases=[PHASE])
        self.readers = {"visitor": app.caller(), "member": person(app, "Blue"), "administrator": admin}
        offered = {"name": "train.csv", "licence": "CC0-1.0"}
        admin.post("/challenges/pets/files", params=offered, content=b"id,label\n").raise_for_status()
        member = self.readers["member"]
        registration = member.post("/challenges/pets/registrations", json={"team": "Blue"}).json()["id"]
        sent = member.submit("pets", dict.fromkeys(PUBLIC_IDS + PRIVATE_IDS, "a")).json()["id"]
        self.fills = {"slug": "pets", "phase": "main", "version": "1", "key": "f1_macro", "file_name": "train.csv"}
        self.fills |= {"name": "page.css", "user_id": member.get("/me").json()["id"]}
        self.fills |= {
            "entry_id": "0" * 32,
            "record_id": "0" * 32,
            "import_id": "0" * 32,
            "level": "63",
            "number": "000",
            "label": "first",
        }
        self.fills |= {"registration_id": registration, "submission_id": sent}
        self.url = app.url

    def address(self, path: str, query: str = "") -> str:
        """The address of a route."""
        return f"{self.url}{path.format(**self.fills)}{'?' if query else ''}{query}"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with serve_app(app_settings(tmp_path_factory.mktemp("caching") / "data")) as app:
        stage = Stage(app)
        settle(app)
        yield stage


def lasting(answer: httpx.Response) -> dict[str, str]:
    """The headers that two equal answers share."""
    return {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}


ENDS = ("visitor", "administrator")


@pytest.mark.ci
def test_a_cache_keeps_what_it_may_and_asks_again(stage: Stage) -> None:
    """All routes for everybody; with their queries, for whoever sees least and most."""
    wrong = []
    for path, queries in READ.items():
        for query in ("", *queries):
            readers = {name: stage.readers[name] for name in stage.readers if not query or name in ENDS}
            try:
                require_cacheable(stage, readers, path, query)
            except AssertionError as fault:
                wrong.append(f"{path}?{query}: {fault}")
    assert wrong == []


def require_cacheable(stage: Stage, readers: dict[str, Caller], path: str, query: str) -> None:
    address, bodies = stage.address(path, query), dict[str, bytes]()
    for name, reader in readers.items():
        # Who has another version is answered as who has none, which the visitor asks both ways.
        answer = reader.get(address, headers={} if name == "visitor" else {"If-None-Match": OTHER})
        assert answer.headers["cache-control"] == ("no-cache" if name == "visitor" else "private, no-cache")
        assert "Authorization" in answer.headers["vary"].split(", ")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "last-modified" not in answer.headers
        if answer.status_code != 200:
            refused = reader.get(address, headers={"If-None-Match": "*"})
            assert (refused.status_code, refused.content) == (answer.status_code, answer.content)
            assert "etag" not in answer.headers
            continue
        assert answer.headers.get("content-disposition", "").startswith("attachment; ") == (
            path in SAVED or (path, query) in SAVED_AS_TABLES
        )
        assert ("etag" in answer.headers) == (path not in STREAMED)
        if path in CHANGING:
            continue
        if name == "member" and answer.headers.get("etag", "") in bodies:  # as the visitor, who asked for all of this
            assert bodies[answer.headers["etag"]] == answer.content
            continue
        head = reader.head(address)
        assert (head.status_code, head.content, lasting(head)) == (200, b"", lasting(answer))
        if tag := answer.headers.get("etag"):
            assert tag == f'"{hashlib.sha256(answer.content).hexdigest()}"' or path not in SAVED
            require_not_sent_again(reader, address, answer)
            assert name != "visitor" or reader.get(address, headers={"If-None-Match": OTHER}).content == answer.content
            assert bodies.setdefault(tag, answer.content) == answer.content
    assert len(set(bodies.values())) == len(bodies)  # a tag tells nothing but the bytes


def require_not_sent_again(reader: Caller, address: str, answer: httpx.Response) -> None:
    """Who has this version gets 304, with what a cache needs to know."""
    tag = answer.headers["etag"]
    again = reader.get(address, headers={"If-None-Match": tag, "Range": "bytes=0-1"})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "vary"):
        assert again.headers[name] == answer.headers[name]
    assert "content-length" not in again.headers


def test_a_tag_opens_nothing(stage: Stage) -> None:
    """Who may not read something learns nothing by sending its tag."""
    visitor, admin = stage.readers["visitor"], stage.readers["administrator"]
    for path in (PHASES + "/gold/{version}/data", SUBMISSIONS + "/report", CHALLENGE + "/audit"):
        tag = admin.get(stage.address(path)).headers["etag"]
        answer = visitor.get(stage.address(path), headers={"If-None-Match": tag})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("range_of", ["bytes=3-", "bytes=-2"])
def test_a_part_is_sent_only_of_the_version_that_was_begun(stage: Stage, range_of: str) -> None:
    visitor, address = stage.readers["visitor"], stage.address(FILE)
    whole = visitor.get(address)
    for named, status in ((whole.headers["etag"], 206), ('"other"', 200), ("Wed, 25 Nov 2026 23:04:03 GMT", 200)):
        answer = visitor.get(address, headers={"Range": range_of, "If-Range": named})
        assert answer.status_code == status
        assert whole.content.endswith(answer.content)
    head = visitor.head(address, headers={"Range": range_of})
    assert (head.status_code, lasting(head)) == (200, lasting(whole))


def test_what_is_shown_once_is_kept_by_no_cache(stage: Stage) -> None:
    """A token, a code: nothing that answers a change is for a cache."""
    login = {"email": "Blue@example.org", "password": PASSWORD}
    for reader, path, body in (
        (stage.readers["visitor"], "/tokens", login),
        (stage.readers["administrator"], "/invitations", {}),
        (stage.readers["administrator"], "/challenges/pets/invitations", {}),
    ):
        answer = reader.post(path, json=body)
        assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
