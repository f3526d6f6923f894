"""Marks for tests about one kind of database; the others run on each (the fixture `given`)."""

import pytest

only_sqlite = pytest.mark.parametrize("given", ["sqlite"], indirect=True)
only_postgresql = pytest.mark.parametrize("given", ["postgresql"], indirect=True)
