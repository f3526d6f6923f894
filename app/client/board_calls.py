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
        return self._leaderboard_text(slug, phase, filters, "csv", "text/csv")

    def leaderboard_latex(self, slug: str, phase: str, **filters: str | int | None) -> str:
        """The leaderboard of a phase as a LaTeX table; filters as for `leaderboard`."""
        return self._leaderboard_text(slug, phase, filters, "latex", "application/x-latex")

    def significance(self, slug: str, phase: str, **filters: str | None) -> Json:
        """Which rows of a leaderboard differ: rank sets and pairs; filters: `metric` and `split`."""
        return self._json("GET", phase_path(slug, phase, "leaderboard", "significance"), params=filters)

    def rankings(self, slug: str, phase: str, **filters: str | None) -> Json:
        """The ranked rows under every metric of the recipe side by side; filter: `split`."""
        return self._json("GET", phase_path(slug, phase, "leaderboard", "rankings"), params=filters)

    def _leaderboard_text(
        self, slug: str, phase: str, filters: dict[str, str | int | None], form: str, media: str
    ) -> str:
        path, params = phase_path(slug, phase, "leaderboard"), filters | {"format": form}
        return self._call("GET", path, params=params, headers={"Accept": media}).text

    def metrics(self, key: str | None = None) -> Json:
        """The metric catalogue, or one metric."""
        return self._json("GET", api_path("metrics") if key is None else api_path("metrics", key))
