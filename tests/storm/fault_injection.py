"""What a storm destroys: processes killed, frozen and started again at moments that a seed decides."""

import heapq
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from tests.cluster import ServiceProcess
from tests.faults.inspection import children_of, has_unread_request
from tests.storm.deployments import Deployment

POLL_SECONDS = 0.02
HOLD_SECONDS = 0.2  # that a child is held until it is sent a request
KILL_SECONDS = 2.0  # within which one of them is sent a request
MAX_DOWNTIME_SECONDS = 1.5  # seconds that a killed process stays down, at most
ACTIONS_BY_DATABASE = {
    "postgresql": (*("kill_child",) * 3, "kill_worker", "kill_worker_group", "freeze_worker", "kill_api"),
    "sqlite": (*("kill_child",) * 3, "kill_service", "kill_service_group", "kill_starting", "freeze_service"),
}
DATABASE_CRASH_COUNTS = (1, 2)


@dataclass(frozen=True, slots=True)
class FaultSchedule:
    """How hard it storms."""

    pace: float
    """Seconds from post to post, on average, unless they take longer."""
    pauses: tuple[float, float]
    """Seconds from action to action, from and to."""
    spared: int
    """Acknowledgements between two ends of a service that is alone: without them it would only ever start."""
    bags: int
    """How many bags of actions it has, at most."""


SHORT_SCHEDULE = FaultSchedule(pace=0.08, pauses=(0.2, 0.8), spared=12, bags=1)
LONG_SCHEDULE = FaultSchedule(pace=0.03, pauses=(0.4, 1.8), spared=100, bags=1000)


