"""The composition of several containers says what it should. No container engine is needed: the files are read, and
what can run without one does run: the script that makes the secrets, and the object store's own command."""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import obstore
import pytest
import yaml
from obstore.store import S3Store
from typer.main import get_command

from app.actions.transparency.log_key import read_log_key
from app.cli import root
from app.settings import Settings
from app.store.session import MONITORING_CONNECTIONS
from tests.live_service import MAX_WAIT_SECONDS, eventually, free_port
from tests.optional_tools import skip_or_fail

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
TREE: Any = get_command(root)
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CADDY = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "deploy" / "env.example").read_text(encoding="utf-8")
OURS = ["api", "worker", "migrate"]
SCALED = ["api", "worker"]
LASTING = sorted(SERVICES.keys() - {"migrate"})


def environment(service: str) -> dict[str, str]:
    return dict(SERVICES[service].get("environment", {}))


def seconds(duration: str) -> int:
    match = re.fullmatch(r"(\d+)s", duration)
    assert match is not None, duration
    return int(match[1])


def values(node: Any) -> Iterator[str]:
    """Every text in the composition."""
    if isinstance(node, dict):
        for value in node.values():
            yield from values(value)
    elif isinstance(node, list):
        for value in node:
            yield from values(value)
    elif isinstance(node, str):
        yield node


def interpolations() -> list[tuple[str, str]]:
    """(name, what follows it) of every ${…} and $name that the engine would replace."""
    found = []
    for text in values(COMPOSE):
        plain = text.replace("$$", "")
        found += re.findall(r"\$\{([A-Z0-9_]+)([^}]*)\}", plain)
        assert not re.search(r"\$[A-Za-z_]", plain), text
    return found


# ---- services -----------------------------------------------------------------------------------


def test_there_are_proxy_api_worker_migration_database_and_an_object_store_that_has_to_be_asked_for() -> None:
    assert set(SERVICES) == {"proxy", "api", "worker", "migrate", "db", "objects"}
    assert {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service} == {
        "objects": ["object-store"]
    }


def test_one_image_runs_api_worker_and_migration() -> None:
    single = yaml.safe_load((ROOT / "docker-compose.single.yml").read_text(encoding="utf-8"))["services"]["assay"]
    for name in OURS:
        assert SERVICES[name]["command"] == ["assay", name]
        assert (SERVICES[name]["image"], SERVICES[name]["build"]) == (single["image"], ".")


def test_every_command_that_is_run_or_described_exists() -> None:
    known = set(TREE.commands)
    page = (ROOT / "docs" / "containers.md").read_text(encoding="utf-8")
    used = {SERVICES[name]["command"][1] for name in OURS} | set(re.findall(r"\bassay (?!assay )([a-z-]+)", page))
    assert {"api", "worker", "migrate", "backup"} <= used
    assert used - known == set()


def test_images_of_others_are_pinned_to_a_version() -> None:
    tags = {name: SERVICES[name]["image"].rpartition(":")[2] for name in SERVICES if name not in OURS}
    assert tags.keys() == {"proxy", "db", "objects"}
    assert all(re.match(r"\d+(\.\d+)*(-[a-z]+)?$", tag) for tag in tags.values()), tags


