"""The packaging says what it should: pins with hashes, a container without root, a wheel that the Dockerfile's copies
suffice to build. No container engine is needed: the files are read, and the wheel is built as the build stage does."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live_service import MAX_WAIT_SECONDS
from tests.repository.packaging_checks import name_of, pins

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEALTH = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"


def requirements(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def stages() -> list[list[tuple[str, str]]]:
    """The Dockerfile's stages as (instruction, argument) pairs, continued lines joined, comments dropped."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    result: list[list[tuple[str, str]]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            instruction, _, argument = line.strip().partition(" ")
            if instruction == "FROM":
                result.append([])
            result[-1].append((instruction, argument.strip()))
    return result


def copied() -> list[Path]:
    """Every source of a COPY from the build context, relative to the checkout."""
    sources: list[Path] = []
    for instruction, argument in (pair for stage in stages() for pair in stage):
        words = shlex.split(argument)
        if instruction == "COPY" and not words[0].startswith("--from="):
            sources.extend(Path(word) for word in words[:-1])
    return sources


# ---- pins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_exactly_with_hashes_and_no_address(name: str) -> None:
    text = requirements(name)
    assert pins(text)
    assert "://" not in text
    assert "--index-url" not in text


def test_every_declared_dependency_is_pinned_and_both_files_agree() -> None:
    runtime, development = pins(requirements("requirements.txt")), pins(requirements("requirements-dev.txt"))
    assert {name_of(wish) for wish in PROJECT["dependencies"]} <= runtime.keys()
    assert {name_of(wish) for wish in PROJECT["optional-dependencies"]["dev"]} <= development.keys()
    assert {name: development.get(name, version) for name, version in runtime.items()} == runtime


def test_every_declared_dependency_has_its_reason_in_the_decision_about_dependencies() -> None:
    page = (ROOT / "docs" / "decisions" / "0007-dependencies.md").read_text(encoding="utf-8")
    wishes = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]
    assert [wish for wish in wishes if f"`{name_of(wish)}" not in page] == []


# ---- the image ----------------------------------------------------------------------------------


def test_every_source_that_the_image_copies_exists_and_is_let_through_by_dockerignore() -> None:
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"
    }
    assert copied()
    for source in copied():
        assert (ROOT / source).exists(), source
        assert str(source) in allowed, source


def test_the_image_runs_as_a_user_without_root_and_names_its_command_port_volume_and_health() -> None:
    final = stages()[-1]
    values = {instruction: argument for instruction, argument in final if instruction != "RUN"}
    users = [argument for instruction, argument in final if instruction == "USER"]
    assert values["FROM"] == "python:3.11-slim"
    assert users == ["assay"]
    assert any("useradd --system --uid 10001" in argument and argument.count(" assay") for _, argument in final)
    assert values["CMD"] == '["assay", "serve", "--host", "0.0.0.0"]'
    assert "ENTRYPOINT" not in values
    assert "ASSAY_DATA_DIR=/data" in values["ENV"].split()
    assert values["EXPOSE"] == "8000"
    assert values["VOLUME"] == "/data"
    assert f'CMD ["python", "-c", "{HEALTH}"]' in values["HEALTHCHECK"]


def test_the_image_installs_nothing_unpinned() -> None:
    commands = [argument for stage in stages() for instruction, argument in stage if instruction == "RUN"]
    installs = [part for command in commands for part in command.split("&&") if "pip install" in part]
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes --only-binary :all: -r " in install or "--no-index --no-deps /wheels/" in install


def test_the_build_backend_is_pinned_with_all_that_it_needs() -> None:
    picked = (ROOT / "requirements-build.txt").read_text(encoding="utf-8")
    needed, queue = set[str](), ["hatchling", "editables"]
    while queue:
        name = queue.pop()
        needed.add(name)
        wishes = [wish for wish in metadata.requires(name) or [] if ";" not in wish]
        queue.extend({name_of(wish) for wish in wishes} - needed)
    assert pins(picked).keys() == needed


@pytest.mark.ci
def test_the_wheel_builds_from_what_the_image_copies_and_holds_program_migrations_and_example(tmp_path: Path) -> None:
    source, wheels = tmp_path / "src", tmp_path / "wheels"
    for path in copied():
        target = source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / path, target)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)],
        cwd=source,
        capture_output=True,
        check=True,
        timeout=MAX_WAIT_SECONDS,
    )
    (wheel,) = wheels.iterdir()
    assert wheel.name == f"assay-{PROJECT['version']}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        entry = content.read(f"assay-{PROJECT['version']}.dist-info/entry_points.txt").decode()
    assert "assay = app.cli:main" in entry
    assert {"app/__init__.py", "app/_shipped/examples/digits/challenge.yaml"} <= set(names)
    assert any(name.startswith("app/_shipped/migrations/") for name in names)
    assert {Path(name).name for name in names if "/licenses/" in name} == {"LICENSE", "NOTICE"}
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


# ---- the composition of one container; test_compose.py has the other -----------------------------


def test_the_single_composition_has_one_service_with_volume_health_restart_and_the_token_from_a_secret_file() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.single.yml").read_text(encoding="utf-8"))
    assert list(compose["services"]) == ["assay"]
    service = compose["services"]["assay"]
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"] == ["CMD", "python", "-c", HEALTH]
    assert service["environment"] == {"ASSAY_ADMIN_TOKEN_FILE": "/run/secrets/admin_token"}
    assert service["secrets"] == list(compose["secrets"]) == ["admin_token"]
    assert service["volumes"] == [f"{volume}:/data" for volume in compose["volumes"]]
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert service["image"] == f"assay:{PROJECT['version']}"


def test_the_licence_is_the_one_that_the_project_declares() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
