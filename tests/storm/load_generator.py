"""What a storm sends: posts made from a seed, and the senders that repeat each one until it is acknowledged."""

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

import httpx

CLASSES = ["ant", "bee", "cat", "dog"]
INSTANCES = 200
BURST_SIZE = 20  # posts that come together, so that work is queued while things break
SEND_TIMEOUT_SECONDS = 120.0  # seconds for which a sender repeats a post
ANSWER_TIMEOUT_SECONDS = 10.0
ACKNOWLEDGED = {200, 201, 202}


@dataclass(frozen=True, slots=True)
class PlannedSubmission:
    """One submission to be made, whatever it takes."""

    number: int
    key: str
    body: bytes
    valid: bool
    at_once: int
    """How many requests with its key are sent at the same time."""
    again: bool
    """Sent once more after it was acknowledged."""
    wait: int
    """Seconds to wait for its scores."""


def make_gold(seed: int) -> list[dict[str, str]]:
    """True labels, half of them public."""
    rng = random.Random(f"gold {seed}")
    splits = ("public", "private")
    return [{"id": f"t{n}", "label": rng.choice(CLASSES), "split": splits[n % 2]} for n in range(INSTANCES)]


def make_corrected_gold(seed: int) -> list[dict[str, str]]:
    """The same with other labels for some instances."""
    wrong = random.Random(f"correction {seed}").sample(range(INSTANCES), INSTANCES // 10)
    other = dict(zip(CLASSES, CLASSES[1:] + CLASSES[:1], strict=True))
    rows = make_gold(seed)
    for place in wrong:
        rows[place]["label"] = other[rows[place]["label"]]
    return rows


def plan_submissions(seed: int, count: int) -> list[PlannedSubmission]:
    """So many posts; one in eight holds a faulty file, one in ten is sent several times at once."""
    truth = {row["id"]: row["label"] for row in make_gold(seed)}
    return [_post(random.Random(f"post {seed} {number}"), number, truth) for number in range(count)]


def _post(rng: random.Random, number: int, truth: dict[str, str]) -> PlannedSubmission:
    skill = rng.random()
    labels = {name: label if rng.random() < skill else rng.choice(CLASSES) for name, label in truth.items()}
    valid = rng.random() >= 1 / 8
    return PlannedSubmission(
        number=number,
        key=f"{number}-{rng.getrandbits(64):x}",
        body=json.dumps(labels).encode() if valid else _faulty_body(rng, labels),
        valid=valid,
        at_once=rng.choice((2, 3)) if rng.random() < 0.1 else 1,
        again=rng.random() < 0.05,
        wait=1 if rng.random() < 0.05 else 0,
    )


def _faulty_body(rng: random.Random, labels: dict[str, str]) -> bytes:
    fault = rng.choice(("missing", "unknown id", "unknown label", "cut off"))
    some = rng.choice(sorted(labels))
    if fault == "missing":
        del labels[some]
    elif fault == "unknown id":
        labels["nobody"] = "ant"
    elif fault == "unknown label":
        labels[some] = "eel"
    text = json.dumps(labels).encode()
    return text[: len(text) // 2] if fault == "cut off" else text


@dataclass(slots=True)
class SendLog:
    """What the senders were told, all of them together."""

    ids: dict[str, set[str]] = field(default_factory=dict)
    """By key, every id that was acknowledged for it."""
    sent: int = 0
    acknowledged: int = 0
    """Posts with an acknowledgement."""
    unavailable: Counter[str] = field(default_factory=Counter)
    """What made senders repeat."""
    faults: list[str] = field(default_factory=list)
    longest: float = 0.0
    """Seconds from the first try of a post to its acknowledgement, at most."""
    lock: Lock = field(default_factory=Lock)

    def acknowledge(self, post: PlannedSubmission, submission: str, seconds: float) -> None:
        """Note an acknowledgement."""
        with self.lock:
            self.acknowledged += post.key not in self.ids
            self.ids.setdefault(post.key, set()).add(submission)
            self.longest = max(self.longest, seconds)

    def repeat(self, why: str) -> None:
        """Note that a post has to be repeated."""
        with self.lock:
            self.unavailable[why] += 1

    def fault(self, text: str) -> None:
        """Note an answer that should not be."""
        with self.lock:
            self.faults.append(text)


class Sender:
    """A member of a team, who posts to any of the replicas."""

    def __init__(self, urls: list[str], path: str, token: str, heard: SendLog, seed: str) -> None:
        self._urls = urls
        self._path = path
        self._rng = random.Random(seed)
        self._heard = heard
        limits = httpx.Limits(max_keepalive_connections=8)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}"}, timeout=ANSWER_TIMEOUT_SECONDS, limits=limits, trust_env=False
        )
        self._hands = ThreadPoolExecutor(4)

    def send(self, post: PlannedSubmission) -> None:
        """Post, as often as it takes; at once with itself, and again, as the post says."""
        first = self._rng.randrange(len(self._urls))
        doing = [self._hands.submit(self._until_acknowledged, post, first + n) for n in range(post.at_once)]
        for each in doing:
            each.result()
        if post.again:
            self._until_acknowledged(post, first + 1)

    def _until_acknowledged(self, post: PlannedSubmission, first: int) -> None:
        began = time.monotonic()
        for url in self._turns(first):
            answer = self._ask(url, post)
            if answer is not None and answer.status_code in ACKNOWLEDGED:
                self._heard.acknowledge(post, str(answer.json()["id"]), time.monotonic() - began)
                return
            if answer is not None and answer.status_code != 503 and b"request_in_flight" not in answer.content:
                self._heard.fault(f"post {post.number} was answered {answer.status_code}: {answer.text[:300]}")
                return
            if time.monotonic() - began > SEND_TIMEOUT_SECONDS:
                self._heard.fault(f"post {post.number} was not acknowledged for {SEND_TIMEOUT_SECONDS:.0f} s")
                return
            time.sleep(0.1)

    def _turns(self, first: int) -> Iterator[str]:
        while True:
            yield self._urls[first % len(self._urls)]
            first += 1

    def _ask(self, url: str, post: PlannedSubmission) -> httpx.Response | None:
        with self._heard.lock:
            self._heard.sent += 1
        preference = {"Prefer": f"wait={post.wait}"} if post.wait else {}
        headers = {"Idempotency-Key": post.key, "Content-Type": "application/json", **preference}
        try:
            answer = self._client.post(
                f"{url}/api/v1{self._path}", content=post.body, params={"method": f"m{post.number}"}, headers=headers
            )
        except httpx.TransportError as broken:
            self._heard.repeat(type(broken).__name__)
            return None
        if answer.status_code not in ACKNOWLEDGED:
            kind = answer.headers.get("content-type", "").startswith("application/problem+json")
            self._heard.repeat(str(answer.json()["code"] if kind else answer.status_code))
        return answer

    def close(self) -> None:
        """Hang up."""
        self._hands.shutdown()
        self._client.close()


def send_in_bursts(senders: list[Sender], waiting: list[PlannedSubmission], pace: float) -> None:
    """Have the senders share the posts, which come in gusts, one every `pace` seconds on average; returns after all."""
    began = time.monotonic()
    left = iter(enumerate(waiting))
    lock = Lock()

    def work(sender: Sender) -> None:
        while True:
            with lock:
                number, post = next(left, (0, None))
            if post is None:
                return
            time.sleep(max(0.0, began + number // BURST_SIZE * BURST_SIZE * pace - time.monotonic()))
            sender.send(post)

    with ThreadPoolExecutor(len(senders)) as threads:
        for done in [threads.submit(work, sender) for sender in senders]:
            done.result()
