"""Marks for tests about one kind of database; the others run on each (the fixture `settings`)."""

import pytest

only_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
only_postgresql = pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
