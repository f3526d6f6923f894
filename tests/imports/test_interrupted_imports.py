"""An import whose process is killed: it begins again and is stored once, and nobody sees a part of it."""

import os
from pathlib import Path

import pytest

from tests.imports.source_phase import finish, send
from tests.live_service import Live, eventually

pytestmark = pytest.mark.ci


def test_an_import_of_a_killed_service_is_done_once_after_the_restart(archive: Path, tmp_path: Path) -> None:
    live = Live(Path(os.path.relpath(tmp_path / "data"))).start()  # scoring processes work elsewhere
    try:
        answer = send(live.admin(), archive)
        address = f"/imports/{answer.raise_for_status().json()['id']}"
        eventually(lambda: live.admin().get(address).json()["status"] != "queued", "a worker has it")
        live.kill()
        live.start()
        state = live.admin().get(address).json()
        shown = live.admin().get("/challenges").json()["items"]
        assert len(shown) == (state["status"] == "done")
        done = finish(live, answer)
        assert (done["status"], done["total"]) == ("done", 9)
        (challenge,) = live.admin().get("/challenges").json()["items"]
        rows = live.admin().get(f"/challenges/{challenge['slug']}/phases/main/submissions", params={"limit": 100})
        assert len(rows.json()["items"]) == 9
        live.stop()
        live.start()
        assert [row["status"] for row in live.admin().get("/imports").json()["items"]] == ["done"]
    finally:
        live.stop()
