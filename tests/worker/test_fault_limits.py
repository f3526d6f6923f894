"""A scoring that takes too long is killed: it fails at the cap with a reason and leaves the worker alive."""

import os
from pathlib import Path
from typing import Any
from unittest import mock

from sqlalchemy import select

from app.scoring_processes import messages
from app.store.tables import ScoreTask
from app.worker.process_pool import ScoringProcess
from tests.api.in_process_app import app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_children, is_alive
from tests.live_service import open_challenge


def test_a_scoring_that_takes_too_long_is_killed_and_fails_at_the_cap(tmp_path: Path) -> None:
    call = ScoringProcess.call

    def call_in_haste(process: ScoringProcess, request: Any, seconds: float) -> Any:
        return call(process, request, 0.1 if isinstance(request, messages.ScorePredictions) else seconds)

    with serve_app(app_settings(tmp_path / "data", crash_cap=1)) as service:
        admin = service.admin()
        open_challenge(admin, "pets", GOLD)
        assert (
            admin.submit("pets", CORRECT_PREDICTIONS, team="Red").json()["status"] == "finished"
        )  # the child is there
        with frozen_children(os.getpid()) as children, mock.patch.object(ScoringProcess, "call", call_in_haste):
            answer = admin.submit("pets", CORRECT_PREDICTIONS, team="Red")
        assert answer.status_code == 201, answer.text
        assert (answer.json()["status"], answer.json()["failure"]["code"]) == ("failed", "time_limit")
        with service.app.state.service.db.read() as session:
            task = session.scalars(select(ScoreTask).filter_by(submission_id=answer.json()["id"])).one()
            assert (task.crashes, task.attempt, task.status) == (1, 1, "failed")
        assert [is_alive(child) for child in children].count(False) == 1  # the others read files
        assert admin.submit("pets", CORRECT_PREDICTIONS, team="Red").json()["status"] == "finished"
