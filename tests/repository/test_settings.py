"""Every setting is read from its variable; `declaration_checks.py` checks that each is described and used."""

import pytest
from pydantic import ValidationError

from app.settings import Settings


def test_every_setting_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
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
        "background_pace": "0.25",
        "max_nesting": "100",
    }
    misread = []
    for name, field in Settings.model_fields.items():
        word = words.get(name, "4096" if field.annotation in {int, float} else "x" * 40)
        with monkeypatch.context() as variable:
            variable.setenv(f"ASSAY_{name.upper()}", word)
            value = getattr(Settings(), name)
        shown = value.get_secret_value() if hasattr(value, "get_secret_value") else value
        if str(shown) != (f"{float(word)}" if isinstance(shown, float) else word):
            misread.append((name, word, shown))
    assert misread == []


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
