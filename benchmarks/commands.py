"""CPU time of commands from start to exit, compared with Python and the libraries that each cannot do without."""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Measured
from benchmarks.sizes import Sizes

ROOT = Path(__file__).resolve().parents[1]
HELP, ONE = "assay --help", "assay score, 1 record"
WITH_TYPER, WITH_NUMPY = "python with typer", "python with typer and numpy"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure all commands in turn; the first turn only fills the folder of compiled modules."""
    digits = ROOT / "examples" / "digits"
    for name in ("gold", "predictions"):
        (folder / f"{name}.json").write_text('{"predictions": [{"id": "one", "label": "cat"}]}')
    assay = ["-m", "app.cli"]
    score = [*assay, "score", "--json", "--task", "multiclass"]
    of_digits = ["--gold", str(digits / "gold.jsonl.gz"), "--predictions", str(digits / "naive_bayes.map.json.gz")]
    of_one = ["--gold", str(folder / "gold.json"), "--predictions", str(folder / "predictions.json")]
    ways = {
        HELP: [*assay, "--help"],
        ONE: [*score, *of_one, "--metric", "f1_macro"],
        "assay score, 899 records, all metrics that fit": [*score, *of_digits],
        "python alone": ["-c", "pass"],
        WITH_TYPER: ["-c", "import typer"],
        WITH_NUMPY: ["-c", "import typer, numpy"],
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    lasted: list[float] = []
    python, environment = compiled_python()
    for turn in range(2 * sizes.repetitions + 1):
        for name, arguments in ways.items():
            began, before = time.perf_counter(), _cpu_of_children()
            subprocess.run(
                [*python, *arguments],
                cwd=ROOT,
                check=True,
                capture_output=True,
                timeout=60,
                env=environment,
            )
            if turn:
                spent[name].append((_cpu_of_children() - before) * 1000)
                lasted += [(time.perf_counter() - began) * 1000] * (name == ONE)
    medians = {name: statistics.median(times) for name, times in spent.items()}
    found = Measured()
    found.ways("command line", medians, "ms")
    found.at_most(f"{HELP} over {WITH_TYPER}", 1.5, medians[HELP] / medians[WITH_TYPER])
    found.at_most(f"{ONE} over {WITH_NUMPY}", 2.5, medians[ONE] / medians[WITH_NUMPY])
    found.at_most(f"{ONE}, wall time", 800, statistics.median(lasted), "ms")
    return found


def compiled_python() -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of a Python that compiles each module once, as after an installation."""
    return [sys.executable], os.environ | {"PYTHONDONTWRITEBYTECODE": "", "OPENBLAS_NUM_THREADS": "1"}


def _cpu_of_children() -> float:
    """CPU seconds of the processes that have ended, user and system."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