def test_api_and_worker_start_once_the_schema_is_there_and_the_migration_once_the_database_answers() -> None:
    for name in SCALED:
        assert SERVICES[name]["depends_on"] == {
            "db": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
            "objects": {"condition": "service_healthy", "required": False},
        }
    assert SERVICES["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert SERVICES["proxy"]["depends_on"] == {"api": {"condition": "service_healthy"}}


def test_whatever_lasts_comes_back_even_after_a_good_end_and_the_migration_runs_once() -> None:
    assert {SERVICES[name]["restart"] for name in LASTING} == {"unless-stopped"}
    assert SERVICES["migrate"]["restart"] == "no"


def test_whatever_lasts_has_a_health_check_of_its_own() -> None:
    for name in LASTING:
        check = SERVICES[name]["healthcheck"]
        assert check["test"][0] == "CMD", name
        assert {"interval", "timeout", "start_period", "retries"} <= check.keys(), name
    assert "127.0.0.1:8000/healthz" in SERVICES["api"]["healthcheck"]["test"][-1]
    port = environment("worker")["ASSAY_WORKER_PORT"]
    assert f"127.0.0.1:{port}/healthz" in SERVICES["worker"]["healthcheck"]["test"][-1]
    assert SERVICES["db"]["healthcheck"]["test"][1] == "pg_isready"
    assert SERVICES["migrate"]["healthcheck"] == {"disable": True}


def test_scaled_services_publish_no_port_and_have_no_fixed_name() -> None:
    assert [name for name, service in SERVICES.items() if {"container_name", "hostname"} & service.keys()] == []
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "proxy": ["127.0.0.1:${PROXY_PORT:-8000}:8000"]
    }


def test_the_number_of_replicas_may_stand_in_the_environment() -> None:
    for name in SCALED:
        assert SERVICES[name]["deploy"] == {"replicas": f"${{{name.upper()}_REPLICAS:-1}}"}
        assert f"# {name.upper()}_REPLICAS=" in EXAMPLE


def test_scaled_services_keep_their_folder_to_themselves() -> None:
    for name in SCALED:
        assert SERVICES[name]["volumes"] == ["/data"]
        assert environment(name)["ASSAY_DATA_DIR"] == "/data"


def test_what_must_last_is_in_named_volumes() -> None:
    assert SERVICES["db"]["volumes"] == ["database:/var/lib/postgresql"]
    assert SERVICES["objects"]["volumes"] == ["objects:/data"]
    assert set(COMPOSE["volumes"]) == {"database", "objects"}


def test_work_at_hand_may_end_before_the_container_is_killed() -> None:
    for name in SCALED:
        assert seconds(SERVICES[name]["stop_grace_period"]) >= int(environment(name)["ASSAY_DRAIN_SECONDS"]) + 10


def test_containers_have_no_rights_that_they_do_not_need() -> None:
    for name, service in SERVICES.items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service, name
    for name in OURS:
        assert SERVICES[name]["cap_drop"] == ["ALL"]
        assert "cap_add" not in SERVICES[name]
        assert SERVICES[name]["init"] is True


def test_only_proxy_and_api_share_the_network_whose_addresses_the_api_believes() -> None:
    (front,) = COMPOSE["networks"]["front"]["ipam"]["config"]
    assert environment("api")["ASSAY_TRUSTED_PROXIES"] == front["subnet"]
    assert environment("proxy")["PROXY_SUBNET"] == front["subnet"]
    assert [name for name, service in SERVICES.items() if "front" in service["networks"]] == ["proxy", "api"]
    assert SERVICES["proxy"]["networks"] == ["front"]


def test_the_database_allows_the_connections_of_two_api_and_four_worker_containers() -> None:
    (allowed,) = [after for name, after in interpolations() if name == "DATABASE_CONNECTIONS"]
    pool = Settings.model_fields["database_pool"].default
    assert int(allowed.removeprefix(":-")) >= 6 * (2 * pool + 5 + MONITORING_CONNECTIONS)


# ---- settings and secrets -----------------------------------------------------------------------


def test_every_variable_of_the_service_is_a_setting() -> None:
    known = {f"ASSAY_{name.upper()}" for name in Settings.model_fields}
    used = set(re.findall(r"ASSAY_[A-Z0-9_]+", TEXT + CADDY + EXAMPLE))
    assert "ASSAY_FILES_URL" in used
    assert used - known == set()


def test_every_variable_from_outside_has_a_default_or_stops_with_a_sentence() -> None:
    assert interpolations()
    for name, after in interpolations():
        assert after.startswith((":-", ":?")), name
        if after.startswith(":?"):
            assert "deploy/env.example" in after, name
    assert "docker-compose.single.yml" in dict(interpolations())["ASSAY_FILES_URL"]


