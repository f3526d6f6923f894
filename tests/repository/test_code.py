"""What reads participants' files holds nothing that it could give away."""

import subprocess
import sys

from tests.live_service import MAX_WAIT_SECONDS
from tests.repository.tree import ROOT


def test_the_scoring_program_loads_no_database_and_no_web() -> None:
    code = "import sys, app.worker.scoring_process; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=True
    )
    assert set(loaded.stdout.split()) & {"sqlalchemy", "fastapi", "starlette", "httpx", "sqlite3", "alembic"} == set()
