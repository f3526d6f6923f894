"""Calls about the gold labels of a phase."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.client.paths import phase_path
from app.transport import Json, Progress, StreamedBody, Transport


class GoldCalls(Transport):
    """Calls about the gold labels of a phase."""

    def upload_gold(
        self,
        slug: str,
        phase: str,
        path: Path,
        *,
        activate: bool = False,
        layout: str | None = None,
        reason: str | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """Upload gold labels as a draft, or activate them at once if `activate` is true."""
        params = {
            "activate": "true" if activate else "false",
            "filename": path.name,
            "layout": layout,
            "reason": reason,
        }
        return self._upload(phase_path(slug, phase, "gold"), StreamedBody(path, progress), params)

    def gold_versions(self, slug: str, phase: str) -> Iterator[Json]:
        """The gold versions of a phase, newest first, fetched page by page."""
        return self._items(phase_path(slug, phase, "gold"))

    def put_gold_table(
        self, slug: str, phase: str, version: int, table: str, content: Any, *, reason: str | None = None
    ) -> Json:
        """Add `classes` or other gold metadata, such as `train-frequencies`, to a draft of the gold."""
        path = phase_path(slug, phase, "gold", str(version), table)
        return self._json("PUT", path, json=content, params={"reason": reason})

    def gold_version(self, slug: str, phase: str, version: int) -> Json:
        """One version of the gold, without its labels."""
        return self._json("GET", phase_path(slug, phase, "gold", str(version)))

    def gold_opening(self, slug: str, phase: str, version: int) -> Json:
        """The nonce and the commitment of a version: `{"gold_version", "algorithm", "nonce", "commitment"}`."""
        return self._json("GET", phase_path(slug, phase, "gold", str(version), "opening"))

    def class_counts(self, slug: str, phase: str, version: int) -> Json:
        """How many instances of a version have each class: `{"classes", "counts": {split: [...]}}`."""
        return self._json("GET", phase_path(slug, phase, "gold", str(version), "counts"))

    def gold_difference(self, slug: str, phase: str, version: int) -> Json:
        """How a version differs from the one that it follows: counts, and in `items` every instance that is listed."""
        path = phase_path(slug, phase, "gold", str(version), "difference")
        found: Json = {}
        cursor: str | None = None
        while not found or cursor:
            part = self._json("GET", path, params={"limit": 200, "cursor": cursor})
            found = part | {"items": [*found.get("items", ()), *part["items"]]}
            cursor = part["next"]
        return found

    def delete_gold(self, slug: str, phase: str, version: int, *, reason: str | None = None) -> None:
        """Delete a draft of the gold."""
        self._call("DELETE", phase_path(slug, phase, "gold", str(version)), params={"reason": reason})

    def activate_gold(
        self, slug: str, phase: str, version: int, *, reason: str | None = None, lists_instances: bool = False
    ) -> Json:
        """Activate a version of the gold; once something was submitted, with a reason."""
        path = phase_path(slug, phase, "gold", str(version), "activate")
        return self._json("POST", path, json={"reason": reason, "lists_instances": lists_instances})
