"""A work list for each test of queues."""

from collections.abc import Iterator

import pytest

from app.settings import Settings
from tests.queue.bed import Bed


@pytest.fixture
def bed(settings: Settings) -> Iterator[Bed]:
    new_bed = Bed(settings)
    yield new_bed
    new_bed.db.close()
