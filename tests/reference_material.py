"""Where the reference material lies, if this checkout has it beside itself."""

from pathlib import Path

import pytest

_CANDIDATE = Path(__file__).resolve().parents[2] / "shared"
SHARED = _CANDIDATE if (_CANDIDATE / "golden").is_dir() else None
needs_shared = pytest.mark.skipif(
    SHARED is None, reason="the reference material is not beside this checkout (../shared)"
)


def shared() -> Path:
    """The folder of the reference material; only for tests marked needs_shared."""
    assert SHARED is not None
    return SHARED
