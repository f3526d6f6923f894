"""Scoring again steps back for new submissions."""

import threading
from concurrent.futures import ThreadPoolExecutor

from app.rescorer import Places
from tests.live import LONG


def test_a_free_place_is_one_that_no_submission_needs() -> None:
    places = Places(2)
    with ThreadPoolExecutor(1) as pool:
        assert places.take_free()
        with places.submitted():
            waiting = pool.submit(places.take_free)
            with places.submitted():  # taken at once, though both children are at work
                places.give_free()
                assert not threading.Event().wait(0.1)
                assert not waiting.done()
        assert waiting.result(LONG)
        assert places.take_free()
        last = pool.submit(places.take_free)
        places.end()
        assert last.result(LONG) is False
