"""The packaging says what it should: pins with hashes, a container without root, a wheel that the Dockerfile's copies
suffice to build. No container engine is needed: the files are read, and the wheel is built as the build stage does."""

import ast
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

from app import __version__
from tests.live_service import MAX_WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEALTH = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"
DECISION_SECTIONS = ["Context", "Decision", "Consequences", "Rejected alternatives", "Evidence", "Implementation"]
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[a-z0-9,_-]+\])?==([^ ;\\]+)")


def name_of(requirement: str) -> str:
    """The normalised name of what a requirement line asks for."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def pins(text: str) -> dict[str, str]:
    """Name to version of every pin of a requirements file; each must be exact and carry a hash."""
    found: dict[str, str] = {}
    for block in re.split(r"^(?=[^\s#])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE):
        if block.strip():
            pin = PIN.match(block)
            assert pin is not None, block
            assert "--hash=sha256:" in block, block
            found[name_of(pin[1])] = pin[2]
    return found


def requirements(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def imported(path: Path) -> set[str]:
    """The top-level modules that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


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


def test_the_program_imports_only_what_its_own_requirements_install() -> None:
    # Tests run with the packages of developers too, so a module that an installation lacks would not be missed.
    installed = set(pins(requirements("requirements.txt")))
    installed |= {name_of(each) for each in PROJECT["optional-dependencies"]["arrow"]}
    distributions = metadata.packages_distributions()
    missing = {
        (str(path.relative_to(ROOT)), module)
        for path in [*ROOT.glob("app/**/*.py"), *ROOT.glob("migrations/**/*.py")]
        for module in imported(path) - {"app", *sys.stdlib_module_names}
        if not installed & {name_of(each) for each in distributions.get(module, ())}
    }
    assert not missing


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


# ---- the documents ------------------------------------------------------------------------------


def test_the_licence_is_the_one_that_the_project_declares() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in licence
    assert "Version 2.0, January 2004" in licence
    assert "END OF TERMS AND CONDITIONS" in licence


def test_package_and_changelog_have_the_current_version() -> None:
    assert __version__ == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{PROJECT['version']}]" in changelog


def test_every_decision_has_its_number_its_rule_and_the_same_sections() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [page.name[:4] for page in pages] == [f"{number:04d}" for number in range(1, len(pages) + 1)]
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(page.name[:4])}. "), page.name
        headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        assert headings == DECISION_SECTIONS, page.name
        assert re.search(r"^> \*\*", text, flags=re.MULTILINE), page.name


def test_every_decision_points_at_files_that_exist() -> None:
    for page in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        where = page.read_text(encoding="utf-8").partition("## Implementation")[2]
        paths = re.findall(r"`((?:app|tests|docs)/[^`]+|[A-Z][a-z]+file|[a-z-]+\.(?:txt|toml))`", where)
        assert paths, page.name
        assert [path for path in paths if not (ROOT / path).exists()] == [], page.name


def test_the_table_of_decisions_lists_every_page() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert listed == sorted(page.name for page in folder.glob("[0-9]*.md"))
