"""The command tree as a whole: names, help, wrong usage, imports."""

import os
import subprocess
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from typer.exceptions import TyperException
from typer.main import get_command

from app import __version__
from app.cli import command_loading, root
from app.cli.command_tree import CommandDeclaration, iter_commands
from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer
from tests.live_service import MAX_WAIT_SECONDS

TREE: dict[tuple[str, ...], CommandDeclaration] = dict(iter_commands())
"""The declaration of each command."""


def test_every_command_of_the_contract_exists() -> None:
    promised = (
        "signup logout template quota serve demo migrate login register submit select unselect cancel submissions "
        "submission leaderboard validate score order metrics what-if convert withdraw disqualify reinstate"
    )
    groups = "user create, token create, gold upload, gold list, gold activate, challenge create, challenge list"
    groups += ", challenge show, challenge edit, challenge publish, team disqualify, team reinstate"
    assert {(name,) for name in promised.split()} | {tuple(words.split()) for words in groups.split(", ")} <= set(TREE)


def test_every_command_explains_itself_with_an_example_and_all_but_services_offer_json() -> None:
    wrong = []
    for words, command in TREE.items():
        ran = run_assay(*words, "--help")
        module, _, name = command.function.rpartition(".")
        function = getattr(import_module(f"app.cli.{module}"), name)
        documented, parameters = function.__doc__, signature(function).parameters
        claims = {
            "status": ran.status == 0,
            "example": "Example: assay " + " ".join(words) in ran.out,
            "json": ("--json" in ran.out) == (words not in {("serve",), ("api",), ("worker",)}),
            "type": "bool" not in ran.out,
            "JSON only where asked": "as_json" not in parameters or parameters["as_json"].default is False,
            "example begins with the command": command.example.split()[: len(words) + 1] == ["assay", *words],
            "summary in the list begins the help": documented.partition("\n")[0] == command.summary,
        }
        wrong += [(words, claim) for claim, holds in claims.items() if not holds]
    assert wrong == []
    assert len(TREE) > 100


def test_the_version_is_that_of_the_package() -> None:
    assert run_assay("--version").out == f"assay {__version__}\n"


WRONG_USAGE = [
    ["nonsense"],
    ["submit"],
    ["submit", "irony"],
    ["submit", "irony", "-f", "/no/such/file"],
    ["register", "irony"],
    ["validate", "-f", __file__],
    ["validate", "irony", "-f", __file__, "--ids", __file__, "--classes", __file__, "--phase", "main"],
    ["validate", "irony", "-f", __file__, "--ids", __file__, "--classes", __file__, "--test"],
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
]
WRONG_USAGE_AS_JSON = [
    ["submit", "--json"],
    ["leaderboard", "irony", "--csv", "--json"],
    ["challenge", "nonsense", "--json"],
    ["template", "irony", "--json"],
    ["metrics", "--no", "--json"],
]


def test_wrong_usage_is_status_2_and_explained_and_one_json_value_where_asked() -> None:
    ran = [(words, run_assay(*words)) for words in WRONG_USAGE]
    assert [words for words, each in ran if each.status != 2 or "Error" not in each.err or each.out] == []
    ran = [(words, run_assay(*words)) for words in WRONG_USAGE_AS_JSON]
    assert [words for words, each in ran if each.status != 2 or each.value()["code"] != "wrong_usage"] == []


NAMES_OF_OBJECTS = frozenset(["SLUG", "PHASE", "TEAM", "ID", "VERSION", "MEMBER", "USER"])
"""What a parameter takes, as its help calls it, if the service has a list of it."""
NOT_COMPLETED = {
    ("audit", "object_id"),  # the id of anything
    ("challenge", "delete", "confirm"),  # to be typed
    ("import", "slug"),  # of a new challenge
    ("imports", "import_id"),
    ("log", "proof", "challenge"),
    ("log", "proof", "entry"),  # an id of the audit trail
    ("log", "proof", "record"),  # an id of the list of records
    ("recipe", "activate", "version"),
    ("recipe", "preview", "version"),
    ("score", "submission"),  # of an archive
}


def test_every_parameter_that_names_an_object_completes_on_tab() -> None:
    tree: Any = get_command(root)
    missing: set[tuple[str, ...]] = set()
    completed: set[tuple[str, ...]] = set()
    for words in TREE:
        command = tree
        for word in words:
            command = command.commands[word]
        for param in command.params:
            if str(param.metavar).strip("[].") in NAMES_OF_OBJECTS or param.name in {"slug", "phase"}:
                (completed if param._custom_shell_complete else missing).add((*words, param.name))
    assert missing == NOT_COMPLETED
    assert len(completed) > 100


ONE_DECLARATION = {"--reason": 4, "--days": 2, "--note": 1, "--yes": 1}
"""How many texts the help of an option has over all commands."""


