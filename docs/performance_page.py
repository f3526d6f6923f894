"""Generates docs/performance.md: the benchmarks, the method, and the stored figures."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_parts import safe, table

from app.settings import Settings
from benchmarks.commands import ONE
from benchmarks.figures import TARGET_HEAD, WAY_HEAD, target_cells, way_cells
from benchmarks.operations import IN_BOARD, RECORDS, SENDERS, Figure
from benchmarks.operations import table as of_service

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "performance.json"
OF_SERVICE = HERE / "performance_service.json"

PIECES = {
    "W1": "single-label predictions, from the bytes of the file to all count metrics that fit",
    "W2": "multi-label predictions with tens of thousands of labels, from the bytes to seven metrics",
    "W3-metrics": "metrics of a matrix of scores, from arrays, on one thread",
    "W3-files": "files of scores, from the bytes to a checked matrix in the order of the gold",
    "W4": "intervals and rank sets: metrics in thousands of resamples",
    "W5": "a named pair: metrics in thousands of random exchanges",
    "W6-boards": "reading a leaderboard over HTTP",
    "W6-pages": "leaderboards as pages beside JSON, a long one, and readers who wait for changes",
    "W6-readers": "live readers of a leaderboard while scores arrive",
    "W6-queue": "listings and submissions among few and many that wait",
    "W6-rebuild": "building a leaderboard from the rows, against teams and against submissions of a team",
    "W6-posts": "large predictions accepted over HTTP, durable before the reply; the memory that they take",
    "W6-waits": "from a POST with `Prefer: wait` to the scores, with many in flight",
    "W6-cost": "CPU time of a submission by process, beside the starting commit of the target",
    "W6-stored": "CPU time of a submission to a phase with 100 and with 100,000 stored ones",
    "correction": "a correction of the gold of a phase: all submissions scored again and the board switched",
    "items": "item analysis of a board of 200 systems, beside reading their predictions",
    "receipts": "CPU time of a submission, beside the program before receipts and the transparency log",
    "log": "proofs of the transparency log at a million leaves, made and verified",
    "W7": "W1 for growing numbers of records: time per record, and memory",
    "prepared": "the first score on another worker, with gold that the first one prepared, beside its later scores",
    "hostile": "small files that take long to read, each compared with a valid file for the same gold in the same format",
    "offline": "reading gold, and `assay score` of two files as a whole process beside a careful scikit-learn user",
    "order": "rank sets of a board and `assay order`, beside the same tests written plainly",
    "secrecy": "scoring one file under two golds that differ in their labels and give the same counts",
    "commands": f"the command line, from start to exit, including `{ONE}`",
}
_INTRODUCTION = """\
# Performance

The benchmarks, what they compare with, and the figures of a run. The ratios are more reliable than the milliseconds: all
ways of doing a piece of work run in turn in the same process, and each figure is the median (in `W6-pages`
the least).

```sh
make bench                                  # all benchmarks, and the service as a whole
make bench KEEP=1                           # also stores the figures; `make docs` then writes the tables below
make bench KEEP=1 ONLY=W6-boards,W6-pages   # stores the figures of these pieces; those of the others stay
.venv/bin/python -m benchmarks.run --quick  # smaller work, some minutes
.venv/bin/python -m benchmarks.run --only W1,W6-boards --json figures.json
```

## What is measured
"""
_METHOD = """\
- *Time* is CPU time of the process, except over HTTP, where it is wall time unless the row says otherwise. The gold is
  loaded beforehand, except in `prepared`, `offline` and `commands`. Assay opens the file; the peers have the bytes in
  memory.
- *Memory* is the peak resident size during a call minus the size before it, after freed memory has been returned to the
  system, in a fresh process for each size.
- *Data* are drawn from a fixed seed: classes by Zipf's law, four in five predictions right, in shuffled order. Ids and
  labels have equal lengths, except in the row that says otherwise.
- *scikit-learn on integer codes* is a careful user: the fastest parser, a dictionary for the join, integer codes before
  any metric, then precision, recall and F of each class and averaged in three ways, accuracy, kappa, MCC and the
  confusion matrix. It reports no faults: a wrong, missing or repeated id raises an exception or stays undetected. Assay
  includes strict reading with the location of every fault. The same user with *lists of strings* runs once, because it
  takes long.
