"""Generates docs/storm.md: the fault-injection test, and the figures of the runs in docs/storm.jsonl."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_parts import code, table

from tests.storm.deployments import APIS, CRASH_CAP, LONG_LEASES, SHORT_LEASES, WORKERS
from tests.storm.fault_injection import ACTIONS_BY_DATABASE, LONG_SCHEDULE, SHORT_SCHEDULE
from tests.storm.load_generator import BURST_SIZE, INSTANCES
from tests.storm.storm import SENDERS

RESULTS = Path(__file__).resolve().parent / "storm.jsonl"

ACTIONS = {
    "kill_child": "kill -9 of a scoring process that has been sent a request; later, if none is within two seconds",
    "kill_worker": "kill -9 of a worker alone; its scoring process ends by itself",
    "kill_worker_group": "kill -9 of a worker and its scoring process",
    "freeze_worker": "SIGSTOP of a worker for longer than its lease, then SIGCONT; by then another worker has its task",
    "kill_api": "kill -9 of one API replica while the other answers",
    "crash_database": "PostgreSQL stopped in mode `immediate`, which is a crash, and restarted; once or twice",
    "kill_service": "kill -9 of the service; its scoring processes end by themselves",
    "kill_service_group": "kill -9 of the service and its scoring processes",
    "kill_starting": "kill -9 of the service, and again while it starts",
    "freeze_service": "SIGSTOP of the service for up to a second, then SIGCONT",
}
FIGURES = {
    "submissions": "planned posts, each with an Idempotency-Key of its own",
    "acknowledged": "posts answered with 200, 201 or 202",
    "requests, repeated": "requests sent for these posts, and how many of them were repetitions",
    "repeated_because": "replies and broken connections after which a sender had to repeat",
    "statuses": "submissions by final status; every faulty file is `rejected`",
    "actions": "injected faults, by action",
    "ended_by_themselves": "processes that exited because the database was unavailable when they started, by role; they are restarted",
    "interruptions, crashes": "counted by the service: tasks whose worker was lost, and scoring processes that died during a request",
    "attempts": "tasks by number of claims",
    "files_without_row": "stored files of unacknowledged uploads; the service removes them after a day",
    "lost, doubled, wrong": "errors that the verification found",
    "seconds, seconds_to_quiet": "from the first post until no task was left, and the same from the last post",
    "longest_acknowledgement": "maximum seconds from the first request of a post to its acknowledgement",
    "longest_recovery": "maximum seconds from an action to the next final status of any submission",
    "longest_to_final": "maximum seconds from the admission of a submission to its final status",
    "leases": "the settings heartbeat_seconds and lease_seconds of the run; SQLite needs none",
}
_INTRODUCTION = f"""\
# Storms

A storm is a fault-injection test: it kills, freezes and restarts processes of a service under load, at times that a
seed determines. It verifies that every acknowledged submission is scored exactly once, and that the board is the one that
follows from the stored files.

```sh
make storm                             # ten runs of 2,000 submissions on each database
make storm OUT=docs/storm.jsonl        # also stores each run as a line; `make docs` then writes the tables below
.venv/bin/python -m tests.storm.run --database postgresql --submissions 150 --runs 1 --seed 7
```

`.ci/run` runs a storm of 80 submissions on each database. On PostgreSQL, {APIS} API replicas and {WORKERS} workers
(in `.ci/run` 2) share a server of their own; on SQLite there is one `assay serve`. {SENDERS} senders, each a member of a team, post files of
{INSTANCES} instances in bursts of {BURST_SIZE}. Some files are faulty; some posts are sent two or three times at once, some again
after they were acknowledged. A sender that gets no reply, or 503, repeats the request with the same key, on PostgreSQL
to the next replica. A killed process is restarted up to a second and a half later.

Leases are short to keep storms short: heartbeat {LONG_LEASES.heartbeat:g} s and lease {LONG_LEASES.lease:g} s, in `.ci/run` {SHORT_LEASES.heartbeat:g} s and {SHORT_LEASES.lease:g} s. There is an
action every {LONG_SCHEDULE.pauses[0]:g} to {LONG_SCHEDULE.pauses[1]:g} s; a short storm, of up to 300 submissions, has {len(ACTIONS_BY_DATABASE["sqlite"])} actions, {SHORT_SCHEDULE.pauses[0]:g} to {SHORT_SCHEDULE.pauses[1]:g} s apart, plus
crashes of the database. The cap of crashes is {CRASH_CAP}, because the storm kills the scoring processes, not their files.

