"""Reading takes about as much memory as declared, measured in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.formats.memory_needs import (
    PLAIN_BYTES_PER_RECORD,
    PROCESS_BYTES,
    STRICT_BYTES_PER_RECORD,
    STRICT_BYTES_PER_SCORE,
    largest_file,
)
from tests.each_case import for_each
from tests.live_service import MAX_WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
CLASSES = [f"label {number:02}" for number in range(20)]
PEAK = """
import json, re, sys
from pathlib import Path
from app.formats import FileKind, ReadingRules
from app.pipeline import SourceFile, load_gold, validate_predictions
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import IdIndex

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

path, count, kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
source = SourceFile(path, FileKind("jsonl"))
if kind == "gold":
    before = peak()
    gold, problems = load_gold(source, task="multiclass")
    assert gold is not None, problems.to_dict()
    print(peak() - before)
    sys.exit()
index = IdIndex([f"instance-{number:08}" for number in range(count)])
spec = TaskSpec("multiclass", tuple(json.loads(sys.argv[4])))
before = peak()
arrays, problems, _ = validate_predictions(
    index, spec, source, rules=ReadingRules(scores="due" if kind == "scores" else "ignored")
)
assert arrays is not None, problems.to_dict()
print(peak() - before)
"""


def bytes_for(folder: Path, count: int, kind: str) -> int:
    """The peak memory for so many records; of predictions without lookup tables, which the strict reader reads."""
    path = folder / f"{count}.jsonl"
    each = [number / 97 for number in range(len(CLASSES))]
    with path.open("w") as file:
        for number in range(count):
            answer = ("scores", each) if kind == "scores" else ("label", CLASSES[number % len(CLASSES)])
            file.write(json.dumps(dict([("id", f"instance-{number:08}"), answer])) + "\n")
    arguments = [str(path), str(count), kind, json.dumps(CLASSES)]
    ran = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        timeout=MAX_WAIT_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout)


@pytest.mark.ci
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@for_each(
    "kind, few, many, declared",
    [
        ("gold", 40_000, 240_000, PLAIN_BYTES_PER_RECORD),
        ("labels", 5_000, 45_000, STRICT_BYTES_PER_RECORD),
        ("scores", 1_000, 9_000, STRICT_BYTES_PER_SCORE * len(CLASSES)),
    ],
)
def test_reading_takes_about_the_memory_that_is_declared(
    tmp_path: Path, kind: str, few: int, many: int, declared: int
) -> None:
    grown = (bytes_for(tmp_path, many, kind) - bytes_for(tmp_path, few, kind)) / (many - few)
    assert declared / 2 <= grown <= declared * 1.4  # hash tables double in size


def test_the_largest_file_grows_with_the_memory_and_none_fits_where_the_process_does_not() -> None:
    small, large = largest_file(PROCESS_BYTES + (1 << 30)), largest_file(PROCESS_BYTES + (2 << 30))
    assert small.strict_records < small.strict_scores < small.plain_records
    assert 0 <= large.plain_records - 2 * small.plain_records <= 1
    assert 0 <= large.strict_records - 2 * small.strict_records <= 1
    assert largest_file(PROCESS_BYTES - 1).plain_records == 0