- *alone* means that nothing else is done: parsers that only parse, sorts that only sort. They are lower limits, not
  alternatives.
- *Over HTTP* the server has one core to itself and the sender the others, if there are several; for the waits both
  share all cores. The peers run on the same web server with the same settings (`benchmarks/peers.py`). The ratios of
  boards compare CPU time of the server, which other load disturbs least; those of uploads compare wall time, because
  uploads wait for the disk.
- *Targets* that are not met are marked.
- *The machine* of the run of 2026-11-23 was a virtual one on a shared host, where new memory is slow: the first
  `orjson.loads` of the 43 MB of W1 took 2.4 s of CPU, the fourth 0.95. It lacks AVX-512, which numpy uses for sorting.

`tests/faults/test_memory.py` checks the memory of the API process: an upload of 60 MiB raises its peak by less than
16 MiB.
"""
_LIMITS = """\
## Unmet targets

- *`.npz` compared with the best JSON parser.* The parser does nothing else and has the bytes in memory. Assay opens the
  file, checks the checksums of the archive and every number, joins the ids, and writes a matrix of binary64 in the
  order of the gold. Part of the cost is unavoidable: `zlib.crc32` of the file alone and `numpy.load` alone each take
  more than a fiftieth of the best parser. `.npz` is also faster than Assay's own reading of JSON columns with the same
  checks, but JSON is no longer slow: its numbers are read without creating Python objects.
- *A large upload.* For each accepted megabyte, SHA-256, the write and the fsync cannot be omitted: the route of the row
  "stream to a file, SHA-256, fsync" does nothing else, and does not reach the target of 0.7 times `request.body()` alone
  either. Compared with that route, Assay spends more in Python: `perf` counted 47 of 140 ms for 40 MB, against 16 of
  97 ms. It hashes and writes in threads, so that a slow disk delays no other request, and each of the 160 pieces of a
  body passes the limits of size, time and memory. At 10 MB the fixed cost of a submission, whatever its size, is as
  large as all that the target allows.
- *One queued submission among 20,000.* Its position is exact, so those ahead are counted in an index: 20,000 entries,
  0.7 of some 2 ms. A listing counts once for all its rows.
- *`assay score` of a million records beside a careful user.* Of 1.2 s in another run, 0.4 s are the start of Python,
  numpy and the program, 0.33 s reading the gold, 0.22 s reading the predictions, 0.16 s the 132 metrics (the user
  computes twelve), and 0.1 s the table of 1,000 classes and the output as JSON.
- *AUC and average precision, sets of labels.* Each missed its target in this run and met it in others, AUC on a machine
  with AVX-512. Sets of labels reached 6.4 times in the next run here.
- *Receipts on PostgreSQL, in a burst.* Samples of the worker's stack, beside those of the earlier program, gave receipts
  about 0.5 of the 1.1 to 1.3 ms that it spends more: three statements in the transaction that settles a group of
  submissions (0.4 ms), and the signatures (0.1 ms). PostgreSQL itself spends half a millisecond more. The other half of
  what the worker spends more is not for receipts: analyses, whose turns are shared among phases (0.3 ms), and the periodic
  work of switches and of the log (0.1 ms). A second run of eight turns gave 1.09 in a burst, and 1.03 for senders who wait.
- *Hostile files.* The limit of two seconds is absolute, so a slow machine exceeds it. The three slowest files of JSON
  label sets, read again at another time, took 0.9, 1.4 and 1.6 s.
- *Waits under a recipe of few metrics.* Scoring such a file takes one or two milliseconds; the rest is not scoring. Per
  submission the service used some 13 ms of CPU time in its one process (receiving, storing and committing 3.4; the
  event loop with HTTP 3.0; loading, asking a scoring process and settling 2.7; reading the reply back 1.3; the early
  admission check 1.2; claiming 0.9), measured by thread with 20 submissions in flight. The disk is not the bottleneck:
  with the data folder in memory the rate rose by a tenth to a fifth. Separate processes for the API and the workers, as
  on PostgreSQL, would spread this over cores. Under a recipe of all metrics the waits come close to the targets.