def test_the_example_of_the_environment_gives_all_that_is_demanded_and_starts_the_object_store_it_names() -> None:
    given = dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", EXAMPLE, re.MULTILINE))
    assert {name for name, after in interpolations() if after.startswith(":?")} <= given.keys()
    assert [given["COMPOSE_PROFILES"]] == SERVICES["objects"]["profiles"]
    host, _, port = given["ASSAY_S3_ENDPOINT"].removeprefix("http://").partition(":")
    assert host == "objects"
    assert f"--addr :{port}" in SERVICES["objects"]["command"][0]
    bucket = given["ASSAY_FILES_URL"].removeprefix("s3://").partition("/")[0]
    assert f"mkdir -p /data/{bucket}\n" in SERVICES["objects"]["command"][0]


def test_the_containers_of_the_service_read_further_settings_from_the_same_file() -> None:
    for name in OURS:
        assert SERVICES[name]["env_file"] == [{"path": ".env", "required": False}]


def test_every_secret_is_a_file_that_a_container_is_given_only_where_it_reads_it() -> None:
    assert COMPOSE["secrets"] == {name: {"file": f"./secrets/{name}"} for name in COMPOSE["secrets"]}
    assert {name for service in SERVICES.values() for name in service.get("secrets", ())} == set(COMPOSE["secrets"])
    for service in SERVICES.values():
        text = " ".join(values({"environment": service.get("environment", {}), "command": service.get("command", "")}))
        assert set(re.findall(r"/run/secrets/(\w+)", text)) == set(service.get("secrets", ()))


def test_no_secret_stands_in_the_composition_or_its_example() -> None:
    for name in SERVICES:
        for variable, value in environment(name).items():
            if re.search(r"PASSWORD|TOKEN|SECRET|DATABASE_URL", variable):
                assert variable.endswith("_FILE"), variable
                assert value.startswith("/run/secrets/"), variable
    assert "://assay:" not in TEXT + EXAMPLE
    assert not re.search(r"^[A-Z0-9_]*(PASSWORD|TOKEN|SECRET)[A-Z0-9_]*=", EXAMPLE, re.MULTILINE)


