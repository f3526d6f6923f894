"""What is examined: an installation as its settings describe it, opened only to look."""

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
    """An installation."""

    def __init__(self, read: Callable[[], Settings], environment: Mapping[str, str], *, deep: bool) -> None:
        """`read` gives the settings, or raises an error that says what is wrong with them."""
        self._read = read
        self._settings: Settings | None = None
        self.environment = environment
        self.deep = deep

    def read_settings(self) -> Settings:
        """The settings, read now."""
        self._settings = self._read()
        return self._settings

    @property
    def settings(self) -> Settings:
        """The settings, once they were read."""
        if self._settings is None:
            return self.read_settings()
        return self._settings

    def places(self) -> set[str]:
        """Which kinds of database and of file store there are."""
        settings = self._settings
        if settings is None:
            return set()
        database = "postgresql" if settings.on_postgresql else "sqlite"
        return {database, "bucket" if settings.files_url else "folder"}

    def session(self) -> AbstractContextManager[ReadSession]:
        """A session on the database, read only."""
        return read_only_session(self.settings)

    def has_file_store(self) -> bool:
        """Whether the uploads have their place; the first start makes a folder, and looking must not."""
        return bool(self.settings.files_url) or (self.settings.files_dir / "uploads").is_dir()

    @contextmanager
    def files(self) -> Iterator[FileStore]:
        """The store of uploads, whatever space is free; what it keeps beside is gone afterwards."""
        settings = self.settings.model_copy(update={"min_free": 0})
        with tempfile.TemporaryDirectory(prefix="assay-doctor-") as work:
            yield open_file_store(settings, Path(work))
