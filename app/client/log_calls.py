"""Calls about the transparency log."""

from collections.abc import Iterator
from urllib.parse import quote

from app.client.paths import api_path
from app.transport import Json, Transport


class LogCalls(Transport):
    """Calls about the transparency log; reading it needs no token."""

    def logs(self) -> list[Json]:
        """The logs of the service with origin, verifier key and last checkpoint; the one that grows first."""
        return list(self._json("GET", api_path("log"))["logs"])

    def log_file(self, path: str, label: str | None = None) -> bytes:
        """What the log serves at a path such as `checkpoint` or `tile/0/000`; `label` names a later log."""
        base = "/log" if label is None else f"/log/{quote(label)}"
        return self._call("GET", f"{base}/{path}", headers={"Accept": "*/*"}).content

    def receipt_proof(
        self,
        submission: str,
        *,
        split: str | None = None,
        gold_version: int | None = None,
        recipe_version: int | None = None,
    ) -> bytes:
        """The proof that the log contains the receipt of a submission (C2SP tlog-proof)."""
        path = api_path("submissions", submission, "receipt", "proof")
        params = {"split": split, "gold_version": gold_version, "recipe_version": recipe_version}
        return self._call("GET", path, params=params, headers={"Accept": "*/*"}).content

    def audit_proof(self, entry: str, slug: str | None = None) -> bytes:
        """The proof that the log contains an entry of the audit trail, of a challenge or of the site."""
        path = (
            api_path("audit", entry, "proof") if slug is None else api_path("challenges", slug, "audit", entry, "proof")
        )
        return self._call("GET", path, headers={"Accept": "*/*"}).content

    def log_records(self, slug: str) -> Iterator[Json]:
        """The records of the log about a challenge, newest first."""
        return self._items(api_path("challenges", slug, "log"))

    def log_record_proof(self, slug: str, record: str) -> bytes:
        """The proof that the log contains a record about a challenge."""
        path = api_path("challenges", slug, "log", record, "proof")
        return self._call("GET", path, headers={"Accept": "*/*"}).content
