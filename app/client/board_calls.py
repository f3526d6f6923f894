"""Calls about leaderboards and metrics."""

from collections.abc import Iterator

from app.client.paths import api_path, phase_path
from app.transport import Json, Transport


class BoardCalls(Transport):
    """Calls about leaderboards and metrics."""

    def leaderboard(self, slug: str, phase: str, **filters: str | int | None) -> Json:
        """The leaderboard of a phase, best first.

        Filters: `metric`, `split`; `limit` and `cursor` for a page; `as_of`, `gold_version`, `recipe_version`.
        """
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

    def rank_history(self, slug: str, phase: str, **filters: str | None) -> Json:
        """The changes of a leaderboard, all pages joined, oldest first; filter: `split`."""
        path, points, cursor = phase_path(slug, phase, "leaderboard", "history"), list[Json](), None
        while True:
            page = self._json("GET", path, params={**filters, "limit": 1000, "cursor": cursor})
            points += page["points"]
            cursor = page["next"]
            if cursor is None:
                return {**page, "start": 0, "points": points}

    def freeze_board(self, slug: str, phase: str, reason: str, title: str | None = None) -> Json:
        """Freeze the final board of a phase, as an organizer."""
        body = {"reason": reason} | ({} if title is None else {"title": title})
        return self._json("POST", phase_path(slug, phase, "frozen-boards"), json=body)

    def frozen_boards(self, slug: str, phase: str) -> Iterator[Json]:
        """The frozen boards of a phase, newest first."""
        return self._items(phase_path(slug, phase, "frozen-boards"))

    def frozen_board(self, slug: str, phase: str, key: str) -> Json:
        """A frozen board by its number or its hash."""
        return self._json("GET", phase_path(slug, phase, "frozen-boards", key))

    def frozen_board_text(self, slug: str, phase: str, key: str, form: str) -> str:
        """The rows of a frozen board as `csv` or `latex`."""
        path = phase_path(slug, phase, "frozen-boards", key)
        return self._call("GET", path, params={"format": form}, headers={"Accept": "*/*"}).text

    def _leaderboard_text(
        self, slug: str, phase: str, filters: dict[str, str | int | None], form: str, media: str
    ) -> str:
        path, params = phase_path(slug, phase, "leaderboard"), filters | {"format": form}
        return self._call("GET", path, params=params, headers={"Accept": media}).text

    def metrics(self, key: str | None = None) -> Json:
        """The metric catalogue, or one metric."""
        return self._json("GET", api_path("metrics") if key is None else api_path("metrics", key))
