"""The parts of the demonstration that need no running service; tests/journeys/test_demo.py runs the whole of it."""

import socket
import stat
from pathlib import Path

import pytest

from app.cli.demo import _require_free_port, local_url
from app.cli.demo_data import DEMO_BOARD_METRICS, DemoLoader, demo_secret
from app.cli.input.yaml_file import load_description, read_yaml
from app.cli.serve import load_settings
from app.cli.terminal.output import CommandError
from app.package_data import package_data_folder
from app.runtime.data_folder import lock_data_folder
from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer


def test_the_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    first = demo_secret(tmp_path)
    assert len(first) == 32
    assert demo_secret(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "demo-secret").stat().st_mode) == 0o600
    other = tmp_path / "other"
    other.mkdir()
    assert demo_secret(other) != first


def test_a_port_in_use_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ran = run_assay("demo", "--once", "--port", port, "--data-dir", tmp_path / "data", "--json")
    assert (ran.status, ran.value()["code"]) == (1, "port_in_use")
    assert not (tmp_path / "data").exists()


def test_a_service_that_does_not_start_is_reported_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ADMIN_TOKEN", "too short")
    log = tmp_path / "demo.log"
    log.write_text("an earlier run\n")
    ran = run_assay("demo", "--once", "--data-dir", tmp_path, "--json")
    assert (ran.status, ran.value()["code"]) == (1, "service_ended")
    assert "32" in ran.value()["detail"]
    assert "too short" not in ran.out
    assert "an earlier run" not in ran.out
    assert log.read_text().startswith("an earlier run\n")


def test_a_folder_that_another_service_holds_is_refused_and_its_log_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "demo.log"
    log.write_text("of the other\n")
    with lock_data_folder(tmp_path):
        ran = run_assay("demo", "--once", "--data-dir", tmp_path, "--json")
    assert (ran.status, ran.value()["code"]) == (1, "already_served")
    assert str(tmp_path) in ran.value()["detail"]
    assert log.read_text() == "of the other\n"


def test_any_free_port_is_found() -> None:
    assert 0 < _require_free_port("127.0.0.1", 0) < 65536


@pytest.mark.parametrize(
    ("host", "met_at"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::1", "http://[::1]:80"),
        ("::", "http://[::1]:80"),
        ("assay.example", "http://assay.example:80"),
    ],
)
def test_the_service_is_met_where_this_machine_can_reach_it(host: str, met_at: str) -> None:
    assert local_url(load_settings(host=host, port=80)) == met_at


def test_the_example_is_whole_and_its_board_has_what_is_shown() -> None:
    folder = package_data_folder("examples/digits")
    assert set(DEMO_BOARD_METRICS) <= set(load_description(folder / "challenge.yaml")["recipe"]["metrics"])
    systems = read_yaml(folder / "systems.yaml")
    assert len(systems) == 5
    assert all((folder / system["file"]).is_file() for system in systems)


def loader_for(service: ScriptedServer) -> DemoLoader:
    """A service on which everything exists already: each creation is refused as such."""
    finished = [{"method": system["method"], "status": "finished"} for system in systems()]
    service.on("POST /api/v1/users", ScriptedAnswer(409, {"code": "email_taken"}))
    service.on("POST /api/v1/tokens", ScriptedAnswer(201, {"id": "k", "token": "t"}))
    service.on("DELETE /api/v1/tokens/k", ScriptedAnswer(204, ""))
    service.on("GET /api/v1/challenges/digits", ScriptedAnswer(200, {"slug": "digits"}))
    service.on("POST /api/v1/challenges/digits/phases/main/gold", ScriptedAnswer(422, {"code": "reason_required"}))
    service.on("GET /api/v1/challenges/digits/phases/main/template", ScriptedAnswer(200, "id,label\n"))
    service.on("POST /api/v1/challenges/digits/registrations", ScriptedAnswer(409, {"code": "already_registered"}))
    service.on(
        "GET /api/v1/challenges/digits/phases/main/submissions", ScriptedAnswer(200, {"items": finished, "next": None})
    )
    service.on("GET /api/v1/challenges/digits/phases/main/leaderboard", ScriptedAnswer(200, {"rows": []}))
    return DemoLoader(service.url, "admin", package_data_folder("examples/digits"), b"secret", lambda _: None)


def systems() -> list[dict[str, str]]:
    found: list[dict[str, str]] = read_yaml(package_data_folder("examples/digits") / "systems.yaml")
    return found


def test_loading_what_is_there_hands_nothing_in(service: ScriptedServer) -> None:
    assert loader_for(service).load() == {"rows": []}
    assert not [request for request in service.sent("POST") if request.path.endswith("submissions")]


def test_every_token_that_the_loading_made_is_revoked(service: ScriptedServer) -> None:
    loader_for(service).load()
    made = [request for request in service.sent("POST") if request.path.endswith("/tokens")]
    assert len(service.sent("DELETE")) == len(made) == 1 + len(systems())


def test_a_lost_secret_is_explained(service: ScriptedServer) -> None:
    demonstration = loader_for(service)
    service._script["POST /api/v1/tokens"] = [ScriptedAnswer(401, {"code": "wrong_password"})]
    with pytest.raises(CommandError, match="secret"):
        demonstration.load()


def test_a_refusal_that_is_not_expected_ends_the_loading(service: ScriptedServer) -> None:
    demonstration = loader_for(service)
    service._script["POST /api/v1/challenges/digits/registrations"] = [ScriptedAnswer(409, {"code": "team_name_taken"})]
    with pytest.raises(Exception, match="team_name_taken"):
        demonstration.load()
