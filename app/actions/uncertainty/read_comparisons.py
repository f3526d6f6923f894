"""Read the comparison of a board's rows: rank sets and pairs by one metric, or the rankings by all metrics."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from app.actions.access import Caller
from app.actions.submissions.ladders import limits_feedback
from app.actions.submissions.pseudonyms import pseudonyms
from app.actions.submissions.read_leaderboard import BoardAudience, ResolvedBoard, board_audience, resolve_board
from app.actions.submissions.score_visibility import score_view_for
from app.actions.uncertainty import wording
from app.actions.uncertainty.board_significance import (
    ONE_METRIC,
    comparison_status,
    current_comparison,
    ranked_ids,
)
from app.actions.uncertainty.plan_boards import ALL_METRICS, is_compared
from app.errors import Forbidden
from app.scoring.standings import BoardEntry, round_significant
from app.store.analysis_tables import INTERVALS, RANKINGS, SIGNIFICANCE
from app.store.queries import board_analyses, board_entries
from app.store.session import ReadSession
from app.store.tables import BoardAnalysis

RESTS_ON = ("n", "groups", "draws", "notes")


def read_significance(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, split: str | None, metric: str | None
) -> dict[str, Any]:
    """Rank sets and pairs of the ranked rows by one metric, the primary one by default, and what they rest on.

    Raises what reading the board raises, and Forbidden where the phase does not show it.
    """
    audience = _require_report(session, caller, slug, phase_slug, SIGNIFICANCE)
    board = resolve_board(session, audience, split=split, metric=metric)
    ranked_by = board.scores.ranked_by[0]
    compared = is_compared(
        audience.phase, board.version.gold, split=board.scores.shown, metric=ranked_by, primary=board.recipe.primary
    )
    entries = board_entries.entries(session, board.scores).entries
    head, stored = _head(session, audience, board, SIGNIFICANCE, ranked_by, entries=entries if compared else None)
    result: Mapping[str, Any] = {} if stored is None else stored.result
    teams = _Rows(session, audience, stored, board, entries)
    ends = _interval_ends(session, audience, board, list(teams.places))
    compared_rows = sorted(result.get("rows", []), key=_by_rank)
    rows = [teams.row(row | ends.get(row["key"], {})) for row in compared_rows if row["key"] in teams.places]
    pairs = [teams.renamed(pair) for pair in result.get("pairs", []) if teams.knows(pair)]
    most_entries = max((row["entries"] for row in rows), default=0)
    choice = wording.describe_choice(
        board.recipe.selection, board.recipe.selection_max, board.scores.shown, most_entries
    )
    call = board.recipe.call(ranked_by)
    assert call is not None
    is_current = head["status"] == "current"  # else the rank sets are those of former rows
    reply = {
        **head,
        "metric": ranked_by,
        "direction": call.metric.direction,
        "conclusion": wording.conclude(rows, result.get("reason")) if is_current else None,
        "selection": choice,
        "rests_on": {
            "level": wording.LEVEL,
            "method": wording.METHOD,
            "null_hypothesis": wording.NULL_HYPOTHESIS,
            "entries": len(rows),
            **{name: result.get(name) for name in RESTS_ON},
        },
        "rows": rows,
        "pairs": pairs,
    }
    return _rounded(reply, board, audience)


def read_rankings(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, split: str | None
) -> dict[str, Any]:
    """The ranked rows under every metric of the recipe side by side; raises as `read_significance` does."""
    audience = _require_report(session, caller, slug, phase_slug, RANKINGS)
    board = resolve_board(session, audience, split=split, metric=None)
    entries = board_entries.entries(session, board.scores).entries
    head, stored = _head(session, audience, board, RANKINGS, ALL_METRICS, entries=entries)
    teams = _Rows(session, audience, stored, board, entries)
    rows = [teams.row({"key": key}) for key in teams.places]
    result = {} if stored is None else teams.renamed(stored.result)
    return _rounded({**head, "rows": rows, "result": result}, board, audience)


def _require_report(session: ReadSession, caller: Caller, slug: str, phase_slug: str, report: str) -> BoardAudience:
    audience = board_audience(session, caller, slug, phase_slug)
    if not audience.organizer and report not in audience.phase.reports:
        remedy = f"Reports of this phase: {', '.join(audience.phase.reports) or 'none'}."
        raise Forbidden(f"This phase does not show its participants the report '{report}'.", remedy=remedy)
    if limits_feedback(session, audience.phase, organizer=audience.organizer):
        detail = "While the Ladder limits the feedback of this phase, only organizers may read comparisons."
        raise Forbidden(detail, remedy="Read them after the final release.")
    return audience


def _head(
    session: ReadSession,
    audience: BoardAudience,
    board: ResolvedBoard,
    kind: str,
    metric: str,
    *,
    entries: Collection[BoardEntry] | None,
) -> tuple[dict[str, Any], BoardAnalysis | None]:
    """What both replies begin with, and the stored comparison, if there is one of the same gold, recipe and scorer.

    `entries` are those of the board; None if it is not compared by this metric.
    """
    stored = None if entries is None else current_comparison(session, board.scores, kind, metric, result=True)
    status, reason = "none", ONE_METRIC
    if entries is not None:
        ranked = ranked_ids(entries)
        found = comparison_status(session, board.scores, kind, metric, stored=stored, ranked=ranked)
        status, reason = found[0], found[1] or ""
    phase = audience.phase
    head = {
        "challenge": phase.challenge.slug,
        "phase": phase.slug,
        "split": board.scores.shown,
        "primary": board.recipe.primary,
        "gold_version": board.version.gold.version,
        "recipe_version": board.version.recipe.version,
        "scorer_version": phase.scorer_version,
        "draw_seed": board.version.gold.draw_seed,
        "status": status,
        "reason": reason or None,
        "computed_at": None if stored is None else stored.computed_at,
    }
    return head, stored


class _Rows:
    """The compared submissions as this reader sees them: numbered from 0, with their teams or their pseudonyms.

    A former comparison may have rows that the board no longer shows. They are left out: since a release, it may be the
    private value of a file that does not count.
    """

    def __init__(
        self,
        session: ReadSession,
        audience: BoardAudience,
        stored: BoardAnalysis | None,
        board: ResolvedBoard,
        entries: Collection[BoardEntry],
    ) -> None:
        compared, on_board = [] if stored is None else _in_order(stored), {entry.submission for entry in entries}
        found = board_analyses.teams_of(session, [key for key in compared if key in on_board])
        self._gone = {key for key in compared if key not in found}
        self.places = {key: place for place, key in enumerate(key for key in compared if key in found)}
        self._teams = found
        self._entries = board_entries.count_entries(session, board.scores)
        phase = audience.phase
        hidden: dict[str, str] = {}
        if phase.anonymous and not audience.organizer:
            # Each pseudonym depends on those of all other teams of the board.
            teams = {entry.team for entry in entries if not entry.baseline}
            hidden = pseudonyms(phase.pseudonym_key, teams)
            hidden.pop(audience.own_team or "", None)
        self._hidden = hidden

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of a result with its team instead of its key."""
        key = row["key"]
        team, name = self._teams[key]
        pseudonym = self._hidden.get(team)
        return {
            "row": self.places[key],
            "team": {"id": team if pseudonym is None else None, "name": pseudonym or name},
            "submission": key if pseudonym is None else None,
            "entries": self._entries.get(team, 0),
            **{field: self.renamed(value) for field, value in row.items() if field != "key"},
        }

    def knows(self, pair: Mapping[str, Any]) -> bool:
        """Whether both rows of a pair are still there."""
        return pair.get("a") in self.places and pair.get("b") in self.places

    def renamed(self, value: Any) -> Any:
        """The value with the number of the row in the place of each submission."""
        if isinstance(value, str):
            return self.places.get(value, value)
        if isinstance(value, Mapping):
            return {str(self.places.get(key, key)): self.renamed(each) for key, each in value.items()}
        return [self.renamed(each) for each in value if not self._is_gone(each)] if isinstance(value, list) else value

    def _is_gone(self, value: Any) -> bool:
        """Whether it is a row that was left out, or a pair with one."""
        named = [value.get(name) for name in ("key", "a", "b")] if isinstance(value, Mapping) else [value]
        return any(isinstance(each, str) and each in self._gone for each in named)


