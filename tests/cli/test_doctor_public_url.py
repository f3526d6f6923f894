"""`assay doctor` says whether people can work on the pages at the public address."""

from pathlib import Path

import pytest

from app.doctor import run_checks
from app.settings import Settings

ADDRESSES = [
    ("https://assay.example.org", False, "ok", "https://assay.example.org"),
    ("http://localhost:8000/", False, "ok", "http://localhost:8000/"),
    ("http://[::1]:8000", False, "ok", "http://[::1]:8000"),
    ("https://example.org/assay/", False, "warning", "has the path /assay/"),
    ("http://localhost:8000/assay", False, "warning", "has the path /assay"),
    ("http://assay.example.org", False, "warning", "nobody can log in"),
    ("http://assay.example.org", True, "warning", "unencrypted"),
    ("", False, "ok", "no public address"),
]


@pytest.mark.parametrize(("url", "insecure", "state", "seen"), ADDRESSES)
def test_an_address_at_which_pages_do_not_work_is_found(
    tmp_path: Path, *, url: str, insecure: bool, state: str, seen: str
) -> None:
    settings = Settings(data_dir=tmp_path, public_url=url, insecure_login=insecure)
    found = next(each for each in run_checks(lambda: settings, {}) if each.check == "access.public_url")
    assert found.state == state
    assert seen in found.seen
    assert ("ASSAY_PUBLIC_URL" in found.remedy) == (state == "warning")
