"""Every seed, and every input that once failed, read in every way; of two tasks with one label, each is read as one."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.each_case import for_each
from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS, cases, check_input
from tests.live_service import MAX_WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
ONE_LABEL = ("binary", "multiclass")
BY_TARGET = {target: sorted((CORPUS / target).iterdir()) for target in TARGETS}


@pytest.mark.ci
@for_each("target", TARGETS)
def test_the_invariants_hold_for_every_input_of_the_corpus(target: str) -> None:
    valid = 0
    for number, path in enumerate(BY_TARGET[target]):
        data, task = path.read_bytes(), ONE_LABEL[number % 2]
        for case in [each for each in cases(target) if each.task in {task, "multilabel"}]:
            try:
                valid += check_input(data, case.kind, case.task, case.gold)
            except BaseException as fault:
                fault.add_note(f"{path.relative_to(ROOT)}, read as {case}")
                raise
    assert valid >= 5  # the seeds are not all refused at the door


@for_each("target", TARGETS)
def test_the_corpus_is_small(target: str) -> None:
    assert {path.name for path in BY_TARGET[target] if path.stat().st_size > 4096} == set()
    assert len(BY_TARGET[target]) >= 10


@pytest.mark.ci
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris runs on Linux x86_64 only")
def test_the_fuzzer_tries_inputs_and_finds_nothing() -> None:
    program = [sys.executable, "-m", "tests.fuzz.run", "--seconds", "1", "--seed", "1", "--format", "gzip"]
    done = subprocess.run(program, cwd=ROOT, check=False, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    target, inputs, found = done.stdout.splitlines()[1].split()
    assert target == "gzip"  # JSON Lines within
    assert int(inputs.replace(",", "")) > len(BY_TARGET["gzip"])
    assert found == "0"
