"""Gold and `assay score`: two files to all metrics, as whole processes beside a careful scikit-learn user, and gold alone."""

import json
import os
import resource
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import orjson

from app.formats import FileKind
from app.offline import score_offline
from app.pipeline import SourceFile, infer_task, load_gold, score_predictions
from app.prepared.gold_arrays import decode_gold, encode_gold
from app.scoring.declaration.metric_parser import applicable_metrics
from app.scoring.declaration.requirements import needs_met
from app.settings import Settings
from benchmarks import records
from benchmarks.apart import apart
from benchmarks.commands import ROOT, compiled_python
from benchmarks.figures import Measured
from benchmarks.measure import MIB, extra_peak, timed
from benchmarks.records import Drawn
from benchmarks.sizes import Sizes

OURS, USER, PARSED = (
    "assay score",
    "orjson, dictionary, integer codes, scikit-learn",
    "orjson.loads of both files alone",
)
LONGEST = 600.0  # seconds for the largest gold
_PARSE = "import sys, orjson; [orjson.loads(open(name, 'rb').read()) for name in sys.argv[1:]]"
_RECORD = b'{"id":%b,"label":%b,"split":"public","weight":2}' % (records.ID, records.LABEL)


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure whole processes, then both files and the gold within this process, then the largest gold."""
    found = Measured()
    # In a process of its own: the peak memory of a new process is at least that of the one that starts it.
    apart(LONGEST, write_files, folder, sizes.records, sizes.classes)
    gold, predictions = (_source(folder, name) for name in ("gold", "predictions"))
    _whole_processes(found, sizes, gold, predictions)
    _both_files(found, sizes, gold, predictions)
    _gold_alone(found, sizes, folder)
    largest = max(sizes.growing)
    peak = apart(LONGEST, largest_peak, folder, largest, sizes.classes)
    limit = Settings.model_fields["scoring_memory"].default
    what = f"peak memory of {largest:,} rows of gold, prepared, and as many predictions, in a limited process"
    found.ways(what, {"assay, all that a scoring process does": peak}, "MiB")
    found.at_most(what, limit / MIB, peak, "MiB")
    return found


def gold_records(path: Path, of: Drawn, pattern: bytes = records.RECORD) -> SourceFile:
    """Gold as records in shuffled order."""
    body = (pattern, b",", of.order, of.truth[of.order])
    return SourceFile(records.write(path, [b'{"predictions":[', body, b"]}"]), FileKind("json"))


def _whole_processes(found: Measured, sizes: Sizes, gold: SourceFile, predictions: SourceFile) -> None:
    files = [str(gold.path), str(predictions.path)]
    ways = {
        OURS: ["-m", "app.cli", "score", "--json", "--gold", files[0], "--predictions", files[1]],
        USER: ["-m", "benchmarks.careful_user", *files],
        PARSED: ["-c", _PARSE, *files],
    }
    spent, peaks, outputs = _run_in_turn(ways, sizes.repetitions)
    work = f"two files of {sizes.records:,} records, {sizes.classes:,} classes, whole process"
    found.ways(work, spent, "ms of CPU")
    found.ways(f"{work}, peak memory", peaks, "MiB")
    found.at_least("CPU of the scikit-learn user, over assay score, whole processes", 5, spent[USER] / spent[OURS])
    found.at_most("memory of assay score, over the scikit-learn user, whole processes", 0.5, peaks[OURS] / peaks[USER])
    mine, theirs = json.loads(outputs[OURS])["metrics"], json.loads(outputs[USER])
    shared = mine.keys() & theirs.keys()
    found.at_least("metrics that both compute", 12, len(shared), "")
    difference = max(abs(mine[name] - theirs[name]) for name in shared)
    found.at_most("difference to scikit-learn, whole processes", 1e-12, difference, "")


def _run_in_turn(
    ways: Mapping[str, Sequence[str]], repetitions: int
) -> tuple[dict[str, float], dict[str, float], dict[str, bytes]]:
    """Median milliseconds of CPU and peak memory in MiB of Python with these arguments, and the last output."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    peaks, outputs = dict[str, float](), dict[str, bytes]()
    python, environment = compiled_python()
    for turn in range(repetitions + 1):  # the first turn fills the caches and compiles the modules
        for name, arguments in ways.items():
            command = [*python, *arguments]
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env=environment) as process:
                assert process.stdout is not None
                outputs[name] = process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0, name
            if turn:
                spent[name].append((usage.ru_utime + usage.ru_stime) * 1000)
                peaks[name] = max(peaks.get(name, 0), usage.ru_maxrss / 1024)
    return {name: statistics.median(times) for name, times in spent.items()}, peaks, outputs


