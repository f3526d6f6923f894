"""Checks whether PostgreSQL answers, on a new connection: existing ones may have failed without a notice."""

import psycopg
from sqlalchemy.engine import make_url

from app.settings import Settings
from app.store.connection_timeouts import connection_with_timeout
from app.store.session import connection_options

PROBE_SECONDS = 2  # without a reply, after which the database does not answer
_REFUSED, _CANNOT_CONNECT_NOW = "FATAL", "the database system is "


def database_answers(settings: Settings) -> bool:
    """Whether the database answers within a few seconds.

    A server that refuses the connection, because there are too many for example, serves others and so does answer. One
    that is starting or stopping does not. The driver tells them apart by their message only.
    """
    url = make_url(settings.database).set(drivername="postgresql")
    options = connection_options(settings) | {"connect_timeout": PROBE_SECONDS, "application_name": "assay probe"}
    connection_class = connection_with_timeout(PROBE_SECONDS)
    try:
        with connection_class.connect(
            url.render_as_string(hide_password=False), autocommit=True, **options
        ) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError as fault:
        return _REFUSED in str(fault) and _CANNOT_CONNECT_NOW not in str(fault)
    return True
