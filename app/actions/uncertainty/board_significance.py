"""What a board shows of the comparison of its rows: rank sets, and whether they are current."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from app.actions.uncertainty.plan_boards import is_compared
from app.scoring.standings import BoardEntry, Standing, standings
from app.store.analysis_tables import SIGNIFICANCE
from app.store.queries import analysis_tasks, board_analyses, board_entries
from app.store.queries.board_entries import BoardEntries
from app.store.queries.entry_choice import BoardScores
from app.store.session import ReadSession
from app.store.tables import BoardAnalysis, GoldVersion, Phase

Status = Literal["none", "pending", "current"]
NOT_SHOWN = "This phase does not show its participants which differences are significant."
NO_ROWS = "The board has no ranked rows."
ONE_METRIC = "Rows are compared by the primary metric; by other metrics only on the split that participants see."
NOT_YET = "The rows have not been compared yet; this is done after the scores, at most once a minute."
ROWS_CHANGED = (
    "The ranked rows have changed since they were compared; they are compared again, at most once a minute. Rank sets "
    "shown are those of the former rows."
)
RANK_SET = ("rank_low", "rank_high", "tie_group")
NO_RANK_SET: Mapping[str, Any] = dict.fromkeys(RANK_SET)


@dataclass(frozen=True, slots=True)
class BoardSignificance:
    """Whether a comparison of the rows is current, in one sentence why not, and the rank set of each submission."""

    status: Status
    reason: str | None = None
    computed_at: datetime | None = None
    rank_sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As the board shows it."""
        return {"status": self.status, "reason": self.reason, "computed_at": self.computed_at}

    def rank_set(self, standing: Standing) -> Mapping[str, Any]:
        """The rank set of a row; nulls for rows that were not compared, and for those that have no rank."""
        if standing.rank is None:
            return NO_RANK_SET
        return self.rank_sets.get(standing.entry.submission, NO_RANK_SET)


def board_significance(
    session: ReadSession,
    phase: Phase,
    version: GoldVersion,
    scores: BoardScores,
    found: BoardEntries,
    *,
    allowed: bool,
) -> BoardSignificance:
    """The comparison of the rows of a board that is being built; `allowed` says whether this reader may see it."""
    if not allowed:
        return BoardSignificance("none", NOT_SHOWN)
    metric = scores.ranked_by[0]
    if not is_compared(phase, version, split=scores.shown, metric=metric, primary=scores.primary):
        return BoardSignificance("none", ONE_METRIC)
    stored = current_comparison(session, scores, SIGNIFICANCE, metric)
    entries = found.entries
    if stored is not None and len(entries) < found.total:  # a page: whether the comparison is current depends on all
        entries = board_entries.entries(session, scores).entries
    status, reason = comparison_status(session, scores, SIGNIFICANCE, metric, stored=stored, ranked=ranked_ids(entries))
    if stored is None:
        return BoardSignificance(status, reason)
    rank_sets = {row["key"]: {name: row.get(name) for name in RANK_SET} for row in stored.rows}
    return BoardSignificance(status, reason, stored.computed_at, rank_sets)


def ranked_ids(entries: Collection[BoardEntry]) -> set[str]:
    """The submissions that have a rank on a board."""
    return {standing.entry.submission for standing in standings(entries) if standing.rank is not None}


def current_comparison(
    session: ReadSession, scores: BoardScores, kind: str, metric: str, *, result: bool = False
) -> BoardAnalysis | None:
    """The stored comparison of a board, unless it is of another gold, another recipe or another scorer version."""
    stored = board_analyses.comparison(session, scores.phase_id, kind, scores.shown, metric, result=result)
    if stored is None:
        return None
    origin = (stored.gold_id, stored.fingerprint, stored.scorer_version)
    is_same = origin == (scores.provenance.gold_id, scores.fingerprint, scores.provenance.scorer_version)
    return stored if is_same else None


def comparison_status(
    session: ReadSession,
    scores: BoardScores,
    kind: str,
    metric: str,
    *,
    stored: BoardAnalysis | None,
    ranked: Collection[str],
) -> tuple[Status, str | None]:
    """Whether a comparison is current for these ranked submissions, and why not."""
    if not ranked:
        return "none", NO_ROWS
    if stored is not None and set(stored.entries) == set(ranked):
        return "current", None
    key = analysis_tasks.board_key(scores.phase_id, kind, scores.shown, metric)
    failure = analysis_tasks.failures(session, [key]).get(key)
    if failure is not None:
        return "none", f"The rows could not be compared: {failure.get('detail') or failure.get('code')}"
    return "pending", NOT_YET if stored is None else ROWS_CHANGED
