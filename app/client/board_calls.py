"""Calls about leaderboards and metrics."""

from app.client.paths import api_path, phase_path
from app.transport import Json, Transport


class BoardCalls(Transport):
    """Calls about leaderboards and metrics."""

    def leaderboard(self, slug: str, phase: str, **filters: str | int | None) -> Json:
        """The leaderboard of a phase, best first; filters: `metric`, `split`, and `limit` and `cursor` for a page."""
        return self._json("GET", phase_path(slug, phase, "leaderboard"), params=filters)

    def leaderboard_csv(self, slug: str, phase: str, **filters: str | int | None) -> str:
        """The leaderboard of a phase as CSV text; filters as for `leaderboard`."""
        path, params = phase_path(slug, phase, "leaderboard"), filters | {"format": "csv"}
        return self._call("GET", path, params=params, headers={"Accept": "text/csv"}).text

    def metrics(self, key: str | None = None) -> Json:
        """The metric catalogue, or one metric."""
        return self._json("GET", api_path("metrics") if key is None else api_path("metrics", key))
