"""Nothing that a participant or visitor gets depends on a gold label, except the agreed scores: two golds, byte by byte.

The same things happen in two installations whose clock, ids and nonces are the same. Their golds differ in the labels
of both splits, but every file has the same public scores under either. So all answers must be the same bytes.

Where a Ladder limits feedback, the public scores differ too, and only the outputs of the Ladder are the same: each
installation has a challenge of either kind.
"""

import base64
import itertools
import json
import logging
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock
from uuid import UUID

import httpx
import pytest
import structlog
from starlette.routing import Route

from app.worker.worker import Worker
from tests import preloaded_scoring
from tests.api.in_process_app import ServedApp, app_settings, openapi_document, serve_app
from tests.api.routes_that_read import PAGES, READ
from tests.api.test_database_statements import recorded_statements
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, open_challenge
from tests.settle import settle
from tests.web.reader import Reader

pytestmark = pytest.mark.ci  # everybody asks every route twice, in two installations
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PUBLIC_IDS, PRIVATE_IDS = [f"t{n}" for n in range(6)], [f"t{n}" for n in range(6, 12)]
PUBLIC = ("abbcac", "babcac")
"""The labels of the public split: those of the first two instances are exchanged, and every file predicts one for both."""
PRIVATE = ("aaaaab", "bbbbbc")
CORRECTED = ("baaaab", "abbbbc")
"""Labels of the private split in the second gold version: another label of one instance, and not the same one."""
FILES = ["aabcacaaaaab", "aabcacbbbbbc", "bbbcaaaaaaaa", "ccbcacbbbbbb"]
FAULTY = [
    b'{"t0": "a", "t0": "b"}',
    b'{"t0": "zebra", "stray": "a"}',
    b'[{"id": "t0", "label": ""}, {"label": "a"}]',
    b"{",
    b"\xff\xfe",
    b"",
]
QUOTA = {"per_day": 6, "total": 40, "invalid_per_day": 9}
REPORTS = ["scores", "per_class", "confusion"]
PHASE = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "quota": QUOTA, "reports": REPORTS}
RECIPE = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro", "log_loss"], "selection": "selected"}


class Stage(NamedTuple):
    """A recipe, public labels of two golds under which it shows participants the same, and reports besides REPORTS."""

    recipe: dict[str, Any]
    public: tuple[str, str]
    reports: Sequence[str] = ()


LADDER = "steps"
STAGES = {
    "pets": Stage(RECIPE, PUBLIC),
    LADDER: Stage(
        {"primary": "accuracy", "metrics": RECIPE["metrics"], "ladder": {"step": 0.5}},
        ("cbbaac", "aacbbb"),
        ("intervals", "significance", "rankings"),
    ),
}
"""By challenge. Under the Ladder, the first file of each team has 3 or 2 of 6 right: 0.5 in steps of 0.5, which no later file leaves."""
CLOCK_AND_NONCES = {"date", "x-request-id", "set-cookie"}
NONCES = re.compile(
    rb'(?<=name="csrf" value=")[^"]+|(?<=data-token=")[^"]+|(?<=seen=)[0-9a-f]{16}|(?<=;key=)[\w-]{20,}'
)
ACTS = ("select", "unselect", "rerun", "cancel", "disqualify", "reinstate")


