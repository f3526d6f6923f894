"""What receipts and records of the transparency log add to the CPU time of a submission, on both databases."""

from contextlib import nullcontext
from pathlib import Path

from benchmarks.figures import Measured
from benchmarks.sizes import Sizes
from benchmarks.submission_cost import DATABASES, OURS, commit_of, measure_programs, own_checkout

COMMIT = "7bde8d5"
"""The last commit without receipts, without the log, and without corrections of gold."""
MOST = 1.05


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure this program beside the one without them, in turns under the same load."""
    other = f"assay at {COMMIT}"
    with commit_of(COMMIT) if sizes.from_history else nullcontext() as before:
        checkouts = {other: before, OURS: own_checkout(sizes)}
        # Without the history this is what submission_cost does, which tests run on both databases.
        databases = DATABASES if sizes.from_history else DATABASES[:1]
        limits = dict.fromkeys(databases, MOST)
        count = max(1, sizes.waits // 4)
        return measure_programs(checkouts, folder, databases, turns=sizes.repetitions, count=count, limits=limits)