def _both_files(found: Measured, sizes: Sizes, gold: SourceFile, predictions: SourceFile) -> None:
    texts = [source.path.read_bytes() for source in (gold, predictions)]

    def ours() -> object:
        task = infer_task(gold)
        outcome = score_offline(
            gold, predictions, lambda spec, has: applicable_metrics(spec.task, None, has), task=task
        )
        assert outcome.scores
        return outcome

    ways: dict[str, Callable[[], object]] = {
        "assay, both files, all metrics that fit": ours,
        PARSED: lambda: [orjson.loads(text) for text in texts],
    }
    spent = timed(ways, repetitions=sizes.repetitions)
    found.ways(f"two files of {sizes.records:,} records, within a process", spent, "ms")
    mine, parsed = spent.values()
    found.at_most("assay on two files, over parsing them with orjson", 1.5, mine / parsed)


def _gold_alone(found: Measured, sizes: Sizes, folder: Path) -> None:
    of = records.drawn(sizes.records, sizes.classes)
    sources = {
        "assay, records": gold_records(folder / "gold.json", of),
        "assay, columns in the order of the ids": records.as_columns(folder / "columns.json", of, gold=True),
        "assay, records with split and weight": gold_records(folder / "weighted.json", of, _RECORD),
    }

    def reads(source: SourceFile) -> Callable[[], object]:
        def run() -> object:
            gold, _ = load_gold(source, task="multiclass")
            assert gold is not None
            return gold

        return run

    ways = {name: reads(source) for name, source in sources.items()}
    text = sources["assay, records"].path.read_bytes()
    spent = timed({**ways, "orjson.loads alone, records": lambda: orjson.loads(text)}, repetitions=sizes.repetitions)
    found.ways(f"gold of {sizes.records:,} records", spent, "ms")
    peaks = {name: extra_peak(run) for name, run in ways.items()}
    found.ways(f"gold of {sizes.records:,} records, extra peak", peaks, "MiB")
    found.at_most(f"gold of {sizes.records:,} records", 500, spent["assay, records"], "ms of CPU")
    found.at_most(f"gold of {sizes.records:,} records, extra peak", 150, peaks["assay, records"], "MiB")


def largest_peak(folder: Path, instances: int, classes: int) -> float:
    """The peak memory in MiB of a process with the limit of a scoring process that reads, prepares and uses gold."""
    apart(LONGEST, write_files, folder, instances, classes)
    limit = Settings.model_fields["scoring_memory"].default
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    source, predictions = (_source(folder, name) for name in ("gold", "predictions"))
    gold, problems = load_gold(source, task="multiclass")
    assert gold is not None, problems.to_dict()
    gold = decode_gold(*encode_gold(gold))
    calls = applicable_metrics(gold.spec.task, None, needs_met(gold.spec))
    assert score_predictions(gold, predictions, calls).scores
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write_files(folder: Path, instances: int, classes: int) -> None:
    """Write gold and predictions; drawing them takes more memory than reading them."""
    of = records.drawn(instances, classes)
    gold_records(folder / "gold.json", of)
    records.as_records(folder / "predictions.json", of)


def _source(folder: Path, name: str) -> SourceFile:
    return SourceFile(folder / f"{name}.json", FileKind("json"))
