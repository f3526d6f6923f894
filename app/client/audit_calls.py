"""Calls about the audit trail."""

from collections.abc import Iterator
from typing import Any

from app.client.paths import api_path
from app.transport import Json, Transport


class AuditCalls(Transport):
    """Calls about the audit trail."""

    def audit(self, slug: str | None = None, **filters: Any) -> Iterator[Json]:
        """What was done in a challenge, or, without one, on the whole site: newest first, fetched page by page.

        `filters` are the query parameters of the route, such as `action="phase"` or `order="oldest"`.
        """
        path = api_path("audit") if slug is None else api_path("challenges", slug, "audit")
        return self._items(path, params=filters)