class PinnedTime(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        return NOW.astimezone(tz)


@contextmanager
def pinned() -> Iterator[None]:
    """Ids by number, secrets by number, and one moment. Work in the background, whose order varies, has its own numbers."""
    of_requests, of_background, lock = itertools.count(1), itertools.count(1 << 40), threading.Lock()

    def number() -> int:
        with lock:
            return next(of_requests if threading.current_thread().name.startswith("AnyIO") else of_background)

    def uuid7() -> UUID:
        return UUID(int=0x019CA90A000070008000000000000000 + number())

    with ExitStack() as patches:
        for name, value in {
            "app.worker.worker.sequences_here": lambda _: False,  # its rounds come when they come
            "app.actions.accounts.token_uses.STORE_SECONDS": 3600.0,  # not while the play lasts
            "app.store.types.uuid_utils": SimpleNamespace(uuid7=uuid7),
            "app.store.types.secrets": SimpleNamespace(randbits=lambda _: number()),
            "app.store.types.datetime": PinnedTime,
            "app.store.clock._PROCESS_START": (NOW, 0.0),
            "app.store.clock.time": SimpleNamespace(monotonic=lambda: 0.0),
        }.items():
            patches.enter_context(mock.patch(name, value))
        patches.enter_context(mock.patch.object(secrets, "token_bytes", lambda size=32: number().to_bytes(size)))
        patches.enter_context(mock.patch.object(secrets, "token_urlsafe", lambda size=32: f"{number():0{size}d}"))
        yield


def _without_commitment(media_type: str, body: bytes) -> bytes:
    """What a receipt says but for the commitment to the gold, a keyed hash; keys differ between installations."""
    if media_type.startswith("application/jwk-set"):
        return b"keys"
    if not media_type.startswith("application/vnd.dsse"):
        return body
    statement = json.loads(base64.b64decode(json.loads(body)["payload"]))
    del statement["predicate"]["gold_commitment"], statement["predicate"]["commitments"]
    return json.dumps(statement).encode()


DRAWN = re.compile(
    rb'(?<=commitment\\":\\")[0-9a-f]{64}|(?<="entry":")[0-9a-f]{64}|(?<="salt":")[0-9a-f]{64}|(?<="id":")[0-9a-f]{32}'
)
"""In records of the transparency log: ids, salts, the keyed hash of gold, and the salted hash of the record."""


@dataclass
class Recording:
    """What was asked and what was answered, and the statements that it took."""

    answers: list[tuple[str, int, list[tuple[str, str]], bytes]] = field(default_factory=list)
    work: list[tuple[str, Counter[str]]] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    values: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    """The accuracy of each team on the board, by challenge and split."""

    def ask(self, caller: Caller | httpx.Client, method: str, address: str, **request: Any) -> httpx.Response:
        """Ask, and keep everything of the answer but its date and its nonce."""
        with recorded_statements(of="AnyIO") as statements:
            answer = caller.request(method, address, **request)
        own_id = answer.headers["x-request-id"].encode()  # error pages show it
        body = NONCES.sub(b"", answer.content.replace(own_id, b""))
        body = _without_commitment(answer.headers.get("content-type", ""), body)
        if address.endswith("/log"):
            body = DRAWN.sub(b"", body)
        is_known = answer.status_code == 304 and answer.headers["etag"] == answer.request.headers["if-none-match"]
        ignored = CLOCK_AND_NONCES | ({"etag"} if body != answer.content or is_known else set())
        headers = [(name, value) for name, value in answer.headers.multi_items() if name not in ignored]
        asked = f"{method} {answer.request.url.raw_path.decode()} {request.get('content', request.get('json', ''))}"
        self.answers.append((asked, answer.status_code, headers, body))
        work = [
            each for each in statements if not each.startswith(("BEGIN", "UPDATE tokens"))
        ]  # the last use, by a clock
        self.work.append((asked, Counter(work)))
        return answer


def person(app: ServedApp, name: str) -> Caller:
    """An account, logged in."""
    login = {"email": f"{name}@example.org", "password": PASSWORD}
    app.caller().post("/users", json=login | {"name": name}).raise_for_status()
    token = app.caller().post("/tokens", json=login).json()["token"]
    caller = app.caller(token)
    caller.headers["X-Forwarded-For"] = "192.0.2.7"  # for whom the metrics of the service are not
    return caller


def gold_of(public: str, private: str) -> list[dict[str, str]]:
    """Gold with these labels."""
    splits = [(PUBLIC_IDS, public, "public"), (PRIVATE_IDS, private, "private")]
    return [
        {"id": key, "label": label, "split": split}
        for ids, labels, split in splits
        for key, label in zip(ids, labels, strict=True)
    ]


def correct_gold(admin: Caller, slug: str, gold: list[dict[str, str]]) -> None:
    """Another version of the gold, and an erratum that names the instance whose label it changes."""
    path = f"/challenges/{slug}/phases/main/gold"
    admin.post(path, json=gold).raise_for_status()
    order = {"reason": "A wrong label.", "lists_instances": True}
    admin.post(f"{path}/2/activate", json=order).raise_for_status()


def play(app: ServedApp, which: int, record: Recording, calm: Callable[[], None]) -> None:
    """Challenges with this gold, everything that participants can do, and everything that anybody can read."""
    admin, readers = (
        app.admin(),
        {"": app.caller(), **{name: person(app, name) for name in ("Blue", "Green", "Stranger")}},
    )
    readers[""].headers["X-Forwarded-For"] = "192.0.2.7"
    people = {name: readers[name] for name in ("Blue", "Green")}
    sent, own = dict[str, list[str]](), dict[str, dict[str, str]]()
    for slug, stage in STAGES.items():
        phase = PHASE | {"reports": [*REPORTS, *stage.reports]}
        open_challenge(admin, slug, gold_of(stage.public[which], PRIVATE[which]), recipe=stage.recipe, phases=[phase])
        offered = {"name": "train.csv", "licence": "CC0-1.0", "audience": "teams"}
        admin.post(f"/challenges/{slug}/files", params=offered, content=b"id,label\n").raise_for_status()
        announced = admin.post(f"/challenges/{slug}/announcements", json={"title": "Begin"}).raise_for_status()
        registrations = [
            record.ask(who, "POST", f"/challenges/{slug}/registrations", json={"team": name}).json()["id"]
            for name, who in people.items()
        ]
        own[slug] = {"slug": slug, "announcement_id": announced.json()["id"], "registration_id": registrations[0]}
        own[slug]["team_id"] = admin.get(f"/challenges/{slug}/teams").json()["items"][0]["id"]
        sent[slug] = send_everything(record, slug, *people.values())
    for act, submission in itertools.product(ACTS, (sent["pets"][0], sent["pets"][2], sent["pets"][-2])):
        body = {"reason": "r"} if act != "cancel" else None
        record.ask(people["Blue"], "POST", f"/submissions/{submission}/{act}", json=body)
    record.ask(people["Blue"], "POST", "/challenges/pets/phases/main/release", json={"reason": "now"})
    for submission in sent["pets"][:2]:
        record.ask(people["Blue"], "POST", f"/submissions/{submission}/select")
    for slug, stage in STAGES.items():
        correct_gold(admin, slug, gold_of(stage.public[which], CORRECTED[which]))
    settle(app)
    calm()
    fills = {
        "phase": "main",
        "version": "1",
        "key": "f1_macro",
        "file_name": "train.csv",
        "name": "page.css",
        "entry_id": "0" * 32,
        "record_id": "0" * 32,
        "import_id": "0" * 32,
        "level": "0",
        "number": "000.p/1",
        "label": "first",
        "user_id": admin.get("/users").json()["items"][0]["id"],
    }
    for slug in STAGES:
        shown = [sent[slug][0], sent[slug][2], sent[slug][-2]]  # scored ones of both teams, and a rejected one
        read_everything(record, app, readers, fills | own[slug], shown)


OF_A_PHASE = ("{phase}", "{submission_id}", "/errata", "/leaderboard")


def asked_about(slug: str, addresses: dict[str, list[str]], part: str = "") -> dict[str, list[str]]:
    """What is read of a challenge: under the Ladder, only what tells of a phase or a submission."""
    told = [path for path in addresses if any(one in path for one in OF_A_PHASE) and "/organize" not in path]
    return {path: addresses[path] for path in (told if slug == LADDER else addresses) if part in path}


def read_everything(
    record: Recording, app: ServedApp, readers: dict[str, Caller], fills: dict[str, str], shown: list[str]
) -> None:
    """Every route and page as a member, with every query; every route as a visitor, those of a phase as a stranger.

    Where there is a Ladder, only what may tell scores (OF_A_PHASE), and pages as a member. Green reads nothing, because
    Blue reads files of both teams.
    """
    for name in ("", "Blue") if fills["slug"] == LADDER else ("", "Blue", "Stranger"):
        for path, queries in asked_about(fills["slug"], READ, "{phase}" if name == "Stranger" else "").items():
            for submission in shown if name and "{submission_id}" in path else shown[:1]:
                number = {"number": "2"} if "/switches/" in path else {}  # elsewhere, that of a tile of the log
                target = app.url + path.format_map(fills | number | {"submission_id": submission})
                answer = record.ask(readers[name], "GET", target)
                if name and "{phase}" in path and (tag := answer.headers.get("etag")):
                    record.ask(readers[name], "GET", target, headers={"If-None-Match": tag})
                if submission != shown[-1] and (name == "Blue" or "/leaderboard" in path):
                    for query in queries:
                        record.ask(readers[name], "GET", f"{target}?{query}")
        if name == "Blue" or (not name and fills["slug"] != LADDER):
            read_pages(record, app, name, fills, shown)


def read_pages(record: Recording, app: ServedApp, name: str, fills: dict[str, str], shown: list[str]) -> None:
    """Every page, as one of them sees it in a browser; of the submissions, a scored one and a rejected one."""
    with closing(Reader(app.url)) as browser:
        browser.client.headers["Accept-Encoding"] = "identity"
        if name:
            browser.log_in(f"{name}@example.org")
        browser.client.headers["Host"] = "localhost"  # Pages name the address of the site, but its port is drawn.
        for path, queries in asked_about(fills["slug"], PAGES).items():
            method = "HEAD" if path.endswith("/changes") else "GET"  # a stream has no end
            for submission in shown[:: len(shown) - 1] if name and "{submission_id}" in path else shown[:1]:
                target = path.format(**fills, submission_id=submission)
                for query in ("", *(queries if name and submission == shown[0] else ())):
                    record.ask(browser.client, method, f"{target}{'?' if query else ''}{query}")


def send_everything(record: Recording, slug: str, blue: Caller, green: Caller) -> list[str]:
    """Valid and faulty files, dry runs, and, where there is no Ladder, more than the quota allows; gives the submissions."""
    path, json_file = f"/challenges/{slug}/phases/main/submissions", {"Content-Type": "application/json"}
    ids = PUBLIC_IDS + PRIVATE_IDS
    files = [json.dumps(dict(zip(ids, labels, strict=True))).encode() for labels in FILES]
    sent = []
    for place, content in enumerate(files + FAULTY if slug != LADDER else files[:2] + FAULTY[:2]):
        record.ask(blue, "POST", path, params={"dry_run": "true"}, content=content, headers=json_file)
        for who in (blue, green)[: 1 + place % 2]:
            answer = record.ask(who, "POST", path, content=content, headers=json_file | {"Prefer": "wait=60"})
            sent.append(answer.json()["id"])
            assert answer.status_code == 201, answer.text
    if slug == LADDER:
        return sent
    for content in (*files, *FAULTY):  # until both quotas are used up
        answer = record.ask(blue, "POST", path, content=content, headers=json_file | {"Prefer": "wait=60"})
    assert answer.status_code == 429, answer.text
    return sent


def record_play(folder: Path, which: int, scoring_loader: str) -> Recording:
    """The play under this gold, in an installation of its own."""
    record, moments, workers, document = Recording(), itertools.count(1000, 100), list[Worker](), openapi_document()
    clock_of_cache = SimpleNamespace(monotonic=lambda: next(moments) if workers else 1e9)
    start = Worker.start

    def start_worker(worker: Worker) -> None:
        workers.append(worker)
        start(worker)

    def calm() -> None:
        """Nothing changes any more: what works in the background ends, and boards that are kept are shown."""
        workers.pop().stop()

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with ExitStack() as stack:
        for name, value in {
            "app.api.caching.board_cache.time": clock_of_cache,  # each look finds a board too old, until nothing changes
            "app.main.document.complete_document": lambda _: (
                document
            ),  # building it takes seconds, and reads no database
            "app.main.FastAPI.openapi": lambda _: document,
            "tests.preloaded_scoring.loader": lambda: scoring_loader,
            "app.main.Worker.start": start_worker,
        }.items():
            stack.enter_context(mock.patch(name, value))
        stack.enter_context(pinned())
        app = stack.enter_context(serve_app(app_settings(folder / "data"), analyses=True))
        play(app, which, record, calm)
        record.reads = {
            route.path_format for route in app.app.routes if isinstance(route, Route) and "GET" in (route.methods or ())
        }
        for slug, split in itertools.product(STAGES, ("public", "private")):
            rows = app.admin().board(slug, split=split).json()["rows"]
            record.values[slug, split] = {row["team"]["name"]: row["scores"]["accuracy"]["value"] for row in rows}
    return record


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    """The same play under both golds, each in a process of its own, where nothing remembers the other."""
    folders, context = [tmp_path_factory.mktemp("gold") for _ in PRIVATE], get_context("forkserver")
    context.set_forkserver_preload([__name__])  # or each loads the program again
    with ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as processes:
        loaders = [preloaded_scoring.loader()] * 2
        return list(processes.map(record_play, folders, range(2), loaders, timeout=10 * MAX_WAIT_SECONDS))


def test_every_route_that_reads_is_read(recordings: list[Recording]) -> None:
    assert recordings[0].reads == READ.keys() | PAGES.keys()


def test_no_answer_depends_on_a_label(recordings: list[Recording]) -> None:
    first, second = recordings
    assert len(first.answers) == len(second.answers) > 500
    different = [one[0] for one, other in zip(first.answers, second.answers, strict=True) if one != other]
    assert different == []
    assert {status for _, status, _, _ in first.answers} >= {200, 201, 304, 403, 404, 409, 429}
    for slug in STAGES:
        assert first.values[slug, "private"] != second.values[slug, "private"]


def test_under_a_ladder_the_scores_that_are_not_told_differ(recordings: list[Recording]) -> None:
    first, second = recordings
    assert b'"ladder":{"step":0.5,' in b"".join(body for _, _, _, body in first.answers)
    assert first.values[LADDER, "public"] != second.values[LADDER, "public"]
    assert first.values["pets", "public"] == second.values["pets", "public"]


def test_no_work_depends_on_a_label(recordings: list[Recording]) -> None:
    """The statements of each request, and the calls of reading and scoring each file, which are all that it costs."""
    first, second = recordings
    different = [
        (one[0], one[1] - other[1], other[1] - one[1])
        for one, other in zip(first.work, second.work, strict=True)
        if one != other
    ]
    assert different == []
    assert sum(sum(statements.values()) for _, statements in first.work) > len(first.work)
