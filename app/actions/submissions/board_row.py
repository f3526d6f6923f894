"""The rows of a leaderboard in the shape of the API."""

from typing import Any, NamedTuple

from app.actions.submissions.ladder_board import BoardView
from app.actions.uncertainty.board_significance import BoardSignificance
from app.actions.uncertainty.show_intervals import with_ends
from app.scoring.standings import Standing
from app.store.queries.board_rows import BoardRow


class TeamNames(NamedTuple):
    """The names of teams by id, and the pseudonyms of those whose name is hidden."""

    names: dict[str, str]
    pseudonyms: dict[str, str]


def board_row(
    standing: Standing,
    row: BoardRow,
    teams: TeamNames,
    *,
    counts: dict[str, int],
    public_ranks: dict[str, int],
    significance: BoardSignificance,
) -> dict[str, Any]:
    """A row in the shape of the API, without its scores."""
    entry = standing.entry
    hidden = entry.team in teams.pseudonyms
    return {
        "rank": standing.rank,
        **significance.rank_set(standing),
        "tied": standing.tied,
        "public_rank": None if standing.rank is None else public_ranks.get(entry.team),
        "team": {
            "id": None if hidden else entry.team,
            "name": (teams.pseudonyms if hidden else teams.names)[entry.team],
        },
        "submission": None if hidden else entry.submission,
        "method": "" if hidden else row.method,
        "submitted_at": row.submitted_at,
        "entries": 1 if entry.baseline else counts.get(entry.team, 0),  # 0 only if a row was changed by hand
        "baseline": entry.baseline,
        "mark": entry.mark,
        "on_behalf": row.on_behalf and not entry.baseline,
    }


def shown_scores(standing: Standing, row: BoardRow, view: BoardView, *, intervals: bool) -> dict[str, dict[str, Any]]:
    """The scores of a row as this reader sees them, with intervals if the phase shows them."""
    shown = view.shown_scores(standing, row)
    return with_ends(shown, row.intervals, view.scores.digits) if intervals else shown
