"""Time and memory of a score for growing numbers of records, each size in a fresh process (W7)."""

from collections.abc import Callable
from pathlib import Path

from app.pipeline import SourceFile
from benchmarks import records
from benchmarks.apart import apart
from benchmarks.figures import Measured
from benchmarks.labels import ours
from benchmarks.measure import extra_peak, timed
from benchmarks.records import Drawn
from benchmarks.sizes import Sizes

SHAPES: dict[str, Callable[[Path, Drawn], SourceFile]] = {"records": records.as_records, "columns": records.as_columns}
AT = 1_000_000  # the number of records with a target for memory
LONGEST = 900.0  # seconds per size


def one_size(folder: Path, instances: int, classes: int, repetitions: int) -> dict[str, tuple[float, float]]:
    """By shape: nanoseconds per record, and MiB of extra peak memory."""
    few = records.drawn(500, classes)  # so that the costs of the first score of a process do not count
    ours(
        records.loaded(records.as_columns(folder / "few-gold.json", few, gold=True), few.names),
        records.as_records(folder / "few.json", few),
    )()
    of = records.drawn(instances, classes)
    gold = records.loaded(records.as_columns(folder / "gold.json", of, gold=True), of.names)
    sources = {name: write(folder / f"{name}.json", of) for name, write in SHAPES.items()}
    del of
    ways = {name: ours(gold, source) for name, source in sources.items()}
    spent = timed(ways, repetitions=repetitions)
    peaks = {name: extra_peak(run) for name, run in ways.items()}  # after everything that is computed once per gold
    for path in folder.iterdir():
        path.unlink()
    return {name: (spent[name] * 1e6 / instances, peaks[name]) for name in ways}


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure all sizes; sizes above a million run once."""
    found, by_size = Measured(), {}
    for instances in sizes.growing:
        repetitions = 1 if instances > AT else sizes.repetitions
        by_size[instances] = apart(LONGEST, one_size, folder, instances, sizes.classes, repetitions)
    for name in SHAPES:
        of_each = {f"{count:,} {name}": by_size[count][name] for count in by_size}
        found.ways(
            f"assay, {name}, by number", {way: nanoseconds for way, (nanoseconds, _) in of_each.items()}, "ns each"
        )
        found.ways(f"assay, {name}, extra peak", {way: peak for way, (_, peak) in of_each.items()}, "MiB")
    bounded = AT if AT in by_size else max(by_size)
    found.at_most(f"extra peak of {bounded:,} records", 40, by_size[bounded]["records"][1], "MiB")
    *_, before, last = sizes.growing
    grown = by_size[last]["records"][0] / by_size[before]["records"][0]
    found.at_most(f"time for each of {last:,} records, over {before:,}", 1.5, grown)
    return found
