"""The mark of tests about PostgreSQL alone; the others run on SQLite, and on both if they are marked `both_databases`."""

import pytest

only_postgresql = pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