- *Small files.* Each window costs a number of numpy calls, however little it contains, and so does each metric: per
  record, a file of ten thousand costs several times as much as one of a million.
"""
_SERVICE = f"""\
## The service as a whole

The output of `python -m benchmarks.operations`, on the cores that also ran the senders and PostgreSQL: wall times of
real processes, {RECORDS:,} records per submission, {SENDERS} senders, uploads in a folder. `make bench` prints this table too.
"""
_BOUNDS = """\
The bottlenecks:

- *Acceptance*: the cores that senders, API and database share.
- *Scoring*: one core per slot, and on PostgreSQL the engine's own statements for each job. Slots on cores that also run
  everything else gain less than their number.
- *A killed scoring process*: its task is delayed by one second on purpose.
- *A killed service*: the start of Python.
- *A killed worker*: `ASSAY_LEASE_SECONDS` ({lease:g}), counted from its last heartbeat, up to `ASSAY_HEARTBEAT_SECONDS`
  ({heartbeat:g}) before the kill, and the two seconds between two checks: at most some {most:g} seconds.
- *A large store*: the board is that of a phase with {in_board:,} finished submissions; the others are in another
  challenge. The cost of a board grows with the teams of its own phase, not with their submissions. Do not run ANALYZE
  on SQLite: with statistics of a store in which nearly all tasks are done, SQLite no longer uses the index of waiting
  tasks.
"""


def page() -> str:
    """The page."""
    lines = [_INTRODUCTION, *table(["piece", "what it is"], [[f"`{name}`", text] for name, text in PIECES.items()])]
    lines.append(_METHOD)
    lines += _measured()
    lines.append(_LIMITS)
    lines += _of_service()
    return "\n".join(lines).rstrip("\n") + "\n"


def _measured() -> Iterator[str]:
    """The tables of targets and comparisons of the stored run."""
    if not RESULTS.exists():
        return
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    yield "## Targets\n"
    yield f"Size of the work: {results['size']}.\n"
    yield from _occasions(results["pieces"])
    yield from table(TARGET_HEAD, [list(map(safe, cells)) for cells in target_cells(results["pieces"])])
    yield "## Side by side\n"
    yield "Ratios are relative to the first row of the same work.\n"
    yield from table(WAY_HEAD, [_bold(list(map(safe, cells))) for cells in way_cells(results["pieces"])])


def _occasions(pieces: dict[str, dict[str, Any]]) -> Iterator[str]:
    """When and on which machine the pieces were measured, one sentence for those measured together."""
    together: dict[tuple[str, str], list[str]] = {}
    for piece, each in pieces.items():
        together.setdefault((each["measured_on"], _machine(each["machine"])), []).append(piece)
    for (day, machine), names in together.items():
        yield f"- {', '.join(f'`{name}`' for name in names)}: {day}. {machine}"
    yield ""


def _bold(cells: list[str]) -> list[str]:
    """The row with Assay's own ways in bold."""
    return [f"**{cell}**" if place == WAY_HEAD.index("way") and cell.startswith("assay") else cell
            for place, cell in enumerate(cells)]  # fmt: skip


def _of_service() -> Iterator[str]:
    """The figures of the service as a whole, which are stored separately."""
    if not OF_SERVICE.exists():
        return
    results = json.loads(OF_SERVICE.read_text(encoding="utf-8"))
    yield _SERVICE
    yield f"{_machine(results['machine'])}\n"
    yield of_service([Figure(**figure) for figure in results["figures"]]) + "\n"
    settings = Settings.model_fields
    lease, heartbeat = settings["lease_seconds"].default, settings["heartbeat_seconds"].default
    yield _BOUNDS.format(lease=lease, heartbeat=heartbeat, most=lease + 2, in_board=IN_BOARD)


def _machine(facts: dict[str, Any]) -> str:
    """The machine of the measurement, as a sentence."""
    return f"Measured on: {', '.join(f'{name} {safe(text)}' for name, text in facts.items())}."