def _in_order(stored: BoardAnalysis) -> Sequence[str]:
    """The compared submissions, the best first where the comparison ranks them."""
    return [row["key"] for row in sorted(stored.rows, key=_by_rank)] or stored.entries


def _by_rank(row: Mapping[str, Any]) -> tuple[bool, int, str]:
    """The order of compared rows: by rank, those without one last; of equal rank, the earlier submission first."""
    rank = row.get("rank")
    return rank is None, rank or 0, row["key"]


def _interval_ends(
    session: ReadSession, audience: BoardAudience, board: ResolvedBoard, compared: Sequence[str]
) -> dict[str, dict[str, float | None]]:
    """The ends of the interval of each value, by submission, if this reader sees intervals."""
    if not (audience.organizer or INTERVALS in audience.phase.reports):
        return {}
    scores = board.scores
    found = board_analyses.intervals_of(session, compared, scores.provenance)
    return {
        key: {end: interval.get(end) for end in ("low", "high")}
        for key, by_split in found.items()
        if (interval := by_split.get(scores.shown, {}).get(scores.ranked_by[0])) is not None
    }


def _rounded(reply: dict[str, Any], board: ResolvedBoard, audience: BoardAudience) -> dict[str, Any]:
    digits = score_view_for(board.recipe, organizer=audience.organizer).digits
    rounded: dict[str, Any] = _round_floats(reply, digits)
    return rounded


def _round_floats(value: Any, digits: int | None) -> Any:
    """Every number that is not whole with the digits that this reader sees."""
    if isinstance(value, float):
        return round_significant(value, digits)
    if isinstance(value, Mapping):
        return {key: _round_floats(each, digits) for key, each in value.items()}
    return [_round_floats(each, digits) for each in value] if isinstance(value, list) else value
