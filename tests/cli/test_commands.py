"""The command tree as a whole: names, help, wrong usage, imports."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from app import __version__
from app.cli import _COMMAND_GROUPS, _TOP_LEVEL_COMMANDS
from tests.cli.run_command import run_assay
from tests.live_service import MAX_WAIT_SECONDS

TREE: dict[tuple[str, ...], tuple[Callable[..., None], str]] = {
    (name,): (function, example) for commands in _TOP_LEVEL_COMMANDS.values() for name, function, example in commands
} | {
    (group, name): (function, example)
    for group, (_, _, commands) in _COMMAND_GROUPS.items()
    for name, function, example in commands
}
"""The function and the example of each command."""


def test_every_command_of_the_contract_exists() -> None:
    promised = (
        "signup logout template quota serve demo migrate login register submit select unselect cancel submissions "
        "submission leaderboard validate score metrics what-if convert"
    )
    groups = "user create, token create, gold upload, gold list, gold activate, challenge create, challenge list"
    groups += ", challenge show, challenge edit, challenge publish"
    assert {(name,) for name in promised.split()} | {tuple(words.split()) for words in groups.split(", ")} <= set(TREE)


@pytest.mark.parametrize("words", TREE, ids=" ".join)
def test_every_command_explains_itself_with_an_example_and_all_but_services_offer_json(words: tuple[str, ...]) -> None:
    ran = run_assay(*words, "--help")
    assert ran.status == 0
    assert "Example: assay " + " ".join(words) in ran.out
    assert TREE[words][0].__doc__
    assert ("--json" in ran.out) == (words not in {("serve",), ("api",), ("worker",)})
    assert "bool" not in ran.out


@pytest.mark.parametrize("words", TREE, ids=" ".join)
def test_the_example_begins_with_the_command(words: tuple[str, ...]) -> None:
    assert TREE[words][1].split()[: len(words) + 1] == ["assay", *words]


def test_the_version_is_that_of_the_package() -> None:
    assert run_assay("--version").out == f"assay {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["submit"],
        ["submit", "irony"],
        ["submit", "irony", "-f", "/no/such/file"],
        ["register", "irony"],
        ["register", "irony", "--invitation", "b"],
        ["validate", "-f", __file__],
        ["validate", "irony", "-f", __file__, "--ids", __file__, "--classes", __file__, "--phase", "main"],
        ["validate", "-f", __file__, "--ids", __file__],
        ["validate", "irony", "-f", __file__, "--ids", __file__],
        ["validate", "irony", "-f", __file__, "--task", "binary"],
        ["gold", "activate", "irony", "0"],
        ["serve", "--port", "70000"],
        ["serve", "--workers", "0"],
        ["user", "create", "--email", "a@example.org", "--name", "A", "--password", "in plain sight"],
        ["user", "create", "--email", "a@example.org", "--name", "A", "--password", "-"],
        ["token", "create", "--email", "a@example.org", "--scope", "everything"],
        ["token", "create", "--email", "a@example.org", "--days", "0"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2_and_explained(words: list[str]) -> None:
    ran = run_assay(*words)
    assert ran.status == 2
    assert "Error" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["submit", "--json"],
        ["leaderboard", "irony", "--csv", "--json"],
        ["challenge", "nonsense", "--json"],
        ["template", "irony", "--json"],
        ["metrics", "--no", "--json"],
    ],
)
def test_wrong_usage_is_one_json_value_too(words: list[str]) -> None:
    ran = run_assay(*words)
    assert ran.status == 2
    assert ran.value()["code"] == "wrong_usage"


def test_the_tree_is_built_without_what_commands_need_only_when_they_run() -> None:
    code = "import sys, app.cli; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=MAX_WAIT_SECONDS,
    ).stdout.split()
    assert "typer" in loaded
    assert not {"numpy", "sqlalchemy", "httpx", "fastapi", "pydantic", "yaml", "alembic"} & set(loaded)