class FaultInjector:
    """One thread; each action is drawn from a bag, so that all kinds come in every storm."""

    def __init__(
        self, site: Deployment, seed: int, weather: FaultSchedule, posts: int, acknowledged: Callable[[], int]
    ) -> None:
        """`posts`: how many there will be; `acknowledged`: how many are."""
        self._site = site
        self._rng = random.Random(f"chaos {seed}")
        self._acknowledged = acknowledged
        self._weather = weather
        self._spared_until = weather.spared // 4
        self._stop = threading.Event()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._down: set[ServiceProcess] = set()
        self._frozen: dict[ServiceProcess, int] = {}
        self._bag: list[str] = []
        self._bags = weather.bags
        crashes = self._rng.choice(DATABASE_CRASH_COUNTS) if site.crash_database else 0
        self._crashes = sorted(self._rng.uniform(0.1, 0.8) * posts for _ in range(crashes))
        self.done: list[tuple[float, str]] = []
        """Every action, with the time of day when it began."""
        self.ended = Counter[str]()
        """Processes that ended by themselves, by role: while they start they do so when the database is away."""
        self.faults: list[str] = []
        """What processes that had begun to work said when they ended by themselves."""

    @property
    def counts(self) -> Counter[str]:
        """How often each action was done."""
        return Counter(name for _, name in self.done)

    def run(self) -> None:
        """Rage until `stop`; then let everything live."""
        following = time.monotonic() + self._rng.uniform(*self._weather.pauses)
        while not self._stop.wait(POLL_SECONDS):
            self._run_due(time.monotonic())
            self._restart_ended()
            if self._crashes and self._acknowledged() >= self._crashes[0]:
                self._crashes.pop(0)
                self._crash_database()
            elif time.monotonic() >= following:
                self._act()
                following = time.monotonic() + self._rng.uniform(*self._weather.pauses)
        self._run_due(float("inf"))

    def stop(self) -> None:
        """No more of it."""
        self._stop.set()

    # ---- what follows an action

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), call))

    def _run_due(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            heapq.heappop(self._due)[2]()

    def _restart_ended(self) -> None:
        """Start again what ended by itself, as whatever watches over services does: it may have met a dead database."""
        for part in self._site.parts:
            if part not in self._down and part.process is not None and part.process.poll() is not None:
                self.ended[part.role] += 1
                if part.begun:
                    self.faults.append(f"a process at work ended ({part.role}): {part.log()[-1500:]}")
                self._start_later(part)

    def _start_later(self, part: ServiceProcess) -> None:
        """Start a dead process after a while."""
        self._down.add(part)
        self._later(self._rng.uniform(0.0, MAX_DOWNTIME_SECONDS), lambda: self._start(part))

    def _start(self, part: ServiceProcess) -> None:
        self._down.discard(part)
        part.start()

    # ---- actions

    def _act(self) -> None:
        if not self._bag:
            if not self._bags:
                return
            self._bags -= 1
            self._bag = list(ACTIONS_BY_DATABASE[self._site.database])
            self._rng.shuffle(self._bag)
        name = self._bag.pop()
        began = time.time()
        if getattr(self, f"_{name}")():
            self.done.append((began, name))
        else:
            self._bag.insert(0, name)  # its turn comes later

    def _live(self, parts: list[ServiceProcess]) -> list[ServiceProcess]:
        return [part for part in parts if part not in self._down and part not in self._frozen]

    def _worker(self) -> ServiceProcess | None:
        """A worker that may be taken away: one other at least goes on."""
        found = self._live(self._site.workers)
        return self._rng.choice(found) if len(found) > 1 else None

    def _kill(self, part: ServiceProcess | None, *, group: bool = False) -> bool:
        if part is None:
            return False
        part.kill(group=group)
        self._start_later(part)
        return True

    def _kill_child(self) -> bool:
        """The first child that gets something to do; if none does, its turn comes later."""
        found = [part for part in self._live(self._site.workers) if part.is_ready()]
        if not found:
            return False
        worker = self._rng.choice(found).pid
        busy, ends = None, time.monotonic() + KILL_SECONDS
        while not busy and time.monotonic() < ends and not self._stop.wait(POLL_SECONDS):
            busy = self._hold(children_of(worker))
        if busy:
            _signal(busy, signal.SIGKILL)
        return busy is not None

    def _hold(self, children: list[int]) -> int | None:
        """Freeze them until one of them is sent a request, or so long that all may only have been at work before."""
        for child in children:
            _signal(child, signal.SIGSTOP)
        ends = time.monotonic() + HOLD_SECONDS
        while not (busy := next(filter(has_unread_request, children), None)) and time.monotonic() < ends:
            time.sleep(POLL_SECONDS)
        for child in children:
            if child != busy:
                _signal(child, signal.SIGCONT)
        return busy

    def _kill_worker(self) -> bool:
        return self._kill(self._worker())

    def _kill_worker_group(self) -> bool:
        return self._kill(self._worker(), group=True)

    def _kill_api(self) -> bool:
        found = self._live(self._site.apis)
        if len(found) < 2 or not all(part.is_ready() for part in found):
            return False
        return self._kill(self._rng.choice(found))

    def _freeze_worker(self) -> bool:
        leases = self._site.leases
        return self._freeze(self._worker(), leases.lease + self._rng.uniform(0.5, 2) * leases.heartbeat)

    def _freeze_service(self) -> bool:
        found = [part for part in self._live(self._site.parts) if part.is_ready()]
        return self._freeze(found[0] if found else None, self._rng.uniform(0.2, 1.0))

    def _freeze(self, part: ServiceProcess | None, seconds: float) -> bool:
        if part is None:
            return False
        self._frozen[part] = part.pid
        os.kill(part.pid, signal.SIGSTOP)
        self._later(seconds, lambda: self._thaw(part))
        return True

    def _thaw(self, part: ServiceProcess) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._frozen.pop(part), signal.SIGCONT)

    def _service(self) -> ServiceProcess | None:
        """The one service, if it may end now."""
        if self._acknowledged() < self._spared_until:
            return None
        return next((part for part in self._live(self._site.parts) if part.is_ready()), None)

    def _end_service(self, *, group: bool) -> bool:
        ended = self._kill(self._service(), group=group)
        if ended:
            self._spared_until = self._acknowledged() + self._weather.spared
        return ended

    def _kill_service(self) -> bool:
        return self._end_service(group=False)

    def _kill_service_group(self) -> bool:
        return self._end_service(group=True)

    def _kill_starting(self) -> bool:
        """Killed, and killed again while it starts."""
        part = self._service()
        if part is None:
            return False
        part.kill()
        part.start()
        self._down.add(part)
        self._spared_until = self._acknowledged() + self._weather.spared
        self._later(self._rng.uniform(0.0, MAX_DOWNTIME_SECONDS), lambda: self._kill_again(part))
        return True

    def _kill_again(self, part: ServiceProcess) -> None:
        self._kill(part)

    def _crash_database(self) -> None:
        assert self._site.crash_database is not None
        self.done.append((time.time(), "crash_database"))
        self._site.crash_database()


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
