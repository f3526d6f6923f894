"""Calls about announcements and files of challenges, and exports."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from app.client.paths import api_path
from app.transport import Json, Progress, StreamedBody, Transport


class AnnouncementCalls(Transport):
    """Calls about announcements and files of challenges, and exports."""

    def announcements(self, slug: str) -> Iterator[Json]:
        """What the organizers announced, newest first, fetched page by page."""
        return self._items(api_path("challenges", slug, "announcements"))

    def feed_url(self, slug: str) -> str:
        """The address of the Atom feed of the announcements; that of a challenge that is not public needs a token."""
        return f"{self.url}{api_path('challenges', slug, 'announcements.atom')}"

    def post_announcement(self, slug: str, title: str, body: str = "") -> Json:
        """Tell everybody who sees a challenge something, as an organizer."""
        return self._json("POST", api_path("challenges", slug, "announcements"), json={"title": title, "body": body})

    def edit_announcement(self, slug: str, announcement: str, *, reason: str | None = None, **changes: str) -> Json:
        """Change `title` or `body` of an announcement, as an organizer."""
        return self._json(
            "PATCH",
            api_path("challenges", slug, "announcements", announcement),
            json=changes,
            params={"reason": reason},
        )

    def delete_announcement(self, slug: str, announcement: str, *, reason: str | None = None) -> None:
        """Delete an announcement, as an organizer."""
        self._call("DELETE", api_path("challenges", slug, "announcements", announcement), params={"reason": reason})

    def files(self, slug: str) -> Iterator[Json]:
        """The files of a challenge by name, fetched page by page."""
        return self._items(api_path("challenges", slug, "files"))

    def upload_file(
        self,
        slug: str,
        path: Path,
        *,
        licence: str,
        name: str | None = None,
        description: str = "",
        audience: str = "public",
        progress: Progress | None = None,
    ) -> Json:
        """Offer a file for download, as an organizer, to everybody ("public") or to approved "teams"."""
        about = {"licence": licence, "description": description, "audience": audience}
        params = {"name": path.name if name is None else name, **about}
        return self._upload(api_path("challenges", slug, "files"), StreamedBody(path, progress), params)

    def download_file(self, slug: str, name: str, out: IO[bytes], progress: Progress | None = None) -> None:
        """Write the bytes of a file of a challenge to `out`."""
        self._download(api_path("challenges", slug, "files", name), out, progress=progress)

    def edit_file(self, slug: str, name: str, *, reason: str | None = None, **changes: str) -> Json:
        """Change `description`, `licence` or `audience` of a file, as an organizer."""
        return self._json("PATCH", api_path("challenges", slug, "files", name), json=changes, params={"reason": reason})

    def delete_file(self, slug: str, name: str, *, reason: str | None = None) -> None:
        """Delete a file of a challenge, as an organizer."""
        self._call("DELETE", api_path("challenges", slug, "files", name), params={"reason": reason})

    def export(self, slug: str, out: IO[bytes], phase: str | None = None, progress: Progress | None = None) -> None:
        """Write the archive of a phase to `out`, as an organizer; `phase` is required if there are several."""
        self._download(api_path("challenges", slug, "export"), out, params={"phase": phase}, progress=progress)
