"""Fixtures that several folders of tests share."""

from collections.abc import Iterator

import pytest

from tests.live import Live


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service for the tests of one file."""
    service = Live(tmp_path_factory.mktemp("service") / "data").start()
    yield service
    service.stop()
