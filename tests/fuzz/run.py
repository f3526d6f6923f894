"""Fuzz every reader: `python -m tests.fuzz.run [--seconds N] [--format F] [--seed N] [--record]`, or `--replay FILE`.

Each target runs in a process of its own, as a reader that crashes takes its process along. What fails is kept under
tests/fuzz/found/TARGET; once it is mended, it belongs to tests/fuzz/corpus/TARGET, which the tests read.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS, cases, check_input

ROOT = Path(__file__).resolve().parents[2]
FAILING_INPUTS = Path(__file__).with_name("found")
RECORD = ROOT / "docs" / "fuzzing.json"
_FLAGS = ("-max_len=4096", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1")
_EXECUTED_UNITS = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
_LAST_PROGRESS = re.compile(r"^#(\d+)\s", re.MULTILINE)
_DICTIONARY = (
    *("id", "ids", "pmid", "label", "labels", "scores", "score", "classes", "split", "Usage", "weight", "documents"),
    *("predictions", "public", "private", "Public", "Ignored", "t1", "t2", "t3", "cat", "dog", "eel", "null", "1e999"),
)
"""Words that the readers look for: chance alone would take long to spell them."""


@dataclass(frozen=True, slots=True)
class FuzzResult:
    """The result of one target: the number of inputs, the failing inputs, and the output."""

    target: str
    inputs: int
    found: list[Path]
    output: str


def fuzz(target: str, seconds: int, seed: int = 0) -> FuzzResult:
    """Fuzz one target for some seconds, or until an input fails; a seed of 0 differs each time."""
    with tempfile.TemporaryDirectory(prefix="assay-fuzz-") as name:
        folder = Path(name)
        artifacts = folder / "artifacts"
        artifacts.mkdir()
        words = folder / "words"
        words.write_text("".join(f'"{word}"\n' for word in _DICTIONARY), encoding="utf-8")
        flags = [
            *_FLAGS,
            f"-max_total_time={seconds}",
            f"-seed={seed}",
            f"-dict={words}",
            f"-artifact_prefix={artifacts}/",
        ]
        program = [
            sys.executable,
            "-m",
            "tests.fuzz.target_process",
            target,
            *flags,
            str(_copy_corpus(target, folder / "corpus")),
        ]
        done = subprocess.run(program, cwd=ROOT, check=False, capture_output=True, text=True, errors="replace")
        output = done.stdout + done.stderr
        found = [
            _keep_failing_input(target, path.name.partition("-")[0], path.read_bytes()) for path in artifacts.iterdir()
        ]
        if done.returncode and not found:
            raise RuntimeError(f"the fuzzer of {target} failed:\n{output[-4000:]}")
        return FuzzResult(target, _count(output), sorted(found), output)


def _count(output: str) -> int:
    """How many inputs were tried; a process that crashed leaves its last line of progress alone."""
    if total := _EXECUTED_UNITS.search(output):
        return int(total[1])
    return max((int(number) for number in _LAST_PROGRESS.findall(output)), default=0)


def _copy_corpus(target: str, folder: Path) -> Path:
    """A copy of the corpus, each file once for each way to read it: the first byte chooses."""
    folder.mkdir()
    for path in (CORPUS / target).iterdir():
        for number in range(len(cases(target))):
            (folder / f"{path.name}.{number}").write_bytes(bytes([number]) + path.read_bytes())
    return folder


def _keep_failing_input(target: str, kind: str, data: bytes) -> Path:
    """Keep a failing input, without the byte that chooses how it is read."""
    path = FAILING_INPUTS / target / f"{kind}-{sha256(data[1:]).hexdigest()[:12]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data[1:])
    return path


def replay(path: Path) -> None:
    """Read a file of tests/fuzz/found or of the corpus in every way; raises the first failure."""
    for case in cases(path.resolve().parent.name):
        print(case, flush=True)  # a crash would leave no other trace
        check_input(path.read_bytes(), case.kind, case.task, case.gold)


def _show(run: FuzzResult) -> None:
    print(f"{run.target:10}{run.inputs:>12,}{len(run.found):>10}", flush=True)
    uncaught = run.output.find("=== Uncaught Python exception")
    said = run.output[uncaught:].split("\n\n")[0] if uncaught >= 0 else run.output[-3000:]
    for path in run.found:
        print(f"\n{said}\nReplay: {sys.executable} -m tests.fuzz.run --replay {path}\n", flush=True)


def main() -> int:
    """The program; its status is 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description="Fuzz the readers of files.")
    parser.add_argument("--seconds", type=int, default=60, help="how long to try each format (60)")
    parser.add_argument("--seed", type=int, default=0, help="of all chances; 0 is another one each time (0)")
    parser.add_argument("--format", choices=list(TARGETS), action="append", help="these alone; without it, all")
    parser.add_argument("--record", action="store_true", help=f"write the totals to {RECORD.relative_to(ROOT)}")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="read a failing input in every way, and end")
    arguments = parser.parse_args()
    if arguments.replay:
        replay(arguments.replay)
        return 0
    print(f"{'format':10}{'inputs':>12}{'findings':>10}", flush=True)
    runs = []
    for target in arguments.format or TARGETS:
        runs.append(fuzz(target, arguments.seconds, arguments.seed))
        _show(runs[-1])
    findings = sum(len(run.found) for run in runs)
    if arguments.record:
        totals = {
            "seconds": arguments.seconds,
            "inputs": {run.target: run.inputs for run in runs},
            "findings": findings,
        }
        RECORD.write_text(json.dumps(totals, indent=2) + "\n", encoding="utf-8")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
