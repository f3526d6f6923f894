"""Makes the page docs/performance.md: what is measured and how, and the figures that the benchmark programs kept."""

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
    "W6-boards": "reading a leaderboard over HTTP",
    "W6-posts": "large predictions accepted over HTTP, durable before the answer; the memory that they take",
    "W6-waits": "from a POST with `Prefer: wait` to the scores, with many in flight",
    "W7": "the same as W1 for growing numbers of records: time of each, and memory",
    "hostile": "small files that cost much to read, each beside a valid file for the same gold in the same format",
    "commands": f"the command line, from start to end, down to `{ONE}`",
}
_INTRODUCTION = """\
# Performance

What is measured, beside whom, and the figures of a run that was kept. Trust the ratios, not the milliseconds: every way
of doing a piece of work runs in turns with the others in the same process, and the figure is the median.

```sh
make bench                                  # all of it, and the service as a whole
make bench KEEP=1                           # the same, kept; `make docs` then writes the tables below
.venv/bin/python -m benchmarks.run --quick  # smaller work, some minutes
.venv/bin/python -m benchmarks.run --only W1,W6-boards --json figures.json
```

## What is measured
"""
_METHOD = """\
- *Time* is processor time of the process, except over HTTP and for commands, where it is wall time. Gold is loaded
  before, in every row, ours and theirs. Our side opens the file; the peers have the bytes in memory.
- *Memory* is the highest resident size during a call above what was there before it, after freed memory has been given
  back, in a fresh process for each size.
- *Data* are drawn from a fixed seed: classes by Zipf's law, four in five predictions right, in shuffled order. Ids and
  labels are equally long but in the row that says otherwise.
- *scikit-learn on integer codes* is a careful user: the fastest parser, a dictionary for the join, integer codes before
  any metric, then precision, recall and F of each class and averaged three ways, accuracy, kappa, MCC and the confusion
  matrix. It reports no faults: a wrong, missing or repeated id is an exception or goes unseen. Ours includes the strict
  reading with the place of every fault. The same user with *lists of strings* runs once, for it takes long.
- *alone* means that nothing else is done: parsers that only parse, sorts that only sort. They are limits, not rivals.
- *Over HTTP* the server has one core for itself and the sender the others, where there are several; the waits share all
  cores with the sender. The peers are served by the same web server with the same settings (`benchmarks/peers.py`). The
  ratios of boards are of the server's processor time, which neighbours disturb least; those of uploads are of wall time,
  for they wait for the disk.
- *A target* names what is aimed at. What is not met says so.

A test holds the memory of the API process: an upload of 60 MiB raises its peak by less than 16 MiB
(`tests/faults/test_memory.py`).
"""
_LIMITS = """\
## What is not met, and why

- *`.npz` against the best JSON parser.* The parser that is compared does nothing else and has the bytes in memory; ours
  opens the file, checks the archive's sums and every number, joins the ids, and writes a matrix of binary64 in the
  order of the gold. The table shows what cannot be saved: `zlib.crc32` of the file alone and `numpy.load` alone each take
  more than a fiftieth of the best parser. Against our own reading of JSON columns, with the same checks, `.npz` is
  quicker too, but JSON is no longer slow: its numbers are read without a Python object of any.
- *A large upload against `request.body()` alone.* Of a megabyte that is accepted, SHA-256, the write and the fsync remain
  when all else is left out: the row "stream to a file, SHA-256, fsync" is a route that does only that, and does not
  reach the target either. Ours hashes and writes in threads, so that a slow disk holds up nobody else, which costs
  processor time that the event loop alone would not.
- *Waits under a recipe of few metrics.* Scoring such a file takes about a millisecond or two, and everything around it is
  not scoring: per submission the service spent some 13 ms of processor in its one process (of them: receiving, storing
  and committing 3.4; the event loop with HTTP 3.0; loading, asking a child and settling 2.7; reading the answer back 1.3;
  refusing early what will be refused 1.2; claiming 0.9), measured by thread while 20 were in flight. The disk is not what
  bounds it: with the data folder in memory the rate rose by a tenth to a fifth. Processes of their own for the API and the
  workers, as on PostgreSQL, would share that between cores. Under a recipe of all metrics the waits come near the targets.
- *Small files.* Each window costs a number of numpy calls however little is in it, and each metric its own: for each
  record a file of ten thousand costs several times what one of a million does.
"""
_SERVICE = f"""\
## The service as a whole

Submitting and claiming on PostgreSQL with 1,000,000 stored were measured before a statement that read the whole table was
mended; with 250,000 stored they take as long now as with 1,000.

What `python -m benchmarks.operations` printed, on the cores that also ran the senders and PostgreSQL: wall times of
real processes, {RECORDS:,} records a submission, {SENDERS} senders, uploads in a folder. `make bench` prints this table too.
"""
_BOUNDS = """\
What bounds them. *Acceptance*: the processor that senders, API and database share. *Scoring*: one core per slot, and on
PostgreSQL the engine's own statements for each job; slots on cores that also run everything else gain less than their
number. *A killed child* waits one second on purpose. *A killed service* is bound by the start of Python. *A killed
worker* is bound by `ASSAY_LEASE_SECONDS` ({lease:g}), which its last sign of life began up to `ASSAY_HEARTBEAT_SECONDS`
({heartbeat:g}) before, and the two seconds between two looks: at most some {most:g} seconds. *A large store*: the board is
that of a phase with {in_board:,} finished submissions; the others are in another challenge. A board of one phase grows with that
phase. On SQLite nobody runs ANALYZE, and nobody should: with its statistics of a store in which nearly everything is
done, SQLite no longer takes the index of what waits.
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
    """Targets and ways of the run that is kept."""
    if not RESULTS.exists():
        return
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    yield "## Targets\n"
    yield f"{_machine(kept['machine'])} Size of the work: {kept['size']}.\n"
    yield from table(TARGET_HEAD, [list(map(safe, cells)) for cells in target_cells(kept["pieces"])])
    yield "## Side by side\n"
    yield "The ratio is to the first way of the same work.\n"
    yield from table(WAY_HEAD, [_bold(list(map(safe, cells))) for cells in way_cells(kept["pieces"])])


def _bold(cells: list[str]) -> list[str]:
    """Our own ways stand out."""
    return [f"**{cell}**" if place == WAY_HEAD.index("way") and cell.startswith("assay") else cell
            for place, cell in enumerate(cells)]  # fmt: skip


def _of_service() -> Iterator[str]:
    """The figures of the service as a whole, which are kept by themselves."""
    if not OF_SERVICE.exists():
        return
    kept = json.loads(OF_SERVICE.read_text(encoding="utf-8"))
    yield _SERVICE
    yield f"{_machine(kept['machine'])}\n"
    yield of_service([Figure(**figure) for figure in kept["figures"]]) + "\n"
    settings = Settings.model_fields
    lease, heartbeat = settings["lease_seconds"].default, settings["heartbeat_seconds"].default
    yield _BOUNDS.format(lease=lease, heartbeat=heartbeat, most=lease + 2, in_board=IN_BOARD)


def _machine(facts: dict[str, Any]) -> str:
    """What it was measured on, in a sentence."""
    return f"Measured on: {', '.join(f'{name} {safe(text)}' for name, text in facts.items())}."
