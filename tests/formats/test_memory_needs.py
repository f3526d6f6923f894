"""Reading takes about as much memory as declared, measured in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.formats.memory_needs import (
    PROCESS_BYTES,
    STRICT_BYTES_PER_RECORD,
    STRICT_BYTES_PER_SCORE,
    largest_file,
)
from tests.live_service import MAX_WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
CLASSES = [f"label {number:02}" for number in range(20)]
PEAK = """
import json, re, sys
from pathlib import Path
from app.formats import FileKind, ReadingRules
from app.pipeline import SourceFile, validate_predictions
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import IdIndex

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

path, count, scores = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
index = IdIndex([f"instance-{number:08}" for number in range(count)])
spec = TaskSpec("multiclass", tuple(json.loads(sys.argv[4])))
before = peak()
arrays, problems, _ = validate_predictions(
    index, spec, SourceFile(path, FileKind("jsonl")), rules=ReadingRules(scores=scores)
)
assert arrays is not None, problems.to_dict()
print(peak() - before)
"""


def bytes_for(folder: Path, count: int, *, scores: bool) -> int:
    """The peak memory of the strict reader for so many records, which it takes as there are no lookup tables."""
    path = folder / f"{count}.jsonl"
    each = [number / 97 for number in range(len(CLASSES))]
    with path.open("w") as file:
        for number in range(count):
            answer = ("scores", each) if scores else ("label", CLASSES[number % len(CLASSES)])
            file.write(json.dumps(dict([("id", f"instance-{number:08}"), answer])) + "\n")
    arguments = [str(path), str(count), "due" if scores else "ignored", json.dumps(CLASSES)]
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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("scores", [False, True])
def test_the_strict_reader_takes_about_the_memory_that_is_declared(tmp_path: Path, scores: bool) -> None:
    few, many = (1_000, 9_000) if scores else (5_000, 45_000)
    grown = bytes_for(tmp_path, many, scores=scores) - bytes_for(tmp_path, few, scores=scores)
    values = (many - few) * (len(CLASSES) if scores else 1)
    declared = STRICT_BYTES_PER_SCORE if scores else STRICT_BYTES_PER_RECORD
    assert declared / 1.6 <= grown / values <= declared * 1.2


def test_the_largest_file_grows_with_the_memory_and_none_fits_where_the_process_does_not() -> None:
    small, large = largest_file(PROCESS_BYTES + (1 << 30)), largest_file(PROCESS_BYTES + (2 << 30))
    assert small.strict_records < small.strict_scores < small.plain_records
    assert 0 <= large.plain_records - 2 * small.plain_records <= 1
    assert 0 <= large.strict_records - 2 * small.strict_records <= 1
    assert largest_file(PROCESS_BYTES - 1).plain_records == 0
