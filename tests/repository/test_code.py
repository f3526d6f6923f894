"""The code keeps its proportions and says what it is: docstrings, sizes, floors."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live_service import MAX_WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sorted(path for path in (ROOT / "app").rglob("*.py") if "_shipped" not in path.parts)
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PROGRAM, ids=name)
def test_every_module_opens_with_one_sentence(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    first = " ".join(docstring.split("\n\n")[0].split())
    assert first.endswith((".", ":")), first
    assert 10 <= len(first) <= 400


def test_no_file_has_more_than_400_lines_and_half_of_them_have_far_fewer() -> None:
    lines = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*PROGRAM, *TESTS]}
    assert {path: count for path, count in lines.items() if count > 400} == {}
    of_program = sorted(lines[name(path)] for path in PROGRAM)
    assert of_program[len(of_program) // 2] <= 150


def test_no_function_has_more_than_50_lines_and_half_of_them_have_far_fewer() -> None:
    lengths = {
        f"{name(path)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in PROGRAM
        for node in functions(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert {where: count for where, count in lengths.items() if count > 50} == {}
    assert sorted(lengths.values())[len(lengths) // 2] <= 15


def test_nothing_is_left_for_later() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "for " + "now", "Not" + "Implemented")
    found = [
        f"{name(path)}: {word}"
        for path in [*PROGRAM, *TESTS]
        for word in words
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_imports_go_down_only() -> None:
    """The contract is in pyproject.toml."""
    checked = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_SECONDS,
    )
    assert checked.returncode == 0, checked.stdout[-3000:]
    assert "0 broken" in checked.stdout


def test_the_scoring_program_loads_no_database_and_no_web() -> None:
    """What reads participants' files holds nothing that it could give away."""
    code = "import sys, app.worker.scoring_process; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=True
    )
    assert set(loaded.stdout.split()) & {"sqlalchemy", "fastapi", "starlette", "httpx", "sqlite3", "alembic"} == set()
