"""Every setting is declared with its help, read from its variable, and documented from the declaration."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from app.settings import Settings, describe_settings

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_names_every_setting_with_its_help_and_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert len(describe_settings()) == len(Settings.model_fields)
    for row in describe_settings():
        (line,) = [line for line in page.splitlines() if f"`{row['name']}`" in line]
        assert row["help"].endswith("."), row["name"]
        assert row["help"].replace("|", "\\|") in line
        if row["default"]:
            assert f"`{row['default']}`" in line or row["default"] in line


def test_every_setting_is_used() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py")]
    unused = [name for name in Settings.model_fields if not any(f".{name}" in source for source in sources)]
    assert unused == []


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_read_from_its_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {
        "signup": "closed",
        "challenge_creation": "any",
        "log_format": "json",
        "metrics_access": "open",
        "log_level": "error",
        "database_url": "postgresql+psycopg://host/assay",
        "files_url": "s3://bucket/prefix",
        "log_witnesses": "https://witness.example witness.example/w1+1a2b3c4d+BAAA",
        "s3_endpoint": "http://127.0.0.1:9000",
        "public_url": "https://assay.example.org",
        "privacy_url": "https://example.org/privacy",
        "imprint_url": "https://example.org/imprint",
        "files_shared": "True",
        "insecure_login": "True",
        "rate_limits": "5/second",
        "login_limit": "7/minute",
        "signup_limit": "8/hour",
        "team_limit": "9/hour",
        "scoring_memory": str(1 << 30),
        "scoring_cpu": "7",
        "workers": "7",
        "heartbeat_seconds": "3",
        "max_nesting": "100",
    }
    number = Settings.model_fields[name].annotation in {int, float}
    word = words.get(name, "4096" if number else "x" * 40)
    monkeypatch.setenv(f"ASSAY_{name.upper()}", word)
    value = getattr(Settings(), name)
    shown = value.get_secret_value() if hasattr(value, "get_secret_value") else value
    assert str(shown) == (f"{float(word)}" if isinstance(shown, float) else word)


def test_the_administrators_token_is_never_shown_with_the_settings() -> None:
    token = "a secret of more than thirty-two letters"
    assert token not in repr(Settings(admin_token=token))


@pytest.mark.parametrize(
    ("name", "value"),
    [("signup", "perhaps"), ("port", "70000"), ("workers", "0"), ("scoring_seconds", "0"), ("scoring_memory", "1"),
     ("scoring_cpu", "0"), ("scoring_cpu", "60"), ("stall_seconds", "0"),
     ("database_url", "postgresql://localhost/assay"), ("database_url", "mysql://localhost/assay"),
     ("files_url", "https://bucket/prefix"), ("files_url", "s3://"),
     ("s3_endpoint", "localhost:9000"), ("s3_endpoint", "http://no address"),
     ("rate_limits", "many"), ("login_limit", "10/fortnight"),
     ("signup_limit", "off"), ("team_limit", "0/hour"), ("metrics_access", "loopback")],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Settings.model_validate({name: value})


def test_an_empty_variable_means_that_it_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose files pass variables on as empty ones."""
    for name in Settings.model_fields:
        monkeypatch.setenv(f"ASSAY_{name.upper()}", "")
    assert Settings().admin_token is None
