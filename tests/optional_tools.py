"""What a machine may lack: its tests skip there, or fail where ASSAY_REQUIRE names it."""

import os
from typing import NoReturn

import pytest

OPTIONAL_TOOLS = ("postgres", "s3", "tmpfs", "chromium", "nginx", "strace", "shared")


def skip_or_fail(what: str, why: str) -> NoReturn:
    """Skip the test with this reason; fail it when ASSAY_REQUIRE (a list joined by commas) names what is missing."""
    assert what in OPTIONAL_TOOLS, what
    required = [name.strip() for name in os.environ.get("ASSAY_REQUIRE", "").split(",")]
    if what in required:
        pytest.fail(f"ASSAY_REQUIRE names {what}, and it is missing: {why}", pytrace=False)
    pytest.skip(f"{what} is missing: {why}")
