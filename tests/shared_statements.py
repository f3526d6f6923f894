"""Statements are compiled once for all databases of a test process: each new database would compile all of its own anew."""

from collections import defaultdict
from typing import Any

from sqlalchemy import Dialect, Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

MAX_STATEMENTS = 5000
SHAPE = ("paramstyle", "_json_serializer", "_json_deserializer")
"""What decides about compiled statements besides the kind of dialect."""


class SharedCache:
    """The statements that the engines of each kind of database have compiled, in place of a cache of each engine."""

    def __init__(self) -> None:
        self._of_kind = defaultdict[type[Dialect], LRUCache[Any, Any]](lambda: LRUCache(MAX_STATEMENTS))

    def __get__(self, engine: Engine, _owner: object) -> LRUCache[Any, Any]:
        """The cache for the kind of an engine."""
        return self._of_kind[type(engine.dialect)]

    def __set__(self, _engine: Engine, _own: object) -> None:
        """An engine that is made comes with an empty one."""


def share_compiled_statements() -> None:
    """From now on engines use one cache, and find in it what an engine with an equal dialect has compiled."""
    for kind in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        kind.__eq__ = _compiles_alike  # type: ignore[method-assign]
        kind.__hash__ = _hash_of_kind  # type: ignore[method-assign,assignment]
    Engine._compiled_cache = SharedCache()  # type: ignore[assignment]


def _compiles_alike(one: Any, other: object) -> bool:
    return type(one) is type(other) and all(getattr(one, name) is getattr(other, name) for name in SHAPE)


def _hash_of_kind(one: Any) -> int:
    return hash(type(one))
