"""CPU time of a submission to a phase with few and with many stored ones, of all processes, on both databases."""

import statistics
from contextlib import ExitStack
from pathlib import Path

from app.settings import Settings
from benchmarks.figures import Measured
from benchmarks.large_store import fill
from benchmarks.sizes import Sizes
from benchmarks.submission_cost import DATABASES, LOADS, WARM_UP, in_turns, own_checkout, started

FEW = 100
FIRST = 100_000  # of the numbers in the ids of copies


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Submit to both phases in turn; each has a service and a database of its own."""
    figures = Measured()
    count, checkout = max(1, sizes.waits // 4), own_checkout(sizes)
    # Tests run submission_cost, which does the same in smaller phases, on the other one.
    for database in DATABASES if sizes.from_history else DATABASES[1:]:
        with ExitStack() as running:
            programs = {}
            for stored in (FEW, sizes.stored):
                program = started(running, checkout, folder / f"{database}-{stored}", database, min(count, WARM_UP))
                fill(Settings(database_url=program.database_url).database, "bench", stored, first=FIRST)
                programs[f"{stored:,} stored"] = program
            found = in_turns(programs, turns=sizes.repetitions, count=count)
        for kind in LOADS:
            totals = {name: statistics.median(sum(each.values()) for each in found[kind, name]) for name in programs}
            work = f"submission to a phase, {database}, {kind}"
            figures.ways(work, totals, "ms each")
            few, many = totals.values()
            figures.at_most(f"{work}, {sizes.stored:,} stored over {FEW}", 1.2, many / few)
    return figures
