"""Calls about item analysis: instances, agreement of systems, near-duplicates, and relabellings."""

from collections.abc import Sequence
from pathlib import Path

from app.client.paths import phase_path
from app.transport import Json, Transport


class ItemCalls(Transport):
    """Calls about item analysis, for organizers."""

    def items(self, slug: str, phase: str, **filters: str | int | None) -> Json:
        """A page of instances; filters: `select`, `sort`, `split`, `submissions`, `limit` and `cursor`."""
        return self._json("GET", phase_path(slug, phase, "items"), params=filters)

    def items_csv(self, slug: str, phase: str, **filters: str | int | None) -> str:
        """All instances of a selection as CSV text; filters as for `items`."""
        params = filters | {"format": "csv"}
        return self._call("GET", phase_path(slug, phase, "items"), params=params, headers={"Accept": "text/csv"}).text

    def agreement(self, slug: str, phase: str, **filters: str | None) -> Json:
        """How far systems agree; filters: `split` and `submissions`."""
        return self._json("GET", phase_path(slug, phase, "items", "agreement"), params=filters)

    def near_duplicates(self, slug: str, phase: str, **filters: str | None) -> Json:
        """Systems of different teams with the same errors; filters: `split` and `submissions`."""
        return self._json("GET", phase_path(slug, phase, "items", "near-duplicates"), params=filters)

    def try_relabelling(
        self, slug: str, phase: str, changes: Sequence[Json], *, reason: str | None = None, **filters: str | None
    ) -> Json:
        """Ranks and values before and after changes: `{"id", "label" or "labels"}`, null to void an instance."""
        path = phase_path(slug, phase, "items", "relabelling")
        return self._json("POST", path, json={"changes": list(changes), "reason": reason}, params=filters)

    def save_corrected_gold(
        self,
        slug: str,
        phase: str,
        changes: Sequence[Json],
        target: Path,
        *,
        form: str = "gold",
        reason: str | None = None,
    ) -> None:
        """Write the gold with changes to a file, or the changes alone (`jsonl`, `csv`)."""
        path = phase_path(slug, phase, "items", "corrected-gold")
        body = {"changes": list(changes), "reason": reason}
        reply = self._call("POST", path, json=body, params={"format": form})
        target.write_bytes(reply.content)