def test_secrets_and_environment_are_neither_versioned_nor_sent_to_the_builder() -> None:
    assert {"secrets/", ".env"} <= set((ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    assert not {"!secrets", "!.env", "!deploy"} & set(ignored)


# ---- the proxy ----------------------------------------------------------------------------------


def test_the_proxy_finds_every_replica_by_the_name_and_port_of_the_api() -> None:
    found = re.search(r"dynamic a \{(.*?)\}", CADDY, re.DOTALL)
    assert found is not None
    assert dict(re.findall(r"(\w+) (\w+)", found[1])) == {"name": "api", "port": "8000", "refresh": "2s"}
    assert str(Settings.model_fields["port"].default) == "8000"
    assert SERVICES["proxy"]["volumes"] == ["./deploy/Caddyfile:/etc/caddy/Caddyfile:ro"]


def test_the_proxy_keeps_the_callers_address_and_believes_only_its_own_network() -> None:
    assert re.search(r"^\t\ttrusted_proxies \{\$PROXY_SUBNET\}$", CADDY, re.MULTILINE)


def test_the_proxy_neither_gathers_bodies_nor_bounds_their_size_or_time() -> None:
    directives = {line.split()[0] for line in CADDY.splitlines() if line.strip() and not line.strip().startswith("#")}
    bounds = {"request_buffers", "response_buffers", "request_body", "max_size", "timeouts", "read_timeout"}
    assert not directives & (bounds | {"write_timeout", "response_header_timeout", "stream_timeout"})


def test_the_proxys_health_check_asks_a_port_that_it_serves_inside_only() -> None:
    assert SERVICES["proxy"]["healthcheck"]["test"][-1] == "http://127.0.0.1:8001/"
    assert re.search(r"^:8001 \{\n\tbind 127\.0\.0\.1\n\trespond 200\n\}$", CADDY, re.MULTILINE)


# ---- what runs without an engine ----------------------------------------------------------------


def make_secrets(folder: Path) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "deploy" / "make-secrets.sh")
    return subprocess.run(
        ["bash", script, str(folder)], capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )


def other_log_key(tmp_path: Path) -> Path:
    assert make_secrets(tmp_path / "other").returncode == 0
    return tmp_path / "other" / "log_key"


def test_the_secrets_are_made_once_in_a_folder_that_keeps_others_out(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    assert make_secrets(folder).returncode == 0
    made = {path.name: path.read_text().strip() for path in folder.iterdir()}
    assert made.keys() == set(COMPOSE["secrets"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}
    assert made["database_url"] == f"postgresql+psycopg://assay:{made['database_password']}@db/assay"
    random = [made[name] for name in ("admin_token", "database_password", "s3_secret_key")]
    assert len(set(random)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{64}", word) for word in random)
    assert read_log_key(folder / "log_key").id != read_log_key(other_log_key(tmp_path)).id
    again = make_secrets(folder)
    assert again.returncode == 0
    assert again.stdout.count("kept ") == len(made)
    assert {path.name: path.read_text().strip() for path in folder.iterdir()} == made


def test_a_secret_that_somebody_put_there_stays_and_is_used(tmp_path: Path) -> None:
    (tmp_path / "s3_secret_key").write_text("given by the provider")
    (tmp_path / "database_password").write_text("given by hand")
    assert make_secrets(tmp_path).returncode == 0
    assert (tmp_path / "s3_secret_key").read_text() == "given by the provider"
    assert ":given by hand@" in (tmp_path / "database_url").read_text()


def test_a_database_url_without_its_password_is_not_given_another_password(tmp_path: Path) -> None:
    (tmp_path / "database_url").write_text("postgresql+psycopg://assay:old@db/assay")
    done = make_secrets(tmp_path)
    assert done.returncode == 1
    assert "write the password" in done.stderr
    assert not (tmp_path / "database_password").exists()


WITH_TOOLS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # those of the environment come first


@contextmanager
def object_store(folder: Path) -> Iterator[str]:
    """The object store's own command on a free port, with its paths in `folder`; gives its address."""
    port = free_port()
    (script,) = SERVICES["objects"]["command"]
    words = {"$$": "$", "/run/secrets": str(folder), "/data": str(folder / "data"), ":9000": f"127.0.0.1:{port}"}
    for word, instead in words.items():
        assert word in script
        script = script.replace(word, instead)
    command = [*SERVICES["objects"]["entrypoint"], script]
    own = {"ASSAY_S3_ACCESS_KEY": "assay", "PATH": WITH_TOOLS}
    process = subprocess.Popen(command, env=os.environ | own, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert process.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually(answers, "the object store listens")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=MAX_WAIT_SECONDS)


@pytest.mark.ci
def test_the_object_store_keeps_files_for_the_key_of_its_secret_file_alone(tmp_path: Path) -> None:
    if shutil.which("rclone", path=WITH_TOOLS) is None:
        skip_or_fail("s3", "rclone is not installed")
    make_secrets(tmp_path)
    key = (tmp_path / "s3_secret_key").read_text().strip()
    with object_store(tmp_path) as address:

        def bucket(secret: str) -> Any:
            return S3Store(
                "assay",
                endpoint=address,
                access_key_id="assay",
                secret_access_key=secret,
                region="us-east-1",
                client_options={"allow_http": True},
                retry_config={"max_retries": 0},
            )

        obstore.put(bucket(key), "uploads/one", b"bytes")
        assert bytes(obstore.get(bucket(key), "uploads/one").bytes()) == b"bytes"
        with pytest.raises(Exception, match=r"403|Forbidden|denied|permission"):
            obstore.get(bucket("another"), "uploads/one")
    assert (tmp_path / "data" / "assay" / "uploads" / "one").read_bytes() == b"bytes"
