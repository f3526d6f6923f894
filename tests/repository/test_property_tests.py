"""Property tests draw the same examples everywhere; an exploration draws others, and more."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import hypothesis_profiles

ROOT = Path(__file__).resolve().parents[2]


def drawn() -> list[object]:
    found: list[object] = []

    @settings(max_examples=300)
    @given(st.integers(), st.text(max_size=4))
    def draw(number: int, text: str) -> None:
        found.append((number, text))

    draw()
    return found


def test_the_same_examples_are_drawn_whatever_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    assert len(before) == 300
    module = tmp_path / "constants_of_a_module.py"
    numbers = range(10**6, 10**6 + 200)
    module.write_text("".join(f"n{number} = {number}, 'a{number % 1000}'\n" for number in numbers), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(module.stem, module)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    monkeypatch.setitem(sys.modules, module.stem, loaded)
    assert drawn() == before
    assert settings.get_current_profile_name() == hypothesis_profiles.FIXED_PROFILE


PROPERTIES = """
from hypothesis import given, settings
from hypothesis import strategies as st
from pathlib import Path
import pytest

FEW = settings(max_examples=5, derandomize=True)

@pytest.mark.parametrize("name", ["a", "b"])
@FEW
@given(st.floats(0, 1))
def test_holds(name, number):
    with Path(__file__).with_name(name).open("a") as out:
        out.write(f"{number}\\n")

@given(st.integers(0, 10**6))
def test_fails(number):
    assert number < 1000

def test_of_another_kind():
    raise AssertionError("this is no property")
"""


@pytest.mark.ci
def test_an_exploration_draws_more_and_other_examples_and_says_what_reproduces_a_find(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(PROPERTIES, encoding="utf-8")
    for seed in ("1", "2"):
        program = [sys.executable, "-m", "tests.explore.run", "--times", "8", "--processes", "1", "--seed", seed]
        ran = subprocess.run(
            [*program, str(tmp_path / "test_it.py")],
            cwd=ROOT,
            env=os.environ | {"HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "kept")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 1, ran.stdout + ran.stderr
        assert "1 failed, 2 passed, 1 deselected" in ran.stdout
        assert "@reproduce_failure(" in ran.stdout
        assert f"make explore SEED={seed} TIMES=8" in ran.stdout
    for name in "ab":
        examples = (tmp_path / name).read_text().split()
        assert len(examples) == 2 * 40
        assert examples[:40] != examples[40:]


COUNTED = """
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

drawn = {"all": 0, "few": 0}

@pytest.mark.parametrize("case", [1, 2])
@settings(max_examples=80)
@given(st.integers())
def test_states_many(case, number):
    drawn["all"] += 1

@settings(max_examples=8)
@given(st.integers())
def test_states_few(number):
    drawn["few"] += 1

def test_counts():
    raise AssertionError(drawn)
"""


@pytest.mark.ci
@pytest.mark.parametrize(("examples", "many", "few"), [("", 20, 5), ("full", 40, 8)])
def test_a_local_run_draws_an_eighth_of_the_examples_and_that_of_ci_a_quarter(
    tmp_path: Path, examples: str, many: int, few: int
) -> None:
    (tmp_path / "test_it.py").write_text(COUNTED, encoding="utf-8")
    program = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir"]
    ran = subprocess.run(
        [*program, str(tmp_path), str(tmp_path / "test_it.py")],
        cwd=ROOT,
        env=os.environ | {"TEST_SCOPE": examples},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"AssertionError: {{'all': {many}, 'few': {few}}}" in ran.stdout, ran.stdout + ran.stderr
