"""Calls about imports of phases from other installations, for administrators."""

from collections.abc import Iterator
from pathlib import Path

from app.client.paths import api_path
from app.transport import Json, Progress, StreamedBody, Transport


class ImportCalls(Transport):
    """Calls about imports of phases from other installations, for administrators."""

    def import_phase(
        self, path: Path, *, slug: str | None = None, reason: str | None = None, progress: Progress | None = None
    ) -> Json:
        """Queue the import of an archive; `slug` is that of the challenge here."""
        params = {"slug": slug, "reason": reason}
        return self._upload(api_path("imports"), StreamedBody(path, progress), params)

    def imports(self) -> Iterator[Json]:
        """The imports, the newest first, fetched page by page."""
        return self._items(api_path("imports"))

    def phase_import(self, import_id: str) -> Json:
        """The state of an import."""
        return self._json("GET", api_path("imports", import_id))

    def imported_ids(self, import_id: str) -> Iterator[Json]:
        """The ids that the rows of an import had at its source, fetched page by page."""
        return self._items(api_path("imports", import_id, "ids"))

    def foreign_receipts(self, submission: str) -> Json:
        """The receipts that came with an imported submission, which another installation signed."""
        return self._json("GET", api_path("submissions", submission, "receipt", "foreign"))
