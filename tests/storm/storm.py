"""One storm: senders post to a service while chaos rages in it; then all of it is judged."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import httpx

from app import __version__
from app.settings import Settings
from tests.live_service import Caller, eventually, open_challenge
from tests.storm import load_generator
from tests.storm.consistency import SPLITS, AttemptCaps, ConsistencyReport, StormEvidence, check_consistency
from tests.storm.deployments import CRASH_CAP, Deployment
from tests.storm.fault_injection import FaultInjector, FaultSchedule
from tests.storm.load_generator import Sender, SendLog
from tests.storm.stored_rows import StoredRows, count_unfinished, database_version, open_database, read_rows
from tests.storm.verified_log import faults_of_log

SLUG = "storm"
PATH = f"/challenges/{SLUG}/phases/main/submissions"
SENDERS = 6
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy", "mcc"], "tie_breakers": ["accuracy"]}
PASSWORD = "a password for storms"
QUIESCE_TIMEOUT_SECONDS = 240.0


CAPS = AttemptCaps(crashes=CRASH_CAP, interruptions=Settings.model_fields["interruption_cap"].default)


@dataclass(frozen=True, slots=True)
class StormResult:
    """What a storm leaves: the evidence, the verdict on it, and the line of figures."""

    evidence: StormEvidence
    verdict: ConsistencyReport
    line: dict[str, Any]


def run_storm(site: Deployment, seed: int, count: int, weather: FaultSchedule) -> StormResult:
    """Start the service, storm, wait until nothing is at work, and judge."""
    site.start()
    tokens = _prepare_challenge(site, seed)
    posts, heard = load_generator.plan_submissions(seed, count), SendLog()
    urls = [part.url for part in site.apis]
    senders = [Sender(urls, PATH, token, heard, f"sender {seed} {n}") for n, token in enumerate(tokens.values())]
    chaos = FaultInjector(site, seed, weather, count, lambda: heard.acknowledged)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as raging:
        done = raging.submit(chaos.run)
        corrected = raging.submit(_correct_gold, site, seed, lambda: heard.acknowledged >= count // 2)
        try:
            load_generator.send_in_bursts(senders, posts, weather.pace)
        finally:
            chaos.stop()
        done.result()
        corrected.result()
    calm = time.monotonic()
    for sender in senders:
        sender.close()
    site.start()
    _wait_until_idle(site)
    _wait_for_correction(site)
    ended = time.monotonic()
    seconds = {"seconds": round(ended - began, 1), "seconds_to_quiet": round(ended - calm, 1)}
    boards, used = _read_boards_and_quotas(site, tokens)
    evidence = StormEvidence(posts, heard.ids, read_rows(site.settings), boards, used)
    verdict = check_consistency(evidence, CAPS)
    verdict.wrong += [*heard.faults, *chaos.faults, *faults_of_log(site)]
    line = {"database": site.database, "seed": seed, **_summary_line(site, evidence, heard, chaos, verdict), **seconds}
    return StormResult(evidence, verdict, line)


def _prepare_challenge(site: Deployment, seed: int) -> dict[str, str]:
    """A challenge with gold; gives the tokens of members of as many teams as there are senders, by team id."""
    url = site.apis[0].url
    tokens = {}
    with Caller(url, site.admin_token) as admin, Caller(url, None) as nobody:
        open_challenge(admin, SLUG, load_generator.make_gold(seed), recipe=RECIPE, classes=load_generator.CLASSES)
        for number in range(SENDERS):
            email = f"sender{number}@example.org"
            person = {"email": email, "name": f"Sender {number}", "password": PASSWORD}
            nobody.post("/users", json=person).raise_for_status()
            login = nobody.post("/tokens", json={"email": email, "password": PASSWORD}).raise_for_status()
            with Caller(url, str(login.json()["token"])) as member:
                joined = member.post(f"/challenges/{SLUG}/registrations", json={"team": f"Team {number}"})
                tokens[_body(joined)["team"]["id"]] = str(login.json()["token"])
    return tokens


def _correct_gold(site: Deployment, seed: int, is_time: Callable[[], bool]) -> None:
    """Upload other gold and activate it in the middle of the storm, again and again until the service has taken it."""
    eventually(is_time, "half of the posts are acknowledged", seconds=QUIESCE_TIMEOUT_SECONDS)
    phase, body = f"/challenges/{SLUG}/phases/main", load_generator.make_corrected_gold(seed)

    def is_requested() -> bool:
        with suppress(httpx.HTTPError), Caller(site.apis[0].url, site.admin_token) as admin:
            versions = admin.get(f"{phase}/gold").raise_for_status().json()["items"]
            if versions[0]["status"] != "draft":
                return len(versions) > 1
            path = f"{phase}/gold/{versions[0]['version']}/activate"
            admin.post(path, json={"reason": "Labels were wrong."}).raise_for_status()
            return True
        return False

    def is_uploaded() -> bool:
        with suppress(httpx.HTTPError), Caller(site.apis[0].url, site.admin_token) as admin:
            if len(admin.get(f"{phase}/gold").raise_for_status().json()["items"]) > 1:
                return True
            return admin.post(f"{phase}/gold", json=body).is_success
        return False

    eventually(is_uploaded, "the corrected gold is stored", seconds=QUIESCE_TIMEOUT_SECONDS)
    eventually(is_requested, "its activation is requested", seconds=QUIESCE_TIMEOUT_SECONDS)


def _wait_for_correction(site: Deployment) -> None:
    """Wait until the board has switched, and everything that this needs is done."""

    def has_switched() -> bool:
        with Caller(site.apis[-1].url, site.admin_token) as admin:
            return bool(admin.get(f"/challenges/{SLUG}/phases/main/gold").json()["items"][0]["status"] == "active")

    eventually(has_switched, "the board is of the corrected gold", seconds=QUIESCE_TIMEOUT_SECONDS)
    _wait_until_idle(site)


def _wait_until_idle(site: Deployment) -> None:
    """Wait until nothing is queued or running any more; what still is then, the verdict finds."""
    deadline = time.monotonic() + QUIESCE_TIMEOUT_SECONDS
    with open_database(site.settings) as db:
        while count_unfinished(db) and time.monotonic() < deadline:
            time.sleep(0.1)


def _read_boards_and_quotas(
    site: Deployment, tokens: dict[str, str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, int]]]:
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


def _summary_line(
    site: Deployment, evidence: StormEvidence, heard: SendLog, chaos: FaultInjector, verdict: ConsistencyReport
) -> dict[str, Any]:
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


def _versions(site: Deployment) -> dict[str, str]:
    with open_database(site.settings) as db:
        engine = {site.database: database_version(db)}
    queue = {} if site.crash_database is None else {"procrastinate": version("procrastinate")}
    return {"assay": __version__, "python": sys.version.split()[0], **engine, **queue}


def _recovery(chaos: FaultInjector, stored: StoredRows) -> float:
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


def report(outcome: StormResult) -> str:
    """The figures and every fault, for a person."""
    verdict = outcome.verdict
    found = [f"{name}: {each}" for name in ("lost", "doubled", "wrong") for each in getattr(verdict, name)[:20]]
    return "\n".join([json.dumps(outcome.line), *found])
