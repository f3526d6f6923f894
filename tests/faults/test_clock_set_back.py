"""Work that waits is done, whatever the clock says of its time."""

import contextlib
import sqlite3

from tests.faults.inspection import CORRECT_PREDICTIONS, frozen_scoring, open_pets_challenge, submission_status
from tests.live_service import Live, eventually


def test_work_of_a_time_to_come_is_done_after_somebody_set_the_clock_back_and_started_the_service_again(
    live: Live,
) -> None:
    blue = open_pets_challenge(live)
    with frozen_scoring(live):
        sent = blue.submit("pets", CORRECT_PREDICTIONS, wait=0).json()["id"]
        live.kill()
    with contextlib.closing(sqlite3.connect(live.data_dir / "assay.sqlite3")) as database, database:
        database.execute("UPDATE score_tasks SET created_at = '2999-01-01 00:00:00.000000'")
    live.start()
    eventually(lambda: submission_status(live.admin(), sent) == "finished", "it is scored")
