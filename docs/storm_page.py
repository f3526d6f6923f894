"""Makes the page docs/storm.md: what a storm is, and the figures of those that docs/storm.jsonl holds."""

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
    "kill_child": "kill -9 of a scoring child, while it holds a request if one comes within two seconds",
    "kill_worker": "kill -9 of a worker alone; its child is left to end by itself",
    "kill_worker_group": "kill -9 of a worker and its child",
    "freeze_worker": "SIGSTOP of a worker for longer than its lease, then SIGCONT: others have its task by then",
    "kill_api": "kill -9 of one replica of the API while the other answers",
    "crash_database": "PostgreSQL stopped in mode `immediate`, which is a crash, and started again; once or twice",
    "kill_service": "kill -9 of the whole service; its children are left to end by themselves",
    "kill_service_group": "kill -9 of the whole service and its children",
    "kill_starting": "kill -9 of the service, and again while it starts",
    "freeze_service": "SIGSTOP of the whole service for up to a second, then SIGCONT",
}
FIGURES = {
    "submissions": "posts to be made, each with an Idempotency-Key of its own",
    "acknowledged": "posts that were answered 200, 201 or 202",
    "requests, repeated": "requests sent for them, and how many of these were repetitions",
    "repeated_because": "answers and broken connections after which a sender had to repeat",
    "statuses": "submissions by final status; every file that is faulty is `rejected`",
    "actions": "what was done, and how often",
    "ended_by_themselves": "processes that ended because the database was away when they started, by role; they are started again",
    "interruptions, crashes": "counted by the service: tasks whose worker went away, and children that died at work",
    "attempts": "tasks by how often they were taken",
    "files_without_row": "stored files of uploads that were never acknowledged; the service removes them after a day",
    "lost, doubled, wrong": "faults that the verdict found",
    "seconds, seconds_to_quiet": "from the first post until nothing was left to do, and from the last post",
    "longest_acknowledgement": "seconds from the first request of a post to its acknowledgement, at most",
    "longest_recovery": "seconds from an action to the next final status of any submission, at most",
    "longest_to_final": "seconds from the admission of a submission to its final status, at most",
    "leases": "the settings heartbeat_seconds and lease_seconds that it ran with; SQLite needs none",
}
_INTRODUCTION = f"""\
# Storms

A storm is a service under load whose processes are killed, frozen and started again at moments that a seed decides. Its
claim: whatever was acknowledged is scored exactly once, and the board is the one that the stored files are worth.

```sh
make storm                             # ten runs of 2,000 submissions on each database
make storm OUT=docs/storm.jsonl        # the same, each run kept as a line; `make docs` then writes the tables below
.venv/bin/python -m tests.storm.run --database postgresql --submissions 150 --runs 1 --seed 7
```

`make test` has a storm of 150 submissions on each database. On PostgreSQL {APIS} replicas of the API and {WORKERS} workers share a
server of their own; on SQLite it is one `assay serve`. {SENDERS} senders, each a member of a team, post files of {INSTANCES}
instances, in gusts of {BURST_SIZE}. Some files are faulty, some posts are sent two or three times at once, some again after they were
acknowledged. Who gets no answer, or 503, repeats with the same key, on PostgreSQL at the next replica. A killed process
is started again up to a second and a half later.

Leases are short, so that a storm is: heartbeat {LONG_LEASES.heartbeat:g} s and lease {LONG_LEASES.lease:g} s, in `make test` {SHORT_LEASES.heartbeat:g} s and {SHORT_LEASES.lease:g} s. An action comes every
{LONG_SCHEDULE.pauses[0]:g} to {LONG_SCHEDULE.pauses[1]:g} s; a short storm, of up to 300 submissions, has {len(ACTIONS_BY_DATABASE["sqlite"])} actions, {SHORT_SCHEDULE.pauses[0]:g} to {SHORT_SCHEDULE.pauses[1]:g} s apart, besides crashes of the database.
The cap of crashes is {CRASH_CAP}, as it is the storm that kills the children, not their files.

## What is done
"""
_VERDICT = """\
## The verdict

After the last post everything is started, and the storm waits until nothing is queued or running. Then all rows are read
in one snapshot, all stored files are scored again without the service, and everything is compared:

- Every acknowledged id has its row, its key and its file, whose bytes are those that were sent.
- A key has one id, however often and wherever it was posted, and there is no row that nobody was told of.
- A submission has one task, which is done, and one final status: `finished` if its file was valid, otherwise `rejected`;
  `failed` only where its task reached a cap.
- There is one row of scores for each finished submission and split, and none for another; every value equals the
  recomputed one to the last bit.
- The ledger has one reservation, and one charge or one refund, as the status demands; the quota that the API shows is
  the count of what finished.
- No task and no job is left, and no process that had begun to work ended by itself.
- The boards that the API shows, of all three splits, equal the recomputed ones: ranks, ties, entries, and values to the
  last bit.

What is missing is *lost*, what is there more than once *doubled*, anything else *wrong*. The tests doctor the evidence
of a storm, row by row and bit by bit, and the verdict has to notice (`tests/storm/test_storm.py`).

## How to read docs/storm.jsonl

Each line is a run, an object with its seed, its versions and these figures. A seed decides what is sent and which
actions follow each other; when a process happens to be scheduled it does not, so that a seed repeats a storm only roughly.
"""


def page() -> str:
    """The page."""
    lines = [_INTRODUCTION]
    lines += table(
        ["action", "PostgreSQL", "SQLite", "what it is"],
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
    """The figures of the runs that are kept."""
    if not RESULTS.exists():
        return
    runs = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    yield "## The runs that are kept\n"
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
