"""One storm: senders post to a service while chaos rages in it; then all of it is judged."""

import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import httpx

from app import __version__
from app.settings import Settings
from tests.live import Caller, open_challenge
from tests.storm import load
from tests.storm.chaos import Chaos, Weather
from tests.storm.load import Heard, Sender
from tests.storm.sites import CRASH_CAP, Site
from tests.storm.stored import Stored, at_work, database, read, version_of
from tests.storm.verdict import SPLITS, Caps, Evidence, Verdict, judge

SLUG = "storm"
PATH = f"/challenges/{SLUG}/phases/main/submissions"
SENDERS = 6
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy", "mcc"], "tie_breakers": ["accuracy"]}
PASSWORD = "a password for storms"
QUIET_SECONDS = 240.0


CAPS = Caps(crashes=CRASH_CAP, interruptions=Settings.model_fields["interruption_cap"].default)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a storm leaves: the evidence, the verdict on it, and the line of figures."""

    evidence: Evidence
    verdict: Verdict
    line: dict[str, Any]


def storm(site: Site, seed: int, count: int, weather: Weather) -> Outcome:
    """Start the service, storm, wait until nothing is at work, and judge."""
    site.start()
    tokens = _prepared(site, seed)
    posts, heard = load.posts(seed, count), Heard()
    urls = [part.url for part in site.apis]
    senders = [Sender(urls, PATH, token, heard, f"sender {seed} {n}") for n, token in enumerate(tokens.values())]
    chaos = Chaos(site, seed, weather, count, lambda: heard.acknowledged)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as raging:
        done = raging.submit(chaos.run)
        try:
            load.rain(senders, posts, weather.pace)
        finally:
            chaos.stop()
        done.result()
    calm = time.monotonic()
    for sender in senders:
        sender.close()
    site.start()
    _wait_for_quiet(site)
    ended = time.monotonic()
    seconds = {"seconds": round(ended - began, 1), "seconds_to_quiet": round(ended - calm, 1)}
    boards, used = _shown(site, tokens)
    evidence = Evidence(posts, heard.ids, read(site.settings), boards, used)
    verdict = judge(evidence, CAPS)
    verdict.wrong += [*heard.faults, *chaos.faults]
    line = {"database": site.database, "seed": seed, **_line(site, evidence, heard, chaos, verdict), **seconds}
    return Outcome(evidence, verdict, line)


def _prepared(site: Site, seed: int) -> dict[str, str]:
    """A challenge with gold; gives the tokens of members of as many teams as there are senders, by team id."""
    url = site.apis[0].url
    tokens = {}
    with Caller(url, site.admin_token) as admin, Caller(url, None) as nobody:
        open_challenge(admin, SLUG, load.gold(seed), recipe=RECIPE, classes=load.CLASSES)
        for number in range(SENDERS):
            email = f"sender{number}@example.org"
            person = {"email": email, "name": f"Sender {number}", "password": PASSWORD}
            nobody.post("/users", json=person).raise_for_status()
            login = nobody.post("/tokens", json={"email": email, "password": PASSWORD}).raise_for_status()
            with Caller(url, str(login.json()["token"])) as member:
                joined = member.post(f"/challenges/{SLUG}/registrations", json={"team": f"Team {number}"})
                tokens[_body(joined)["team"]["id"]] = str(login.json()["token"])
    return tokens


def _wait_for_quiet(site: Site) -> None:
    """Wait until nothing is queued or running any more; what still is then, the verdict finds."""
    deadline = time.monotonic() + QUIET_SECONDS
    with database(site.settings) as db:
        while at_work(db) and time.monotonic() < deadline:
            time.sleep(0.1)


def _shown(site: Site, tokens: dict[str, str]) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, int]]]:
    """The boards as an organizer reads them, each replica in turn, and what each team has used, by its id."""
    url = site.apis[0].url
    boards, used = {}, {}
    with Caller(site.apis[-1].url, site.admin_token) as admin:
        for split in SPLITS:
            boards[split] = _body(admin.board(SLUG, split=split))
    for team, token in tokens.items():
        with Caller(url, token) as member:
            used[team] = _body(member.get(f"/challenges/{SLUG}/phases/main/quota"))["used"]
    return boards, used


def _body(answer: httpx.Response) -> dict[str, Any]:
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


def _line(site: Site, evidence: Evidence, heard: Heard, chaos: Chaos, verdict: Verdict) -> dict[str, Any]:
    """The figures of a storm, as they are kept."""
    stored, count = evidence.stored, len(evidence.posts)
    return {
        "submissions": count,
        "acknowledged": heard.acknowledged,
        "requests": heard.sent,
        "repeated": heard.sent - count,
        "repeated_because": dict(sorted(heard.unavailable.items())),
        "statuses": dict(sorted(Counter(row["status"] for row in stored.submissions).items())),
        "actions": dict(sorted(chaos.counts.items())),
        "ended_by_themselves": dict(sorted(chaos.ended.items())),
        "interruptions": sum(row["interruptions"] for row in stored.tasks),
        "crashes": sum(row["crashes"] for row in stored.tasks),
        "attempts": {str(n): k for n, k in sorted(Counter(row["attempt"] for row in stored.tasks).items())},
        "files_without_row": len(list((stored.files / "uploads").iterdir())) - len(stored.submissions) - 1,
        "lost": len(verdict.lost),
        "doubled": len(verdict.doubled),
        "wrong": len(verdict.wrong),
        "longest_acknowledgement": round(heard.longest, 1),
        "longest_recovery": round(_recovery(chaos, stored), 1),
        "longest_to_final": round(max(map(_to_final, stored.submissions), default=0.0), 1),
        "leases": asdict(site.leases),
        "versions": _versions(site),
    }


def _versions(site: Site) -> dict[str, str]:
    with database(site.settings) as db:
        engine = {site.database: version_of(db)}
    queue = {} if site.crash_database is None else {"procrastinate": version("procrastinate")}
    return {"assay": __version__, "python": sys.version.split()[0], **engine, **queue}


def _recovery(chaos: Chaos, stored: Stored) -> float:
    """Seconds from an action until the next submission got its final status, at most."""
    ends = sorted(row["finished_at"] for row in stored.submissions if row["finished_at"])
    waits = []
    for began, _ in chaos.done:
        moment = datetime.fromtimestamp(began, UTC)
        following = next((end for end in ends if end >= moment), None)
        if following is not None:
            waits.append((following - moment).total_seconds())
    return max(waits, default=0.0)


def _to_final(row: dict[str, Any]) -> float:
    ended = row["finished_at"]
    return 0.0 if ended is None else float((ended - row["submitted_at"]).total_seconds())


def told(outcome: Outcome) -> str:
    """The figures and every fault, for a person."""
    verdict = outcome.verdict
    found = [f"{name}: {each}" for name in ("lost", "doubled", "wrong") for each in getattr(verdict, name)[:20]]
    return "\n".join([json.dumps(outcome.line), *found])