## Actions
"""
_VERDICT = """\
## Verification

When half of the posts are acknowledged, an organizer uploads corrected gold and activates it, so every submission is
scored by both versions and the board switches in the storm. The scores by the former gold have to stay as they were,
every score has one receipt, and the transparency log has every receipt of what is shown once.

After the last post all processes are started, and the storm waits until no task is queued or running. Then it reads all
rows in one snapshot, scores all stored files again without the service, and checks:

- Every acknowledged id has its row, its key and its file, whose bytes are those that were sent.
- Each key has one id, however often and to whichever replica it was posted, and no row lacks an acknowledgement.
- Each submission has one task, which is done, and one final status: `finished` if its file was valid, otherwise
  `rejected`; `failed` only if its task reached a cap.
- Each finished submission has one row of scores for each split, and no other submission has any; every value equals the
  recomputed one to the last bit.
- The ledger has one reservation, and one charge or one refund, according to the status; the quota that the API shows
  equals the number of finished submissions.
- No task and no job is left, and no process exited by itself after it had started working.
- The boards of all three splits that the API shows equal the recomputed ones: ranks, ties, entries, and values to the
  last bit.

Missing items count as *lost*, items that exist more than once as *doubled*, any other difference as *wrong*. Tests
falsify the recorded results of a storm, row by row and bit by bit, and the verification must notice
(`tests/storm/test_storm.py`).

## Fields of docs/storm.jsonl

Each line is a run: an object with its seed, its versions and these figures. A seed determines the requests and the
order of the actions, but not when the operating system schedules a process, so it reproduces a storm only
approximately.
"""


def page() -> str:
    """The page."""
    lines = [_INTRODUCTION]
    lines += table(
        ["action", "PostgreSQL", "SQLite", "meaning"],
        [[code(name), _where(name, "postgresql"), _where(name, "sqlite"), text] for name, text in ACTIONS.items()],
    )
    lines.append(_VERDICT)
    lines += table(["figure", "meaning"], [[f"`{name}`".replace(", ", "`, `"), text] for name, text in FIGURES.items()])
    lines += _measured()
    return "\n".join(lines).rstrip("\n") + "\n"


def _where(action: str, database: str) -> str:
    return (
        "yes"
        if action in ACTIONS_BY_DATABASE[database] or (action == "crash_database" and database == "postgresql")
        else ""
    )


def _measured() -> Iterator[str]:
    """The figures of the stored runs."""
    if not RESULTS.exists():
        return
    runs = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    yield "## Stored runs\n"
    head = ["database", "seed", "submissions", "requests", "actions", "interruptions", "crashes", "most attempts"]
    tail = ["lost", "doubled", "wrong", "seconds", "longest recovery"]
    yield from table([*head, *tail], map(_row, runs))
    for database in dict.fromkeys(run["database"] for run in runs):
        yield from _totals(database, [run for run in runs if run["database"] == database])


def _row(run: dict[str, Any]) -> list[str]:
    figures = {**run, "actions": sum(run["actions"].values()), "most": max(run["attempts"], key=int)}
    names = ["database", "seed", "submissions", "requests", "actions", "interruptions", "crashes", "most"]
    names += ["lost", "doubled", "wrong", "seconds", "longest_recovery"]
    return [f"{figures[name]:,}" if isinstance(figures[name], (int, float)) else figures[name] for name in names]


def _totals(database: str, runs: list[dict[str, Any]]) -> Iterator[str]:
    actions: Counter[str] = Counter()
    for run in runs:
        actions.update(run["actions"])
    sums = {name: sum(run[name] for run in runs) for name in ("acknowledged", "lost", "doubled", "wrong")}
    versions = ", ".join(f"{name} {text}" for name, text in runs[-1]["versions"].items())
    done = ", ".join(f"{count:,} {code(name)}" for name, count in sorted(actions.items()))
    yield (
        f"{database}: {sums['acknowledged']:,} submissions acknowledged in {len(runs)} runs; {done}. Lost {sums['lost']}, "
        f"doubled {sums['doubled']}, wrong {sums['wrong']}. Versions: {versions}.\n"
    )
