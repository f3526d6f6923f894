"""Readers are shared out fairly: one request of each caller at a time, and gold has a reader of its own."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from fastapi import Request

from app.actions.access import VISITOR, Caller
from app.api.caching.generated_files import GeneratedFiles
from app.api.dependencies import caller_key
from app.api.limits.reader_queue import MAX_PER_CALLER, ReaderPool, ReaderQueue, TooManyWaiting
from app.prepared.gold_folder import PreparedGoldFolder
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import Reply, ValidatePredictions
from app.scoring_processes.messages import Request as ScoringRequest
from tests.api.conftest import GOLD
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import freeze
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, eventually, open_challenge
from tests.live_service import Caller as Person

GOOD = {row["id"]: row["label"] for row in GOLD}
SUBMISSIONS = "/challenges/digits/phases/main/submissions"


# ---- the turns by themselves ----------------------------------------------------------------------


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def order(count: int, callers: str, *, later: str = "") -> str:
    """In which order callers, by their letters, get `count` children; the `later` ones come amid the first request."""
    turns, served_now, order = ReaderQueue(count), asyncio.Semaphore(0), ""

    async def ask(caller: str) -> None:
        nonlocal order
        with turns.enter(caller) as place:
            await place.wait_for_turn()
            order += caller
            await served_now.acquire()

    tasks = []
    for caller in callers + later:
        tasks.append(asyncio.ensure_future(ask(caller)))
        await settle()
    for _ in tasks:
        served_now.release()
        await settle()
    await asyncio.gather(*tasks)
    assert turns.__dict__ == ReaderQueue(count).__dict__  # nothing is left behind
    return order


@pytest.mark.parametrize(
    ("count", "callers", "expected"),
    [
        (1, "AAAA", "AAAA"),
        (1, "AAAAB", "ABAAA"),
        (1, "AAAABBC", "ABCABAA"),
        (2, "AAAAB", "ABAAA"),
        (2, "AABBC", "ABCAB"),
        (3, "AAAB", "ABAA"),
    ],
)
def test_a_caller_waits_for_one_request_of_each_other_caller(count: int, callers: str, expected: str) -> None:
    assert asyncio.run(order(count, callers)) == expected


def test_a_caller_has_so_many_places_and_leaves_them() -> None:
    turns = ReaderQueue(1, max_per_caller=3)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(turns.enter("A"))
        with pytest.raises(TooManyWaiting) as refused, turns.enter("A"):
            pass
        assert int(refused.value.headers["Retry-After"]) > 0
        with turns.enter("B"):
            pass
    with turns.enter("A"):
        pass
    assert turns.__dict__ == ReaderQueue(1, max_per_caller=3).__dict__


def test_who_is_cancelled_gives_way_whether_its_turn_has_come_or_not() -> None:
    async def ask(turns: ReaderQueue, caller: str) -> None:
        with turns.enter(caller) as place:
            await place.wait_for_turn()
            await asyncio.sleep(3600)

    async def cancel_each() -> None:
        turns = ReaderQueue(1)
        tasks = [asyncio.ensure_future(ask(turns, caller)) for caller in "AAB"]
        await settle()
        with turns.enter("C") as last:
            waiting = asyncio.ensure_future(last.wait_for_turn())
            await settle()
            tasks[2].cancel()  # it waits
            await settle()
            assert not waiting.done()
            tasks[0].cancel()  # it has its turn, which goes to C, for A goes behind it
            await settle()
            assert waiting.done()
            tasks[1].cancel()
        tasks.append(asyncio.ensure_future(ask(turns, "D")))
        await settle()
        tasks[3].cancel()
        assert {type(end) for end in await asyncio.gather(*tasks, return_exceptions=True)} == {asyncio.CancelledError}
        assert turns.__dict__ == ReaderQueue(1).__dict__

    asyncio.run(cancel_each())


def test_children_that_are_kept_go_to_organizers_alone() -> None:
    async def ask(turns: ReaderQueue, caller: str, served_now: list[str]) -> None:
        with turns.enter(caller.lower(), organizer=caller.isupper()) as place:
            await place.wait_for_turn()
            served_now.append(caller)
            await asyncio.sleep(3600)

    async def ask_all() -> None:
        turns, served_now = ReaderQueue(3, reserved=1), list[str]()
        tasks = []
        for caller in "abcdAB":
            tasks.append(asyncio.ensure_future(ask(turns, caller, served_now)))
            await settle()
        assert served_now == [
            "a",
            "b",
            "A",
        ]  # as an organizer, a caller does not wait for what it asked as a participant
        tasks[4].cancel()
        await settle()
        assert served_now[3:] == ["B"]
        tasks[5].cancel()
        await settle()
        assert served_now[4:] == []  # one is free, which is kept
        tasks[0].cancel()
        await settle()
        assert served_now[4:] == ["c"]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert turns.__dict__ == ReaderQueue(3, reserved=1).__dict__

    asyncio.run(ask_all())


def test_a_file_that_several_want_is_not_held_up_by_the_line_of_one(tmp_path: Path) -> None:
    async def ask() -> None:
        turns = ReaderQueue(2)
        files = GeneratedFiles(tmp_path / "made", turns)
        files.clear()
        made: list[str] = []

        def make(target: Path) -> None:
            made.append(target.name)
            target.write_bytes(b"x")

        with turns.enter("Blue") as busy:
            await busy.wait_for_turn()
            mine = [asyncio.ensure_future(files.get_or_generate("a", "Blue", make)) for _ in range(2 * MAX_PER_CALLER)]
            await settle()
            assert made == []
            path = await files.get_or_generate("a", "Red", make)
            assert not any(each.done() for each in mine)
        assert set(await asyncio.gather(*mine)) == {path}
        assert made == ["a.part"]

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("name", "name"),
    ],
)
def test_visitors_are_told_apart_by_their_networks(address: str, expected: str) -> None:
    request = Request({"type": "http", "client": (address, 1), "headers": []})
    assert caller_key(request, VISITOR) == expected
    assert caller_key(request, Caller(user_id="u1")) == "u1"


# ---- over HTTP ------------------------------------------------------------------------------------


class Gate:
    """Holds what participants ask of the children until the test lets it through; the files say whose they are."""

    def __init__(self, children: ScoringProcesses) -> None:
        self._children = children
        self._lock = threading.Lock()
        self._through: set[Path] = set()
        self.waiting: dict[str, threading.Event] = {}

    def call(self, request: ScoringRequest) -> Reply:
        assert isinstance(request, ValidatePredictions)
        path = request.predictions.path
        with self._lock:
            known = path in self._through  # gold that is not ready yet is asked about twice
            self._through.add(path)
        if not known:
            held = threading.Event()
            name = path.read_text().split('"')[1]
            with self._lock:
                self.waiting[name] = held
            assert held.wait(MAX_WAIT_SECONDS)
            with self._lock:
                del self.waiting[name]
        return self._children.call(request)

    @property
    def prepared_gold(self) -> PreparedGoldFolder | None:
        return self._children.prepared_gold

    def close(self) -> None:
        self._children.close()

    def names(self) -> set[str]:
        with self._lock:
            return {name.partition("-")[0] for name in self.waiting}

    def open(self, whose: str) -> None:
        with self._lock:
            for name, held in self.waiting.items():
                if name.startswith(whose):
                    held.set()


@pytest.fixture
def gate(app: ServedApp) -> Iterator[Gate]:
    service = app.app.state.service
    before = service.readers
    made = Gate(before.processes)
    service.readers = ReaderPool(made, before.queue)
    yield made
    service.readers = before


def person(app: ServedApp, name: str) -> Person:
    email = f"{name.lower()}@example.org"
    app.caller().post("/users", json={"email": email, "name": name, "password": PASSWORD}).raise_for_status()
    answer = app.caller().post("/tokens", json={"email": email, "password": PASSWORD})
    return app.caller(answer.json()["token"]).join("digits", f"Team {name}")


def dry_run(who: Person, name: str, **query: str) -> httpx.Response:
    return who.post(SUBMISSIONS, json={name: "cat", **GOOD}, params={"dry_run": "true", **query})


def waiting(turns: ReaderQueue) -> int:
    return sum(map(len, turns._waiting.values()))


def test_many_dry_runs_of_one_delay_another_by_one_and_gold_not_at_all(app: ServedApp, gate: Gate) -> None:
    blue, red, green = (person(app, name) for name in ("Blue", "Red", "Green"))
    turns = app.app.state.service.readers.queue
    with ThreadPoolExecutor(20) as threads:
        many = [threads.submit(dry_run, blue, f"Blue-{number}") for number in range(14)]

        def refused() -> list[Future[httpx.Response]]:
            return [each for each in many if each.done()]

        eventually(lambda: len(refused()) == 14 - MAX_PER_CALLER, "those beyond the line are refused")
        for each in refused():
            answer = each.result()
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_waiting")
            assert int(answer.headers["Retry-After"]) > 0
        eventually(lambda: waiting(turns) == MAX_PER_CALLER - 1, "the others stand in line")
        eventually(lambda: gate.names() == {"Blue"}, "one of them is read")
        assert len(gate.waiting) == 1

        open_challenge(app.admin(), "second", GOLD)
        draft = app.admin().post("/challenges/second/phases/main/gold", json=GOLD)
        assert draft.status_code == 201, draft.text
        counts = {"cat": 1, "dog": 2}
        put = app.admin().put(
            f"/challenges/second/phases/main/gold/{draft.json()['version']}/train-frequencies", json=counts
        )
        assert put.status_code == 200, put.text

        reds = threads.submit(dry_run, red, "Red-0")
        eventually(lambda: gate.names() == {"Blue", "Red"}, "Red is served beside one of Blue's")
        greens = threads.submit(dry_run, green, "Green-0")
        eventually(lambda: len(turns._waiting) == 2, "Green waits")
        gate.open("Blue")
        eventually(lambda: gate.names() == {"Red", "Green"}, "Green is served before another of Blue's")

        def all_answered() -> bool:
            gate.open("")
            return all(each.done() for each in [*many, reds, greens])

        eventually(all_answered, "all are answered")
    assert [each.result().status_code for each in many].count(200) == MAX_PER_CALLER
    assert (reds.result().status_code, greens.result().status_code) == (200, 200)
    assert reds.result().json()["total"] == {"unknown_id": 1}


def test_organizers_are_served_while_participants_keep_all_other_readers_busy(app: ServedApp, gate: Gate) -> None:
    admin, service = app.admin(), app.app.state.service
    sent = admin.submit("digits", GOOD, team="Heads").json()
    with ThreadPoolExecutor(4) as threads:
        held = [threads.submit(dry_run, person(app, name), name) for name in ("Lime", "Mint", "Pink")]
        eventually(lambda: len(gate.waiting) == 2 and waiting(service.readers.queue) == 1, "two are read, one waits")
        service.readers = ReaderPool(gate._children, service.readers.queue)  # what follows has no gate
        assert admin.submit("digits", GOOD, team="Heads", dry_run="true").json()["valid"]
        template = admin.get("/challenges/digits/phases/main/template", params={"format": "jsonl"})
        report = admin.get(f"/submissions/{sent['id']}/report", params={"part": "confusion"})
        assert (template.status_code, report.status_code) == (200, 200)
        assert not any(each.done() for each in held)

        def all_answered() -> bool:
            gate.open("")
            return all(each.done() for each in held)

        eventually(all_answered, "all are answered")


def test_reports_and_templates_stand_in_the_line_of_dry_runs(app: ServedApp, gate: Gate) -> None:
    admin = app.admin()
    sent = admin.submit("digits", GOOD, team="Admins").json()
    service = app.app.state.service
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(dry_run, admin, "Admin-0", team="Admins")
        eventually(lambda: gate.names() == {"Admin"}, "a dry run is read")
        asked = [
            threads.submit(admin.get, f"/submissions/{sent['id']}/report"),
            threads.submit(admin.get, "/challenges/digits/phases/main/template", params={"format": "tsv"}),
        ]
        eventually(lambda: waiting(service.readers.queue) == 2, "the others wait")
        assert not any(each.done() for each in asked)
        service.readers = ReaderPool(gate._children, service.readers.queue)  # what is made has no gate
        gate.open("Admin")
        assert {each.result(MAX_WAIT_SECONDS).status_code for each in [first, *asked]} == {200}


@pytest.mark.ci
def test_a_dry_run_has_a_time_limit_of_its_own_which_is_not_the_fault_of_the_file(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", reading_seconds=2)) as app:
        open_challenge(app.admin(), "digits", GOLD)
        blue = person(app, "Blue")
        eventually(lambda: dry_run(blue, "Blue").status_code == 200, "a reader is ready")
        for pid in app.app.state.service.readers.processes.pids():
            freeze(pid)
        answer = dry_run(blue, "Blue")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable"), answer.text
        assert "no reply within 2 s" in answer.json()["detail"]
        assert int(answer.headers["Retry-After"]) > 0
        eventually(lambda: dry_run(blue, "Blue").status_code == 200, "another reader goes on")