def test_an_option_that_commands_share_is_worded_alike() -> None:
    tree: Any = get_command(root)
    texts: dict[str, set[str]] = {name: set() for name in ONE_DECLARATION}
    for words in TREE:
        command = tree
        for word in words:
            command = command.commands[word]
        for param in command.params:
            for name in texts.keys() & set(param.opts):
                texts[name].add(param.help)
    assert {name: len(found) for name, found in texts.items()} == ONE_DECLARATION


def test_the_help_lists_every_command_with_its_whole_summary() -> None:
    tree: Any = get_command(root)
    groups = [name for name, command in tree.commands.items() if hasattr(command, "commands")]
    told = " ".join(" ".join(run_assay(*words, "--help").out for words in [[], *([name] for name in groups)]).split())
    for words, command in TREE.items():
        assert f"{words[-1]} {command.summary}" in told
    for name in groups:
        assert f"{name} {tree.commands[name].help}" in told


SLOW = {"numpy", "sqlalchemy", "httpx", "fastapi", "pydantic", "yaml", "alembic", "rich", "pyarrow"}
GOLD = '{"predictions": [{"id": "one", "label": "cat"}]}'


@pytest.mark.parametrize(
    ("words", "needed"),
    [("--help", ""), ("submit --help", ""), ("score --gold FILE --predictions FILE --metric f1_macro --json", "numpy")],
    ids=["help", "the help of a command", "score"],
)
def test_a_command_loads_only_what_it_needs(words: str, needed: str, tmp_path: Path) -> None:
    (tmp_path / "FILE").write_text(GOLD)
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); from app.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *words.split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        timeout=MAX_WAIT_SECONDS,
    )
    assert ran.stdout
    loaded = {name.partition(".")[0] for name in ran.stderr.split()}
    assert "typer" in loaded
    assert SLOW & loaded == set(needed.split())


@pytest.mark.parametrize(
    ("value", "converted"),
    [
        ("--metric f1_macro --metric accuracy", {"metric": ["f1_macro", "accuracy"]}),
        ("", {"metric": (), "task": None, "report": None, "show_all": False}),
        ("--task binary --all", {"task": "binary", "show_all": True}),
        ("--report new.json", {"report": Path("new.json")}),
        ("--report FOLDER", "is a directory"),
        ("--task none", "'none' is not one of"),
    ],
)
def test_values_are_converted_and_refused_as_typer_does_it(
    value: str, converted: dict[str, Any] | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text(GOLD)
    Path("FOLDER").mkdir()
    command: Any = get_command(root)
    command = command.commands["score"]
    words = ["--gold", "FILE", "--predictions", "FILE", *value.split()]
    if isinstance(converted, str):
        with pytest.raises(TyperException, match=converted):
            command.make_context("score", words)
        return
    given = command.make_context("score", [*words]).params
    assert given | converted == given
    monkeypatch.setattr(command_loading, "convert_without_pydantic", lambda _: None)
    for param in command.params:
        del param.get_runtime_param
    typers = command.make_context("score", words).params
    assert typers == given
    assert {name: type(value) for name, value in typers.items()} == {name: type(value) for name, value in given.items()}


GONE = {
    "announcement delete irony a1": ("challenges/irony/announcements/a1", "a1", "deleted"),
    "file delete irony data.zip": ("challenges/irony/files/data.zip", "data.zip", "deleted"),
    "gold delete irony 2 --phase main": ("challenges/irony/phases/main/gold/2", "2", "deleted"),
    "phase delete irony --phase main": ("challenges/irony/phases/main", "main", "deleted"),
    "challenge delete irony --confirm irony": ("challenges/irony", "irony", "deleted"),
    "delete s1": ("submissions/s1", "s1", "deleted"),
    "user delete u1 --yes": ("users/u1", "u1", "deleted"),
    "token revoke t1": ("tokens/t1", "t1", "revoked"),
    "invitation revoke i1": ("invitations/i1", "i1", "revoked"),
    "registration revoke irony i1": ("challenges/irony/invitations/i1", "i1", "revoked"),
    "organizer remove irony a@example.org": ("challenges/irony/organizers", "a@example.org", "removed"),
}
"""Commands that end something, each with the path, and with the id and the participle of its JSON."""


def test_what_is_gone_has_one_shape(service: ScriptedServer) -> None:
    wrong = []
    for line, (path, identifier, participle) in GONE.items():
        service.on(f"DELETE /api/v1/{path}", ScriptedAnswer(204, None))
        value = run_assay(*line.split(), "--url", service.url, "--token", "t", "--json").value()
        if value != {"id": identifier, participle: True}:
            wrong.append((line, value))
    assert wrong == []
