"""The installation that the doctor checks: its settings, a read-only database session and its file store."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from app.files import FileStore
from app.runtime.data_folder import open_file_store
from app.settings import Settings
from app.store.read_only_sessions import read_only_session
from app.store.session import ReadSession


class Installation:
    """An installation, as its settings describe it."""

    def __init__(self, read: Callable[[], Settings], environment: Mapping[str, str], *, deep: bool) -> None:
        """`read` returns the settings, or raises an error that describes what is wrong with them."""
        self._read = read
        self._settings: Settings | None = None
        self.environment = environment
        self.deep = deep

    def read_settings(self) -> Settings:
        """Read the settings now."""
        self._settings = self._read()
        return self._settings

    @property
    def settings(self) -> Settings:
        """The settings, read once."""
        return self.read_settings() if self._settings is None else self._settings

    def backend_kinds(self) -> set[str]:
        """The kinds of database and file store in use; empty before the settings have been read."""
        settings = self._settings
        if settings is None:
            return set()
        database = "postgresql" if settings.on_postgresql else "sqlite"
        return {database, "bucket" if settings.files_url else "folder"}

    def session(self) -> AbstractContextManager[ReadSession]:
        """A read-only session on the database."""
        return read_only_session(self.settings)

    def has_file_store(self) -> bool:
        """Whether the file store exists; opening it would create its folder, which a check must not do."""
        return bool(self.settings.files_url) or (self.settings.files_dir / "uploads").is_dir()

    @contextmanager
    def files(self) -> Iterator[FileStore]:
        """The file store, opened even if little disk space is free; its working files are removed afterwards."""
        settings = self.settings.model_copy(update={"min_free": 0})
        with tempfile.TemporaryDirectory(prefix="assay-doctor-") as work:
            yield open_file_store(settings, Path(work))
