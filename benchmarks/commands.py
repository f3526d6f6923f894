"""Wall time of commands from start to exit, compared with Python and numpy alone."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Measured
from benchmarks.sizes import Sizes

ROOT = Path(__file__).resolve().parents[1]
HELP, ONE = "assay --help", "assay score, 1 record"


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
        "python with numpy": ["-c", "import numpy"],
    }
    spent: dict[str, list[float]] = {name: [] for name in ways}
    cache = folder / "compiled"
    for turn in range(2 * sizes.repetitions + 1):
        for name, arguments in ways.items():
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-X", f"pycache_prefix={cache}", *arguments],
                cwd=ROOT,
                check=True,
                capture_output=True,
                timeout=60,
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
            )
            if turn:
                spent[name].append((time.perf_counter() - began) * 1000)
    medians = {name: statistics.median(times) for name, times in spent.items()}
    found = Measured()
    found.ways("command line", medians, "ms")
    found.at_most(HELP, 300, medians[HELP], "ms")
    found.at_most(ONE, 600, medians[ONE], "ms")
    return found
